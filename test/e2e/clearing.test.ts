/** The provider's clearing of results, driven by real pi against a provider that carries it out. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentSession, ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { callsIn, withClearing } from "../../src/clearing/index.ts";
import { Clearing, clearingStepOf } from "../../src/economy/clearing.ts";
import { costOf, rulesFor } from "../../src/economy/rules.ts";
import strata from "../../src/extension/index.ts";
import { readPayload } from "../../src/wire/index.ts";
import {
	type LoopbackAnthropic,
	type LoopbackScriptStep,
	startLoopbackAnthropic,
} from "../support/loopback-anthropic.ts";
import {
	createLoopbackCache,
	type LoopbackBody,
	loopbackTokens,
} from "../support/loopback-cache.ts";
import { CLEARED_TEXT, clearToolUses } from "../support/loopback-clearing.ts";
import { openLoopbackSession } from "../support/loopback-session.ts";
import { sdk } from "../support/pi-sdk.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const COST = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };
const RULES = rulesFor({ provider: "loop", id: "claude-loop", cost: COST });
const FILES = 24;

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 }));
afterEach(() => void vi.useRealTimers());

/** The vendor's wording is unknown: counted as what the product assumes. */
const tokensOf = (json: string) => (json.includes(CLEARED_TEXT) ? 15 : loopbackTokens(json));

async function start(mode: string, { events = true, reported = (count: number) => count } = {}) {
	const loop = await startLoopbackAnthropic({
		cache: { minTokens: RULES.minimumTokens, tokensOf },
		now: Date.now,
		thinks: true,
	});
	atEnd(() => loop.close());
	const folder = tempDir();
	const settings = {
		clearing: { mode },
		birth: { mode: "off" },
		blobs: { dir: join(folder, "blobs") },
		economy: { missNotice: "off" },
	};
	writeFileSync(join(folder, "strata.json"), JSON.stringify(settings));
	for (let file = 0; file < FILES; file++) {
		const lines = Array.from(
			{ length: 60 },
			(_, line) => `line ${line} of file ${file}, with words`,
		);
		writeFileSync(join(folder, `${file}.txt`), lines.join("\n"));
	}
	const notices: string[] = [];
	const session = await openLoopbackSession({
		loop,
		folder,
		model: { cost: COST, reasoning: true },
		tools: ["read"],
		extensions: [
			{ name: "strata", factory: (pi) => strata(events ? withEvents(pi, loop, reported) : pi) },
		],
		uiContext: { notify: (message) => void notices.push(message), setStatus: () => {} },
	});
	return { loop, session, notices, folder };
}

/** Reports the provider's events to the extension, as pi does since 1.5. */
function withEvents(
	pi: ExtensionAPI,
	loop: LoopbackAnthropic,
	reported: (count: number) => number,
): ExtensionAPI {
	const handlers: ((event: object, ctx: object) => unknown)[] = [];
	const on = (name: string, handler: (event: object, ctx: object) => unknown) => {
		if (name === "provider_stream_event") handlers.push(handler);
		else pi.on(name as "message_end", handler as never);
	};
	pi.on("message_end", ({ message }, ctx) => {
		if (message.role !== "assistant") return;
		const applied_edits = loop.requests
			.at(-1)
			?.applied?.map((edit) => ({ ...edit, cleared_tool_uses: reported(edit.cleared_tool_uses) }));
		const data = { type: "message_delta", context_management: { applied_edits } };
		for (const handler of handlers) handler({ type: "provider_stream_event", data }, ctx);
	});
	return Object.assign(Object.create(pi), { on });
}

const reads = (id: string, path: string): LoopbackScriptStep => ({
	content: [{ type: "tool_use", id, name: "read", input: { path } }],
});

/** A dozen reads, a pause that is longer than the cache lives, then the rest. */
async function play({ loop, session }: { loop: LoopbackAnthropic; session: AgentSession }) {
	for (const [from, to] of [
		[0, 12],
		[12, FILES],
	] as const) {
		loop.script(
			Array.from({ length: to - from }, (_, at) => reads(`t${from + at}`, `${from + at}.txt`)),
		);
		loop.script(["Done."]);
		await session.prompt("read them");
		vi.setSystemTime(Date.now() + 10 * 60_000);
	}
}

