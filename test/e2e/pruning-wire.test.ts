/** What pruning does to the bytes of a request, against a provider with a prompt cache of its own. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import strata from "../../src/extension/index.ts";
import { PruningSystem } from "../../src/pruning/system.ts";
import { fileTouchOf, touchesExcluded } from "../../src/readcache/index.ts";
import type { SessionView, TurnEnd } from "../../src/session/index.ts";
import {
	FREE_MODEL,
	type LoopbackModel,
	type LoopbackScriptStep,
	startLoopbackAnthropic,
} from "../support/loopback-anthropic.ts";
import { openLoopbackSession } from "../support/loopback-session.ts";
import { oneSystem } from "../support/one-system.ts";
import type { NamedExtension } from "../support/pi-runtime.ts";
import { someText } from "../support/pruning-session.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const COST = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };
const START_MS = 1_800_000_000_000;

/** Pruning and nothing else. */
function pruningWith(onPruned?: () => void): NamedExtension {
	return oneSystem("pruning", (spine) => {
		const watched = (session: SessionView): SessionView =>
			onPruned
				? Object.create(session, {
						cache: { get: () => ({ ...session.cache, notePruned: onPruned }) },
					})
				: session;
		class WatchedPruning extends PruningSystem {
			override onTurnEnd(turn: TurnEnd, session: SessionView) {
				return super.onTurnEnd(turn, watched(session));
			}
		}
		return new WatchedPruning(spine, { fileTouchOf, touchesExcluded }, async () => undefined);
	});
}
const pruningAlone = pruningWith();

interface StartOptions {
	folder?: string;
	extensions?: NamedExtension[];
	prune?: Record<string, unknown>;
	model?: LoopbackModel;
}

async function start(options: StartOptions = {}) {
	const { folder = tempDir(), extensions = [], prune = {}, model = {} } = options;
	vi.useFakeTimers({ toFake: ["Date"], now: START_MS });
	atEnd(() => vi.useRealTimers());
	const loop = await startLoopbackAnthropic({
		cache: { minTokens: 64 },
		now: () => Date.now(),
		thinks: true,
	});
	atEnd(() => loop.close());
	for (let i = 0; i < 60; i++) writeFileSync(join(folder, `f${i}.txt`), someText(i, 8000));
	const blobs = { dir: join(folder, "blobs") };
	writeFileSync(join(folder, "strata.json"), JSON.stringify({ prune, blobs }));
	const session = await openLoopbackSession({
		loop,
		folder,
		model: { id: FREE_MODEL, cost: COST, reasoning: true, ...model },
		extensions,
	});
	return { loop, session };
}

const read = (i: number): LoopbackScriptStep => ({
	content: [{ type: "tool_use", id: `t${i}`, name: "read", input: { path: `f${i}.txt` } }],
});

const pause = () => vi.setSystemTime(Date.now() + 2 * 60 * 60_000);

/** What is sent in a session with an old read and a pause. */
async function sent(options: StartOptions) {
	const { loop, session } = await start(options);
	loop.script([read(0), "one", "two", "three", read(1), "four"]);
	for (const prompt of ["read", "go on", "go on"]) await session.prompt(prompt);
	pause();
	await session.prompt("read another");
	return loop.requests;
}

/** The text sent for a call. */
function resultIn(raw: string, id: string): string {
	const { messages } = JSON.parse(raw) as { messages: { content: unknown }[] };
	const blocks = messages.flatMap(({ content }) => content as Record<string, unknown>[]);
	return JSON.stringify(blocks.find(({ tool_use_id }) => tool_use_id === id)?.content);
}

const markersIn = (raw: string) => raw.split('"cache_control":').length - 1;

test("switched off, the bytes sent are pi's; switched on, they are until there is something to mark", {
	tags: "slow",
}, async () => {
	const folder = tempDir();
	const pis = (await sent({ folder })).map(({ raw }) => raw);
	const off = await sent({ folder, extensions: [pruningAlone], prune: { enabled: false } });
	expect(off.map(({ raw }) => raw)).toEqual(pis);
	const on = await sent({ folder, extensions: [pruningAlone] });
	expect(on[0]?.raw).toBe(pis[0]);
	expect(resultIn(on[4]?.raw ?? "", "t0")).toContain("(Pruned) read");
	expect(resultIn(pis[4] ?? "", "t0")).not.toContain("(Pruned)");
});

