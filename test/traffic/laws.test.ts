import { join } from "node:path";
import { expect, test } from "vitest";
import { Book } from "../../src/traffic/book.ts";
import { Conversations } from "../../src/traffic/conversations.ts";
import { Recorder } from "../../src/traffic/recorder.ts";
import type { TracedRequest, TracePiece } from "../../src/traffic/trace.ts";
import { fc, runs } from "../support/property.ts";
import { tempDir } from "../support/temp.ts";
import { reply, StandIn, says, step, streamOf } from "./stand-in.ts";
import { answer, request, result, system, tools, turn, user } from "./talk.ts";

/** What happens next, to the conversation with the number `who` modulo their count. */
const EVENT = fc.record({
	kind: fc.constantFrom(
		...(["step", "step", "step", "step", "ask", "begin", "late", "fork", "rewind"] as const),
		...(["subagent", "title", "compact", "tool", "system", "clear", "fail", "resume"] as const),
	),
	who: fc.nat(),
	at: fc.nat(),
});

type Event = typeof EVENT extends fc.Arbitrary<infer E> ? E : never;

interface Agent {
	/** The number that its requests must get. */
	readonly conversation: number;
	readonly session: string | undefined;
	readonly subagent: string | undefined;
	readonly head: readonly TracePiece[];
	readonly messages: readonly TracePiece[];
}

/** Agents that talk at the same time. Every text is new, but for what agents really repeat. */
class World {
	readonly sent: { traced: TracedRequest; expected: number }[] = [];
	readonly #titles = new Map<string, number>();
	#agents: Agent[] = [];
	#texts = 0;
	#conversations = 0;

	happen({ kind, who, at }: Event): void {
		const index = this.#agents.length > 0 ? who % this.#agents.length : -1;
		const agent = this.#agents[index];
		if (!agent || kind === "begin" || kind === "late") this.#begin(kind === "late", at);
		else if (kind === "fail") this.#send(agent, false);
		else if (kind === "title") this.#send(this.#titleOf(agent));
		else {
			const next = this.#next(kind, agent, at);
			if (kind === "fork" || kind === "subagent") this.#agents.push(next);
			else this.#agents[index] = next;
			this.#send(next);
		}
	}

	#next(kind: Event["kind"], agent: Agent, at: number): Agent {
		const { messages, head } = agent;
		const text = this.#text();
		const stepped = { ...agent, messages: [...messages, ...turn(text)] };
		const isLived = messages.some(({ kind }) => kind === "call" || kind === "text");
		/** One of the places of a kind of piece, but not in the first two messages. */
		const placeOf = (wanted: TracePiece["kind"]) => {
			const places = messages.flatMap(({ kind }, i) => (i > 3 && kind === wanted ? [i] : []));
			return places[at % Math.max(1, places.length)];
		};
		if (kind === "ask") return { ...agent, messages: [...messages, answer(text), user(text)] };
		if (kind === "fork") return { ...agent, messages: [...messages, answer(text), user(text)] };
		if (kind === "tool") return { ...stepped, head: [...tools(text), ...head].slice(0, 8) };
		if (kind === "system") {
			return { ...stepped, head: [...head.filter(({ part }) => part === "tools"), system(text)] };
		}
		if (kind === "rewind") {
			const place = placeOf("text");
			if (place === undefined) return stepped;
			return { ...agent, messages: [...messages.slice(0, place + 1), user(text)] };
		}
		if (kind === "clear") {
			const place = placeOf("result");
			if (place === undefined) return stepped;
			return { ...agent, messages: [...messages.with(place, result(text)), ...turn(text)] };
		}
		if (kind === "subagent") {
			const session = agent.session ?? `s${text}`;
			const own = { session, subagent: `sub${text}`, conversation: this.#conversations++ };
			const start = at % 2 === 0 ? [...messages, user(text)] : [user(text)];
			return { ...own, head: [...tools("read"), system("sub")], messages: start };
		}
		if (kind === "compact" && agent.session && isLived && messages.length > 3) {
			return { ...agent, messages: [user("the same reminder"), user(`summary ${text}`)] };
		}
		// A session that is resumed under a new name is known by its history.
		if (kind === "resume" && agent.session && isLived) return { ...stepped, session: `s${text}` };
		return stepped;
	}

	/** A side request about the first messages. Those of one session are one conversation. */
	#titleOf(agent: Agent): Agent {
		const session = agent.session ?? `unnamed ${agent.conversation}`;
		const name = `${session} ${agent.subagent}`;
		const conversation = this.#titles.get(name) ?? this.#conversations++;
		this.#titles.set(name, conversation);
		const messages = agent.messages.slice(0, 2);
		return { ...agent, session, conversation, head: [system("title")], messages };
	}

	#begin(isLate: boolean, at: number): void {
		const text = this.#text();
		const conversation = this.#conversations++;
		const reminder = user("the same reminder");
		const history = isLate ? [...turn(`${text} 1`), ...turn(`${text} 2`)] : [];
		const agent: Agent = {
			conversation,
			session: at % 3 === 0 ? undefined : `s${text}`,
			subagent: undefined,
			head: [...tools("read", "bash", "web"), system("s")],
			messages: [reminder, user(text), ...history],
		};
		this.#agents.push(agent);
		this.#send(agent);
	}

	#send({ conversation, head, messages, session, subagent }: Agent, isBilled = true): void {
		const names = { ...(session && { session }), ...(subagent && { subagent }) };
		const { tokens, ...traced } = request({ head, messages, ...names });
		this.sent.push({
			traced: { ...traced, ...(isBilled && tokens && { tokens }) },
			expected: conversation,
		});
	}

	#text(): string {
		return `t${this.#texts++}`;
	}
}

