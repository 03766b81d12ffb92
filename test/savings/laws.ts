import { expect, test } from "vitest";
import { defaultBirth } from "../../src/birth/index.ts";
import { type BirthMarks, type Mark, MemoryMarks, Rewriter } from "../../src/savings/index.ts";
import type { Rewriting } from "../../src/wire/exchange.ts";
import { createLoopbackBinding } from "../support/loopback-binding.ts";
import type { LoopbackBody } from "../support/loopback-cache.ts";
import { fc } from "../support/property.ts";
import { bodyOf, PATHS, type Turn, textsIn, WIRES, type WireName } from "./talks.ts";

/** What happens next to a conversation. */
const event = fc.oneof(
	{
		weight: 10,
		arbitrary: fc.record({ kind: fc.constant("call"), pick: fc.nat(), edit: fc.nat(5) }),
	},
	{
		weight: 2,
		arbitrary: fc.record({ kind: fc.constant("user"), pick: fc.nat(), edit: fc.nat() }),
	},
	{
		weight: 5,
		arbitrary: fc.record({
			kind: fc.constantFrom(
				...(["restart", "lose", "bypass", "slow", "disk", "retry", "count", "sub"] as const),
				...(["fork", "return", "clear", "compact", "evict", "other", "refuse"] as const),
			),
			pick: fc.nat(),
			edit: fc.nat(),
		}),
	},
);

const scenario = fc.record({
	wire: fc.constantFrom(...WIRES),
	events: fc.array(event, { minLength: 8, maxLength: 30 }),
});

/** How many requests a scenario has on average, to state the steps of a run. */
export const STEPS_IN_SCENARIO = 12;

export function checkLaws(numRuns: number): void {
	test("whatever happens to a conversation, P1 to P5 hold and no thinking is refused", () => {
		let [requests, shortened] = [0, 0];
		fc.assert(
			fc.property(scenario, ({ wire, events }) => {
				const game = new Game(wire);
				for (const one of events) game.play(one);
				requests += game.requests;
				shortened += game.shortened;
			}),
			{ numRuns },
		);
		expect(requests).toBeGreaterThan(numRuns * STEPS_IN_SCENARIO);
		expect(shortened).toBeGreaterThan(numRuns / 10);
	});
}

/** With room for about ten results: older ones are evicted. */
const PARTS = { dedupe: { ...defaultBirth.dedupe, maxIndexedLines: 256 } };

/** Marks on a disk that may be full. */
class Disk implements BirthMarks {
	marks = new MemoryMarks();
	isFull = false;
	get(chain: string): number | undefined {
		return this.marks.get(chain);
	}
	put(marks: readonly Mark[]): void {
		if (this.isFull) throw new Error("full");
		this.marks.put(marks);
	}
	replace(marks: readonly Mark[]): void {
		if (this.isFull) throw new Error("full");
		this.marks.replace(marks);
	}
	close(): void {}
}

/** What the provider got. */
interface Sent {
	readonly turns: readonly Turn[];
	readonly texts: readonly (string | undefined)[];
	/** The process that sent it; `undefined` if the agent did itself. */
	readonly by: Rewriter | undefined;
	/** Whether its marks are on the disk. */
	readonly isStored: boolean;
	/** The turn that its answer became. */
	next?: Turn;
}

interface GameEvent {
	readonly kind: string;
	readonly pick: number;
	readonly edit: number;
}

/** An agent, up to two proxies on one disk, and a provider that binds its thinking. */
class Game {
	requests = 0;
	shortened = 0;
	readonly #wire: WireName;
	readonly #disk = new Disk();
	readonly #binding = createLoopbackBinding();
	#rewriter: Rewriter;
	#other: Rewriter;
	#turns: readonly Turn[] = [{ user: "Begin." }];
	#sent: Sent[] = [];
	#calls = 0;
	#time = 0;
	#maxConversations = 8;
	#isSlow = false;
	#isDirect = false;
	#hasFailed = false;
	#refusesNext = false;