async function costReport(session: AgentSession): Promise<string> {
	await session.prompt("/strata cost");
	const entry = session.sessionManager
		.getEntries()
		.findLast((found) => found.type === "custom" && found.customType === "strata-report");
	return (entry as unknown as { data: { text: string } }).data.text;
}

/** Two bills of a provider for the same conversation, in plain input tokens. */
function twoBills(requests: LoopbackAnthropic["requests"]) {
	let nowMs = 0;
	const cache = () =>
		createLoopbackCache({ minTokens: RULES.minimumTokens, tokensOf, now: () => nowMs });
	const [own, agent] = [cache(), cache()];
	const clearing = new Clearing({ keep: 5 });
	const costs = { own: 0, agent: 0, cleared: 0 };
	let before = 0;
	for (const { body, at } of requests) {
		const isCold = at - nowMs > RULES.ttlMs["5m"];
		nowMs = at;
		const calls = callsIn(body) as readonly string[];
		const step = clearingStepOf(readPayload(body)?.pieces ?? [], {
			model: { name: "loop", rules: RULES },
			...{ atMs: at, cold: isCold, cleared: before, contextWindow: 200_000 },
			tokensOf: (bytes) => Math.ceil(bytes / 4),
		});
		// The extension counts from the first request with a result on.
		if (calls.length === 0) {
			own.bill(body);
			agent.bill(body);
			continue;
		}
		const { cleared } = clearing.next(step);
		const edited = (withClearing(body, cleared, before) ?? body) as LoopbackBody;
		costs.own += costOfUsage(own.bill(clearToolUses(edited).seen));
		costs.agent += costOfUsage(agent.bill(body));
		before = cleared;
	}
	return { ...costs, cleared: before };
}

function costOfUsage(usage: ReturnType<ReturnType<typeof createLoopbackCache>["bill"]>): number {
	const { input, cacheRead: read, cacheWrite: write, cacheWrite1h: writeOneHour } = usage;
	return costOf({ input, read, write, writeOneHour }, RULES);
}

describe("clearing in shadow", () => {
	test("sends what pi sends, byte for byte", async () => {
		const bodies = async (mode: string) => {
			const started = await start(mode);
			await play(started);
			return started.loop.requests.map(({ raw }) => raw.replaceAll(started.folder, "FOLDER"));
		};
		const plain = await bodies("off");
		expect(plain.length).toBeGreaterThan(FILES);
		expect(await bodies("shadow")).toEqual(plain);
	});

	test("prints the difference of two bills for the same conversation", async () => {
		const started = await start("shadow");
		await play(started);
		const { own, agent, cleared } = twoBills(started.loop.requests);
		expect(cleared).toBeGreaterThan(0);
		const report = await costReport(started.session);
		const [, results, saved] =
			/clearing, shadow: (\d+) results? would be cleared, which would save (-?[\d,]+) plain/.exec(
				report,
			) ?? [];
		expect(Number(results)).toBe(cleared);
		expect(Number(saved?.replaceAll(",", ""))).toBe(Math.round(agent - own));
	});
});

