/** What sessions cost, in real pi against a provider with a prompt cache of its own. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentSession } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import { CacheSimulator, requestOfPieces } from "../../src/economy/index.ts";
import { rulesFor } from "../../src/economy/rules.ts";
import strata from "../../src/extension/index.ts";
import { readPayload } from "../../src/wire/index.ts";
import {
	FREE_MODEL,
	type LoopbackAnthropic,
	type LoopbackModel,
	type LoopbackScriptStep,
	startLoopbackAnthropic,
} from "../support/loopback-anthropic.ts";
import { loopbackTokens } from "../support/loopback-cache.ts";
import { openLoopbackSession } from "../support/loopback-session.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const COST = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };
const MINIMUM = 64;

async function start({ missNotice = "on", missThreshold = 0, model = {} as LoopbackModel } = {}) {
	let nowMs = 1_800_000_000_000;
	const loop = await startLoopbackAnthropic({
		cache: { minTokens: MINIMUM },
		now: () => nowMs,
		thinks: true,
	});
	atEnd(() => loop.close());
	const folder = tempDir();
	const settings = { economy: { missNotice, missThreshold } };
	writeFileSync(join(folder, "strata.json"), JSON.stringify(settings));
	writeFileSync(join(folder, "a.txt"), "a line of text\n".repeat(400));
	const notices: string[] = [];
	const session = await openLoopbackSession({
		loop,
		folder,
		model: { cost: COST, reasoning: true, ...model },
		tools: ["read", "ls"],
		extensions: [{ name: "strata", factory: strata }],
		uiContext: { notify: (message) => void notices.push(message), setStatus: () => {} },
	});
	const wait = (ms: number) => {
		nowMs += ms;
	};
	return { loop, session, notices, wait };
}

const reads = (id: string, input: Record<string, unknown>): LoopbackScriptStep => ({
	content: [{ type: "tool_use", id, name: "read", input }],
});

/** Feeds what arrived at the provider to the simulator. */
function simulate({ requests }: LoopbackAnthropic) {
	const rules = rulesFor(
		{ provider: "anthropic", id: "claude-loop", cost: COST },
		{ minimumTokens: MINIMUM },
	);
	const simulator = new CacheSimulator(rules);
	return requests.map(({ body, at }) => {
		const pieces = readPayload(body)?.pieces ?? [];
		const tokensOf = (bytes: number) => loopbackTokens("x".repeat(bytes));
		const { input, read, write } = simulator.send({
			atMs: at,
			...requestOfPieces(pieces, tokensOf),
		});
		return { input, cacheRead: read, cacheWrite: write };
	});
}

async function costReport(session: AgentSession): Promise<string> {
	await session.prompt("/strata cost");
	const entry = session.sessionManager
		.getEntries()
		.findLast((found) => found.type === "custom" && found.customType === "strata-report");
	return (entry as unknown as { data: { text: string } }).data.text;
}

describe("the simulator", () => {
	test("bills a session of pi as the provider does, request by request", async () => {
		const { loop, session, wait } = await start();
		loop.script([
			reads("t1", { path: "a.txt" }),
			reads("t2", { path: "a.txt", offset: 3, limit: 5 }),
			"That is all.",
			"Again.",
			reads("t3", { path: "missing.txt" }),
			"Not there.",
			"After a pause.",
			"With thought.",
		]);
		await session.prompt("read a.txt");
		await session.prompt("once more");
		wait(60_000);
		await session.prompt("and the other one");
		wait(6 * 60_000);
		await session.prompt("still there?");
		session.setThinkingLevel("high");
		await session.prompt("think");
		expect(loop.requests).toHaveLength(8);
		expect(simulate(loop)).toEqual(
			loop.requests.map(({ usage }) => ({
				input: usage?.input,
				cacheRead: usage?.cacheRead,
				cacheWrite: usage?.cacheWrite,
			})),
		);
	});
});

describe("/strata cost", () => {
	test("adds up what the provider billed", async () => {
		const { loop, session } = await start();
		expect(await costReport(session)).toContain("No request of this session");
		loop.script([reads("t1", { path: "a.txt" }), "Done.", "Yes."]);
		await session.prompt("read a.txt");
		await session.prompt("sure?");
		const billed = loop.requests.map(
			({ usage }) => usage ?? { input: 0, cacheRead: 0, cacheWrite: 0 },
		);
		const prompt = billed.reduce((sum, one) => sum + one.input + one.cacheRead + one.cacheWrite, 0);
		const report = await costReport(session);
		expect(report).toContain(`3 requests, ${prompt.toLocaleString("en-US")} prompt tokens`);
		expect(report).toContain("no cache misses");
	});
});

describe("a miss", () => {
	test("after a change of tools is told with the first tool that changed", async () => {
		const { loop, session, notices } = await start({ model: { id: FREE_MODEL } });
		loop.script(["One.", "Two."]);
		await session.prompt("hello");
		session.setActiveToolsByName(["read"]);
		await session.prompt("hello again");
		expect(notices.join("\n")).toMatch(
			/cached tokens were paid for again \(\$\d\.\d+\): the tools changed; first change: tool ls \(removed\)/,
		);
		expect(await costReport(session)).toMatch(
			/misses: 1, .*× the cost without them .*\n.*the tools changed/,
		);
	});

	test("that the provider alone is to blame for is told as such", async () => {
		const { loop, session, notices, wait } = await start();
		loop.script(["One.", "Two."]);
		await session.prompt("hello");
		wait(6 * 60_000); // for the provider; by our own clock no time has passed
		await session.prompt("hello again");
		expect(notices.join("\n")).toContain("nothing changed on our side");
	});

	test("is told once, or not at all, or not below the threshold, as the user wants", async () => {
		const noticed = async (settings: object) => {
			const { loop, session, notices, wait } = await start(settings);
			loop.script(["One.", "Two.", "Three."]);
			for (const text of ["one", "two", "three"]) {
				await session.prompt(text);
				wait(6 * 60_000);
			}
			return notices.filter((notice) => notice.includes("paid for again")).length;
		};
		expect(await noticed({ missNotice: "on" })).toBe(2);
		expect(await noticed({ missNotice: "once" })).toBe(1);
		expect(await noticed({ missNotice: "off" })).toBe(0);
		expect(await noticed({ missNotice: "on", missThreshold: 1_000_000 })).toBe(0);
	});
});