	constructor(wire: WireName) {
		this.#wire = wire;
		this.#rewriter = this.#create(0);
		this.#other = this.#create(0);
	}

	play({ kind, pick, edit }: GameEvent): void {
		switch (kind) {
			case "call": {
				const call = callFor(this.#turns, ++this.#calls, pick, edit);
				this.#answered((thought) => [{ ...call, ...thought }]);
				break;
			}
			case "user":
				this.#answered((thought) => [
					{ answer: `Answer ${++this.#calls}.`, ...thought },
					{ user: `Question ${this.#calls}.` },
				]);
				break;
			case "retry":
				expect(this.#send(this.#turns).bytes).toEqual(this.#send(this.#turns).bytes);
				break;
			case "count":
				if (this.#wire === "anthropic") this.#send(this.#turns, "/v1/messages/count_tokens");
				break;
			case "sub":
				this.#send([{ user: `Sub ${pick}.` }, callFor([], ++this.#calls, pick, edit)]);
				break;
			case "fork":
				this.#fork(pick, edit);
				break;
			case "return": {
				const known = this.#sent.filter((one) => this.#isKnown(one));
				this.#turns = known[pick % Math.max(1, known.length)]?.turns ?? this.#turns;
				break;
			}
			case "clear":
				this.#clear(pick);
				break;
			case "compact":
				this.#turns = [{ user: `Summary ${++this.#calls}.` }];
				break;
			case "restart":
				this.#rewriter = this.#create(edit);
				break;
			case "evict":
				this.#maxConversations = pick % 3;
				this.#rewriter = this.#create(edit);
				break;
			case "other":
				// A process cannot know what another one did while the disk was full.
				if (this.#hasFailed) break;
				[this.#rewriter, this.#other] = [this.#other, this.#rewriter];
				break;
			case "bypass":
				// Only where the agent could: what the model saw short would be refused in full.
				this.#isDirect = !this.#isDirect && this.shortened === 0;
				break;
			case "slow":
				this.#isSlow = !this.#isSlow;
				break;
			case "disk":
				this.#disk.isFull = !this.#disk.isFull;
				[this.#hasFailed, this.#refusesNext] = [true, false];
				break;
			case "refuse":
				// Without a store, the next process would ask and be refused again.
				this.#refusesNext = !this.#hasFailed;
				break;
			case "lose":
				this.#lose(edit);
				break;
		}
	}

	/** Which files are excluded may differ from process to process. */
	#create(edit: number): Rewriter {
		return new Rewriter({
			marks: this.#disk,
			maxConversations: this.#maxConversations,
			maxMs: 20,
			parts: PARTS,
			now: () => (this.#time += this.#isSlow ? 30 : 0),
			...(edit % 3 === 1 && { isExcluded: (input) => Object(input).path === "c.ts" }),
		});
	}

	#answered(follow: (thought: { thinking?: string }) => Turn[]): void {
		const { bytes, record } = this.#send(this.#turns);
		let thought = {};
		if (this.#wire === "anthropic") {
			const parsed = JSON.parse(bytes.toString("utf8")) as LoopbackBody;
			this.#binding.accept(parsed); // throws what the vendor would refuse
			thought = { thinking: this.#binding.sign(parsed) };
		}
		const turns = follow(thought);
		const [next] = turns;
		if (next) record.next = next;
		this.#turns = [...this.#turns, ...turns];
	}

	#send(turns: readonly Turn[], path = PATHS[this.#wire]) {
		this.requests++;
		const body = bodyOf(this.#wire, turns, { isMarked: this.#calls % 3 !== 0 });
		const before = Buffer.from(body);
		const rewriting = this.#isDirect ? {} : this.#rewriter.rewrite({ path, body });
		expect(body.equals(before)).toBe(true);
		if (this.#refusesNext && rewriting.body && turns === this.#turns)
			return this.#refused(rewriting);
		const bytes = rewriting.body ?? body;
		const texts = this.#checked(turns, body, bytes);
		expect(rewriting.savings?.tokens ?? 0).toBeGreaterThanOrEqual(0);
		this.#checkPast(turns, texts);
		const by = this.#isDirect ? undefined : this.#rewriter;
		const isStored = !this.#isDirect && !this.#disk.isFull;
		const record: Sent = { turns, texts, by, isStored };
		this.#sent.push(record);
		return { bytes, record };
	}

	/** P2, P4, P5. Returns the texts of the results. */
	#checked(turns: readonly Turn[], body: Buffer, bytes: Buffer): (string | undefined)[] {
		const wire = this.#wire;
		const [original, texts] = [textsIn(wire, body), textsIn(wire, bytes)];
		// With its own texts back in place, the request is the original, byte for byte.
		expect(restored(bytes, texts, original).equals(body)).toBe(true);
		for (const [at, text] of texts.entries()) {
			if (text === original[at] || text === undefined) continue;
			this.shortened++;
			const results = resultsOf(turns);
			const earlier = results.slice(0, at).map((one, index) => ({ ...one, text: texts[index] }));
			expect(expandedByHand(text, earlier)).toBe(original[at]);
			expect(text.length).toBeLessThan(original[at]?.length ?? 0);
			// OpenAI's wires have no mark for errors.
			if (wire === "anthropic" || wire === "gemini") expect(results[at]?.isError).toBe(false);
		}
		return texts;
	}

	/** P1, P3: what was sent before is sent like that again. */
	#checkPast(turns: readonly Turn[], texts: readonly (string | undefined)[]): void {
		for (const before of this.#sent) {
			let shared = 0;
			while (shared < before.turns.length && before.turns[shared] === turns[shared]) shared++;
			const isWhole = shared === before.turns.length;
			// An answer binds the model to what it answered, also if no proxy was there to see it.
			const isAnswered = isWhole && before.next !== undefined && turns[shared] === before.next;
			if (!isAnswered && !this.#isKnown(before)) continue;
			const count = before.turns.slice(0, shared).filter((turn) => "id" in turn).length;
			const known = before.texts.slice(0, count);
			// Most are equal, and `expect` takes its time.
			if (known.some((text, at) => text !== texts[at])) {
				expect(texts.slice(0, count)).toEqual(known);
			}
		}
	}

	/** Whether the process can know how it was sent. */
	#isKnown({ by, isStored }: Sent): boolean {
		return isStored || (by !== undefined && by === this.#rewriter);
	}

	/** The provider refuses the short form, and takes the original: nothing in it can have been bound. */
	#refused(rewriting: Rewriting): { bytes: Buffer; record: Sent } {
		this.#refusesNext = false;
		expect(rewriting.refused?.()).toEqual({ tokens: 0, results: 0, kept: "refused" });
		const [first] = resultsOf(this.#turns);
		this.#sent = this.#sent.filter(({ turns }) => resultsOf(turns)[0]?.id !== first?.id);
		this.#turns = this.#turns.map(({ thinking: _, ...turn }: Turn & { thinking?: string }) => turn);
		const sent = this.#send(this.#turns);
		expect(sent.record.texts).toEqual(resultsOf(this.#turns).map(({ text }) => text));
		return sent;
	}

	#fork(pick: number, edit: number): void {
		this.#turns = this.#turns.slice(0, 1 + (pick % this.#turns.length));
		if (!("user" in (this.#turns.at(-1) as Turn)) && edit % 2 === 0) {
			this.#turns = [...this.#turns.slice(0, -1), { user: `Instead ${++this.#calls}.` }];
		}
		if ("answer" in (this.#turns.at(-1) as Turn)) this.#turns = [...this.#turns, { user: "And?" }];
	}

	/** The agent empties an old result. It drops the thinking after it, which would be refused. */
	#clear(pick: number): void {
		const at = pick % this.#turns.length;
		this.#turns = this.#turns.map((turn, index) => {
			if (index < at) return turn;
			const { thinking: _, ...bare } = turn as Turn & { thinking?: string };
			return index === at && "id" in bare ? { ...bare, output: "[cleared]" } : bare;
		});
	}

	/** A lost store: what was answered goes in its original form. Bound thinking is then void. */
	#lose(edit: number): void {
		this.#disk.marks = new MemoryMarks();
		[this.#rewriter, this.#other] = [this.#create(edit), this.#create(edit)];
		this.#sent = [];
		const { texts } = this.#send(this.#turns).record;
		const answered = this.#turns.findLastIndex((turn) => !("user" in turn));
		const whole = resultsOf(this.#turns).map(({ text }) => text);
		const count = resultsOf(this.#turns.slice(0, Math.max(0, answered))).length;
		expect(texts.slice(0, count)).toEqual(whole.slice(0, count));
		this.#turns = [{ user: `New ${++this.#calls}.` }];
		this.#sent = [];
	}
}

function resultsOf(turns: readonly Turn[]) {
	return turns.flatMap((turn) => {
		if (!("id" in turn)) return [];
		const { id, tool, input, output: text, isError } = turn;
		return [{ id, name: `${tool} ${String(input.path)}`, text, isError }];
	});
}

/** A file that was read before, changed a little; a picture, an error or a lookalike now and then. */
function callFor(turns: readonly Turn[], number: number, pick: number, edit: number): Turn {
	const path = `${"abc"[pick % 3]}.ts`;
	const lines = Array.from(
		{ length: 14 + (pick % 23) },
		(_, at) => `\tconst ${path[0]}${at} = "${at} \u00e9\\n\\"";`,
	);
	if (edit > 1) lines.splice(pick % lines.length, 1, `// changed by ${number}`);
	if (edit === 5 && pick % 4 === 0)
		lines.unshift("[strata: lines 1-9 of the output of `read a` above]");
	const isPicture = pick % 17 === 0;
	return {
		...{ id: `call_${number}_${turns.length}`, tool: "read", input: { path } },
		output: isPicture ? undefined : lines.join("\n"),
		isError: pick % 13 === 0,
	};
}

/** Puts the original texts back, by searching for the shown ones from the start on. */
function restored(
	bytes: Buffer,
	texts: readonly (string | undefined)[],
	original: readonly (string | undefined)[],
): Buffer {
	const parts: Buffer[] = [];
	let copied = 0;
	for (const [at, text] of texts.entries()) {
		if (text === undefined) continue;
		const shown = Buffer.from(JSON.stringify(text));
		const start = bytes.indexOf(shown, copied);
		if (start < 0) throw new Error("a text stands nowhere");
		parts.push(bytes.subarray(copied, start), Buffer.from(JSON.stringify(original[at])));
		copied = start + shown.length;
	}
	return Buffer.concat([...parts, bytes.subarray(copied)]);
}

/** Written from docs/birth.md alone. */
function expandedByHand(
	shown: string,
	earlier: readonly { name: string; id: string; text: string | undefined }[],
): string {
	return shown
		.split("\n")
		.flatMap((line) => {
			const [, first, last, name, id] =
				/^\[strata: lines (\d+)-(\d+) of the output of `([^`]*)`(?: \((\S+)\))? above, unchanged\]$/.exec(
					line,
				) ?? [];
			if (name === undefined) return [line];
			const meant = earlier.findLast(
				(one) => one.name === name && (id === undefined || one.id === id),
			);
			const lines = meant?.text?.split("\n") ?? [];
			if (Number(last) > lines.length) throw new Error(`not backed: ${line}`);
			return lines.slice(Number(first) - 1, Number(last));
		})
		.join("\n");
}