describe("clearing", () => {
	test("is carried out by the provider as asked, and leaves all thinking valid", async () => {
		const started = await start("on");
		await play(started);
		const { requests } = started.loop;
		const counts = requests.map(({ applied }) => applied?.[0]?.cleared_tool_uses ?? 0);
		expect(Math.max(...counts)).toBeGreaterThan(0);
		expect(counts).toEqual(counts.toSorted((a, b) => a - b)); // never falls
		expect(requests.flatMap(({ transformations }) => transformations ?? [])).toEqual([]);
		expect(started.notices).toEqual([]);
		expect(await costReport(started.session)).toMatch(/clearing: \d+ results? cleared/);
	});

	test("tells the model where the exact texts are", async () => {
		const started = await start("on");
		await play(started);
		const sent = JSON.stringify(started.loop.requests.at(-1)?.body.messages);
		const list = /stored: read (.+?\.txt) for their paths/.exec(sent)?.[1] as string;
		started.loop.script([reads("list", list), "Seen."]);
		await started.session.prompt("what was it?");
		const [, path] = /\\n {2}(.+?\.txt)/.exec(lastResult(started.loop)) ?? [];
		started.loop.script([reads("again", path as string), "Seen."]);
		await started.session.prompt("and the first?");
		expect(lastResult(started.loop)).toContain("line 59 of file 0, with words");
	});

	test("the read cache does not refer to what the provider has cleared", async () => {
		const started = await start("on");
		await play(started);
		started.loop.script([reads("later", "0.txt"), "Seen."]);
		await started.session.prompt("read the first one again");
		expect(lastResult(started.loop)).toContain("line 59 of file 0, with words");
	});

	test("ends for the session if the provider clears another number, and says so once", async () => {
		const started = await start("on", { reported: (count) => count - 1 });
		await play(started);
		started.loop.script(["Yes."]);
		await started.session.prompt("still there?");
		const warned = started.notices.filter((notice) => notice.includes("clearing is off"));
		expect(warned).toHaveLength(1);
		expect(started.loop.requests.at(-1)?.body.context_management).toBeUndefined();
		expect(await costReport(started.session)).toContain("clearing: off for this session");
	});

	test("asks for nothing where pi does not report what the provider did; pi 1.5 does", async () => {
		const started = await start("on", { events: false });
		await play(started);
		const asked = started.loop.requests.filter(({ body }) => body.context_management !== undefined);
		const cleared = asked.map(({ applied }) => applied?.[0]?.cleared_tool_uses ?? 0);
		if (sdk.VERSION.startsWith("0.")) expect(asked).toEqual([]);
		else expect(Math.min(...cleared)).toBeGreaterThan(0);
		expect(started.notices).toEqual([]);
	});

	test("keeps the text that a marker among the newest results means", async () => {
		const { loop, session } = await start("on");
		const prompt = async (...files: number[]) => {
			const run = loop.requests.length;
			const calls = files.map((file, at) => reads(`r${run}-${at}`, `${file}.txt`));
			loop.script([...calls, "Done."]);
			await session.prompt("go on");
			vi.setSystemTime(Date.now() + 10 * 60_000);
			return loop.requests.at(-1)?.applied?.[0]?.cleared_tool_uses ?? 0;
		};
		await prompt(0, 1, 2, 3, 4, 5, 6, 7, 0, 8);
		expect(lastMarker(loop)).not.toContain("line 59");
		expect(await prompt(9)).toBe(0);
		await prompt(10, 11, 12, 13, 14, 15);
		expect(await prompt(16)).toBeGreaterThan(8);
	});

	test("stops before a result that the user has pinned", async () => {
		const started = await start("on");
		started.loop.script([
			...["0", "1", "2"].map((file) => reads(`t${file}`, `${file}.txt`)),
			"Ok.",
		]);
		await started.session.prompt("read some");
		await started.session.prompt("/kota pin t2");
		started.loop.script([
			...Array.from({ length: 12 }, (_, at) => reads(`u${at}`, `${at + 3}.txt`)),
			"Done.",
		]);
		await started.session.prompt("read more");
		vi.setSystemTime(Date.now() + 10 * 60_000);
		started.loop.script(["Yes."]);
		await started.session.prompt("still there?");
		expect(started.loop.requests.at(-1)?.applied?.[0]?.cleared_tool_uses).toBe(2);
	});
});

/** The ninth result: the second read of the first file. */
function lastMarker({ requests }: LoopbackAnthropic): string {
	const blocks = requests.at(-1)?.body.messages.flatMap(({ content }) => content as object[]) ?? [];
	return JSON.stringify(blocks.filter((block) => "tool_use_id" in block)[8]);
}

function lastResult({ requests }: LoopbackAnthropic): string {
	const blocks = requests.at(-1)?.body.messages.flatMap(({ content }) => content as object[]) ?? [];
	const result = blocks.findLast((block) => "tool_use_id" in block);
	return JSON.stringify(result);
}