test("every request is in its conversation, however they are interleaved", () => {
	fc.assert(
		fc.property(fc.array(EVENT, { maxLength: 60 }), (events) => {
			const world = new World();
			for (const event of events) world.happen(event);
			const conversations = new Conversations();
			const numbers = new Map<object, number>();
			for (const { traced, expected } of world.sent) {
				const place = conversations.place(traced);
				if (place.step === "start") {
					expect([...numbers.values()]).not.toContain(expected);
					numbers.set(place.conversation, expected);
				}
				expect(numbers.get(place.conversation)).toBe(expected);
				expect(place.shared).toBeLessThanOrEqual(traced.messages.length);
				conversations.add(traced, place.conversation);
			}
		}),
		{ numRuns: runs(300) },
	);
});

/** A turn of one of three sessions: how it goes on, and what the provider bills for it. */
const TURN = fc.record({
	session: fc.nat(2),
	kind: fc.constantFrom("next", "next", "fork", "compact", "sub"),
	usage: fc.record({
		...{ input: fc.nat(1e6), read: fc.nat(1e6), write: fc.nat(1e6), output: fc.nat(1e6) },
	}),
});

test("the sums of the book equal the sums of the answers to the token", {
	tags: "slow",
}, async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(TURN, { maxLength: 25 }), async (turns) => {
			const folder = join(tempDir(), "traffic");
			const recorder = await Recorder.open({ folder, keepDays: 30, keepTexts: false });
			const provider = new StandIn();
			provider.nowMs = Date.now() - 3_600_000;
			const histories = [0, 1, 2].map((at) => [says(`question ${at}`, 10)]);
			for (const [at, { session, kind, usage }] of turns.entries()) {
				const known = histories[session] ?? [];
				const kept = kind === "fork" ? known.slice(0, Math.max(1, known.length - 2)) : known;
				const messages = kind === "compact" ? [says(`summary ${at}`, 10)] : kept;
				const names = { "x-claude-code-session-id": `s${session}` };
				const requestHeaders =
					kind === "sub" ? { ...names, "x-claude-code-agent-id": `${at}` } : names;
				const answerBody = streamOf(usage);
				await recorder.add(provider.exchange({ messages }, { requestHeaders, answerBody }));
				if (kind !== "sub") histories[session] = [...messages, ...step(`${at}`, 10)];
			}
			recorder.close();
			const book = await Book.openForReading(folder);
			const sums = book?.sums() ?? [];
			const requests = sums.flatMap(({ id }) => book?.requests(id) ?? []);
			book?.close();
			// A bill without a prompt is none.
			const billed = turns.filter(({ usage: { input, read, write } }) => input + read + write > 0);
			for (const name of ["input", "read", "write", "output"] as const) {
				const expected = billed.reduce((sum, { usage }) => sum + usage[name], 0);
				expect(sums.reduce((sum, { tokens }) => sum + tokens[name], 0)).toBe(expected);
				expect(requests.reduce((sum, { tokens }) => sum + (tokens?.[name] ?? 0), 0)).toBe(expected);
			}
			expect(requests).toHaveLength(turns.length);
		}),
		{ numRuns: runs(50) },
	);
});

/** What agents do all day, without a change of tools, system prompt, model or effort. */
const USUAL = fc.record({
	session: fc.nat(1),
	kind: fc.constantFrom(
		...(["step", "step", "step", "ask", "rewind", "retry", "sub", "title", "summary"] as const),
	),
	at: fc.nat(),
	tokens: fc.integer({ min: 1, max: 4000 }),
});

test("a miss never claims tokens that were new or read from the cache", {
	tags: "slow",
}, async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(USUAL, { maxLength: 30 }), async (turns) => {
			const folder = join(tempDir(), "traffic");
			const recorder = await Recorder.open({ folder, keepDays: 30, keepTexts: false });
			const provider = new StandIn();
			provider.nowMs = Date.now() - 3_600_000;
			const histories = [0, 1].map((at) => [says(`question ${at}`)]);
			for (const [number, { session, kind, at, tokens }] of turns.entries()) {
				const known = histories[session] ?? [];
				const stepped = [...known, ...step(`${number}`, tokens)];
				const asked = [...known, reply(`${number}`, tokens), says(`${number}`, tokens)];
				const kept = known.slice(0, 1 + 2 * (at % known.length));
				const rewound = [...kept, reply(`${number}`), says(`rather ${number}`, tokens)];
				const next = { step: stepped, ask: asked, rewind: rewound } as Record<string, typeof known>;
				const messages = next[kind] ?? (kind === "summary" ? [...known, says("summarize")] : known);
				const names = { "x-claude-code-session-id": `s${session}` };
				const requestHeaders = kind === "sub" ? { ...names, "x-claude-code-agent-id": "x" } : names;
				const head = kind === "title" ? { tools: [], system: "title" } : {};
				await recorder.add(provider.exchange({ ...head, messages }, { requestHeaders }));
				if (next[kind]) histories[session] = messages;
			}
			recorder.close();
			const book = await Book.openForReading(folder);
			const requests = (book?.conversations() ?? []).flatMap(({ id }) => book?.requests(id) ?? []);
			book?.close();
			for (const { id, miss } of requests) {
				if (!miss) continue;
				expect(miss.tokens).toBeLessThanOrEqual(provider.paidAgain[id - 1] ?? 0);
				// A summary before anything else looks as if its last message had been removed.
				expect(miss.cause).toMatch(/^(branch|messages)$/);
			}
		}),
		{ numRuns: runs(150) },
	);
});