test("thinking is part of what the provider caches: a change of it lets old results go", async () => {
	const { loop, session } = await start({ extensions: [pruningAlone] });
	loop.script([read(0), "one", "two", "three", "four"]);
	for (const prompt of ["read", "go on", "go on"]) await session.prompt(prompt);
	expect(resultIn(loop.requests[3]?.raw ?? "", "t0")).not.toContain("(Pruned)");
	session.setThinkingLevel("high");
	await session.prompt("think");
	expect(resultIn(loop.requests[4]?.raw ?? "", "t0")).toContain("(Pruned)");
});

test("going elsewhere in the tree leaves the cache warm: what stands before is read, not written anew for a few tokens", {
	tags: "slow",
}, async () => {
	const { loop, session } = await start({ extensions: [pruningAlone] });
	loop.script([read(0), ...Array.from({ length: 7 }, () => "ok"), "better"]);
	await session.prompt("read");
	for (let i = 0; i < 6; i++) await session.prompt(someText(i, 20_000));
	const prompts = session.sessionManager
		.getBranch()
		.filter((entry) => entry.type === "message" && entry.message.role === "user");
	await session.navigateTree(prompts.at(-1)?.id as string);
	await session.prompt("the last question, put better");
	const { raw, usage } = loop.requests.at(-1) ?? { raw: "" };
	expect(resultIn(raw, "t0")).not.toContain("(Pruned)");
	expect(usage?.cacheRead).toBeGreaterThan(25_000);
	expect(usage?.cacheWrite).toBeLessThan(1000);
	pause();
	await session.prompt("and later");
	expect(resultIn(loop.requests.at(-1)?.raw ?? "", "t0")).toContain("(Pruned)");
});

test("who is told of prunings hears of those that change the next request, not of stubs that were sent already", {
	tags: "slow",
}, async () => {
	const onPruned = vi.fn();
	const { loop, session } = await start({
		extensions: [pruningWith(onPruned)],
		model: { contextWindow: 60_000 },
	});
	loop.script([
		read(0),
		"one",
		"two",
		"three",
		"four",
		...Array.from({ length: 30 }, (_, i) => read(i + 1)),
		"done",
	]);
	for (const prompt of ["read", "go on", "go on"]) await session.prompt(prompt);
	pause();
	await session.prompt("cold");
	expect(resultIn(loop.requests.at(-1)?.raw ?? "", "t0")).toContain("(Pruned)");
	expect(onPruned).not.toHaveBeenCalled();
	await session.prompt("read them all");
	expect(onPruned).toHaveBeenCalled();
});

test("the marker before what goes next keeps what stands before it cached, and there are never more than four", {
	tags: "slow",
}, async () => {
	const extensions = [{ name: "strata", factory: strata }];
	const { loop, session } = await start({ extensions, model: { contextWindow: 60_000 } });
	const calls = Array.from({ length: 50 }, (_, i) => read(i));
	loop.script([...calls, "done"]);
	await session.prompt("read them all");
	const requests = loop.requests.slice(1);
	for (const { raw } of requests) expect(markersIn(raw)).toBeLessThanOrEqual(4);
	expect(requests.some(({ raw }) => markersIn(raw) === 4)).toBe(true);
	expect(resultIn(requests.at(-1)?.raw ?? "", "t0")).toContain("(Pruned)");
	// After a pruning, what stood before it is still read; without the marker all messages would be written anew.
	const head = loop.requests[0]?.usage?.cacheWrite ?? 0;
	const prunings = requests.filter((request, i) => {
		const before = requests[i - 1];
		return before && request.raw.length < before.raw.length;
	});
	expect(prunings.length).toBeGreaterThan(1);
	for (const { usage } of prunings.slice(1)) expect(usage?.cacheRead).toBeGreaterThan(head + 500);
});

test("pi sets three markers, and the fourth is ours as soon as there is something that may go", async () => {
	const { loop, session } = await start({ extensions: [pruningAlone] });
	loop.script([read(0), read(1), "done"]);
	await session.prompt("read");
	expect(loop.requests.map(({ raw }) => markersIn(raw))).toEqual([3, 4, 4]);
});
