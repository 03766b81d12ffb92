import { expect, test } from "vitest";
import { Birth, birthPolicies, defaultBirth } from "../../src/birth/index.ts";
import { buildReport, rebuildRequests, runPolicy } from "../../src/economy/replay/index.ts";
import { appendOnly } from "../../src/economy/replay/policies.ts";
import { rulesFor } from "../../src/economy/rules.ts";
import { readSessions, resultTextOf } from "../../src/importers/index.ts";
import { SessionWriter, testModel } from "../economy/replay/session-writer.ts";
import {
	createLoopbackCache,
	type LoopbackBody,
	type LoopbackPromptUsage,
	loopbackTokens,
} from "../support/loopback-cache.ts";
import { code } from "./results.ts";

const START = Date.UTC(2026, 0, 1);
/** As long as the paths that replay assumes. */
const PATH = `~/.pi/cache/pi-kota/blobs/${"0".repeat(64)}.txt`;
const SYSTEM = "You are an agent. ".repeat(1200);

interface Call {
	readonly id: string;
	readonly name: string;
	readonly input: { readonly [key: string]: unknown };
	readonly text: string;
}

/** Reads of files that change, and noisy output; the lengths are multiples of four, as tokens are. */
const CALLS: readonly Call[] = Array.from({ length: 14 }, (_, at) => {
	const file = at % 3;
	const lines = code(60 + file * 40, `file${file}`);
	lines[at] = `changed by step ${at}`;
	const log = [...Array(30).fill("waiting"), ...code(30, `out${at % 2}`), `took ${at} s`];
	const isRead = at % 4 !== 3;
	const text = (isRead ? lines : log).join("\n");
	return {
		id: `call-${at}`,
		name: isRead ? "read" : "bash",
		input: isRead ? { path: `src/${file}.ts` } : { command: "make" },
		text: text.padEnd(Math.ceil(text.length / 4) * 4, "."),
	};
});

/** Tokens of a result are those of its text: replay cannot know what else the provider counts. */
function tokensOf(json: string): number {
	const block = JSON.parse(json.slice(json.indexOf("{")));
	return block.type === "tool_result" ? Math.ceil(block.content.length / 4) : loopbackTokens(json);
}

const used = ({ id, name, input }: Call) => ({ type: "tool_use", id, name, input });

/** What the stand-in bills for each request of the conversation, if results are shown like this. */
function billsFor(shown: (at: number) => string): LoopbackPromptUsage[] {
	let at = 0;
	// A request every twenty seconds, with a pause that outlives the cache.
	const now = () => START + at * 20_000 + (at > 8 ? 400_000 : 0);
	const cache = createLoopbackCache({ minTokens: 4096, tokensOf, now });
	const marker = { cache_control: { type: "ephemeral" } };
	const results = CALLS.map(({ id }, index) => {
		return { type: "tool_result", tool_use_id: id, content: shown(index) };
	});
	return Array.from({ length: CALLS.length + 1 }, (_, request) => {
		at = request;
		const answered = CALLS.slice(0, request).flatMap((call, index) => {
			const last = index === request - 1 ? marker : {};
			return [
				{ role: "assistant", content: [used(call)] },
				{ role: "user", content: [{ ...(results[index] as object), ...last }] },
			];
		});
		const first = { type: "text", text: "Look at it.", ...(request === 0 ? marker : {}) };
		const body: LoopbackBody = {
			model: "claude-opus-4-5",
			system: [{ type: "text", text: SYSTEM, ...marker }],
			messages: [{ role: "user", content: [first] }, ...answered],
		};
		return cache.bill(body);
	});
}

/** The session file of the conversation, with the bills of the stand-in. */
function sessionFile(bills: readonly LoopbackPromptUsage[]): string {
	const session = new SessionWriter();
	session.atMs = START - 10_000;
	session.user("Look at it.");
	for (const [at, call] of CALLS.entries()) {
		const output = tokensOf(`assistant ${JSON.stringify(used(call))}`);
		session.assistant([session.call(call.id, call.name, call.input)], { ...bills[at], output });
		if (at === 8) session.atMs += 400_000;
		session.result(call.id, call.name, call.text);
	}
	session.assistant("done", { ...bills[CALLS.length], output: 4 });
	return session.save();
}

test("what replay says birth and quiet save is the difference of two bills of the stand-in", async () => {
	const birth = new Birth(defaultBirth);
	const shown = CALLS.map(({ name, ...call }) => {
		const result = { ...call, tool: name, path: PATH };
		const short = birth.shorten(result)?.text;
		birth.add(result, short);
		return short ?? call.text;
	});
	const own = billsFor((at) => (CALLS[at] as Call).text);
	const short = billsFor((at) => shown[at] as string);

	const [session] = await readSessions(sessionFile(own), { detail: "texts" });
	const requests = rebuildRequests(session as NonNullable<typeof session>, testModel);
	const [, , both] = birthPolicies(resultTextOf);
	const asBill = ({ input, read, write }: { input: number; read: number; write: number }) => {
		return { input, cacheRead: read, cacheWrite: write, cacheWrite1h: 0 };
	};
	expect(runPolicy(appendOnly, requests).requests.map(asBill)).toEqual(own);
	expect(runPolicy(both, requests).requests.map(asBill)).toEqual(short);

	const { readRatio, writeRatio } = rulesFor({ provider: "anthropic", id: "claude-opus-4-5" });
	const price = (bills: readonly LoopbackPromptUsage[]) =>
		bills.reduce(
			(sum, { input, cacheRead, cacheWrite }) =>
				sum + input + cacheRead * readRatio + cacheWrite * writeRatio,
			0,
		);
	const [before, after] = buildReport(requests, { policies: [appendOnly, both] }).policies;
	const saved = (before?.cost ?? 0) - (after?.cost ?? 0);
	expect(saved).toBeCloseTo(price(own) - price(short), 6);
	expect(saved).toBeGreaterThan(0.1 * price(own));
});
