/** What of a request stays the same to the byte, and where its cache markers stand. */
import { expect, test, vi } from "vitest";
import { WorksetSystem } from "../../src/workset/system.ts";
import type { LoopbackRequest, LoopbackScriptStep } from "../support/loopback-anthropic.ts";
import { oneSystem } from "../support/one-system.ts";
import type { NamedExtension } from "../support/pi-runtime.ts";
import { someText } from "../support/pruning-session.ts";
import { tempDir } from "../support/temp.ts";
import { copiesIn, FREE, liveIn, startOnWire } from "../support/workset-session.ts";

/** The working set and nothing else. */
const tiersAlone = oneSystem(
	"tiers",
	(spine) => new WorksetSystem(spine, () => Promise.reject(new Error("no index"))),
);

interface Body {
	system: unknown;
	tools: unknown;
	messages: { role: string; content: { cache_control?: unknown }[] }[];
}

/** A request without its cache markers. */
function unmarked({ raw }: LoopbackRequest): Body {
	return JSON.parse(raw, (key, value) => (key === "cache_control" ? undefined : value));
}

const body = ({ raw }: LoopbackRequest): Body => JSON.parse(raw);
const markersIn = (raw: string) => raw.split('"cache_control":').length - 1;
const call = (id: string, name: string, input: Record<string, unknown>): LoopbackScriptStep => ({
	content: [
		{ type: "thinking", thinking: "think", signature: `sig-${id}` },
		{ type: "tool_use", id, name, input },
	],
});

test.each([
	["log", 0],
	["tiers", 5], // until then files rise from tier to tier
])(
	"in the layout %s an unchanged working set leaves what was sent as it was",
	{ tags: "slow" },
	async (layout, from) => {
		const { loop, session } = await startOnWire({ tiers: { layout } });
		loop.script(Array.from({ length: 12 }, (_, i) => `answer ${i}`));
		await session.prompt("/workset add a.ts b.ts c.ts");
		for (let i = 0; i < 12; i++) await session.prompt(`prompt ${i}`);
		const sent = loop.requests.map(unmarked);
		for (const [i, next] of sent.entries()) {
			const before = sent[i - 1];
			expect(markersIn(loop.requests[i]?.raw ?? "")).toBeLessThanOrEqual(4);
			if (!before || i <= from) continue;
			expect(next.system).toEqual(before.system);
			expect(next.tools).toEqual(before.tools);
			expect(next.messages.slice(0, before.messages.length)).toEqual(before.messages);
			expect(loop.requests[i]?.usage?.cacheWrite).toBeLessThan(100);
		}
	},
);

test("with an empty working set the bytes are pi's, also after one was kept and given up", async () => {
	const folder = tempDir();
	const sent = async (extensions: NamedExtension[]) => {
		const { loop, session } = await startOnWire({ folder, extensions });
		const command = async (line: string) => {
			if (extensions.length > 0) await session.prompt(line);
		};
		session.settingsManager.applyOverrides({ compaction: { keepRecentTokens: 1 } });
		loop.script(["one", "two", "three", "a summary", "four", "five"]);
		await command("/workset add a.ts b.ts");
		await command("/workset drop a.ts b.ts");
		await session.prompt("first");
		await command("/workset add a.ts b.ts");
		await session.prompt("second");
		await command("/workset clear");
		await session.prompt("third");
		await session.compact();
		await session.prompt("fourth");
		await session.prompt("fifth");
		return loop.requests.map(({ raw }) => raw);
	};
	const [pis, ours] = [await sent([]), await sent([tiersAlone])];
	expect(ours[0]).toBe(pis[0]);
	expect(ours[1]).not.toBe(pis[1]);
	expect(ours.slice(-2)).toEqual(pis.slice(-2));
});

test("a cache that went cold while a tool ran is a chance to drop what is dead", async () => {
	const { loop, session } = await startOnWire({ model: FREE });
	const pause = () => vi.setSystemTime(Date.now() + 10 * 60_000);
	loop.script([
		call("t0", "write", { path: "a.ts", content: someText(1, 6000) }),
		() => {
			pause();
			return call("t1", "write", { path: "x.ts", content: "x" }) as never;
		},
		"done",
	]);
	await session.prompt("/workset add a.ts b.ts c.ts");
	await session.prompt("go");
	const paths = loop.requests.map((one) => copiesIn(body(one).messages).map(({ path }) => path));
	expect(paths[1]).toHaveLength(4);
	expect(paths[2]?.sort()).toEqual(["a.ts", "b.ts", "c.ts"]);
});

test.each(["log", "tiers"])(
	"in the layout %s with pruning, thinking and hot files the markers hold",
	{ tags: "slow" },
	async (layout) => {
		const { loop, session, write } = await startOnWire({
			tiers: { layout },
			model: { ...FREE, contextWindow: 40_000 },
		});
		for (let i = 0; i < 18; i++) write(`f${i}.txt`, someText(i, 8000));
		loop.script([
			...Array.from({ length: 18 }, (_, i) => [
				call(`r${i}`, "read", { path: `f${i}.txt` }),
				call(`w${i}`, "write", { path: "a.ts", content: someText(900 + i, 3000) }),
			]).flat(),
			"done",
		]);
		await session.prompt("/workset add a.ts b.ts c.ts");
		await session.prompt("go");
		expect(loop.requests).toHaveLength(37);
		for (const request of loop.requests) {
			expect(markersIn(request.raw)).toBeLessThanOrEqual(4);
			expect(markersIn(request.raw)).toBeGreaterThan(0);
			const tail = body(request).messages.at(-1);
			if (JSON.stringify(tail).includes("as they are at this moment"))
				expect(JSON.stringify(tail)).not.toContain("cache_control");
		}
		expect(loop.requests.at(-1)?.raw).toContain("(Pruned)");
	},
);

test("where system messages may stand in mid-conversation, head and tail stay in their place", {
	tags: "slow",
}, async () => {
	const compat = { supportsMidConvoSystemMessages: true, supportsMidConvoEffort: true };
	const { loop, session } = await startOnWire({ model: { ...FREE, compat } });
	const texts = Array.from({ length: 10 }, (_, i) => someText(3000 + i, 8000));
	loop.script([
		...texts.map((content, i) => () => {
			if (i === 6) session.setActiveToolsByName(["write"]);
			if (i === 8) session.setActiveToolsByName(["write", "edit"]);
			return call(`t${i}`, "write", { path: "a.ts", content }) as never;
		}),
		"done",
	]);
	await session.prompt("/workset add a.ts b.ts c.ts");
	await session.prompt("go");
	const [first] = loop.requests.map(body);
	for (const [i, request] of loop.requests.entries()) {
		const { system, messages } = body(request);
		expect(system).toEqual(first?.system);
		expect(markersIn(request.raw)).toBeLessThanOrEqual(4);
		if (i > 0) expect(liveIn(messages)["a.ts"]).toBe(texts[i - 1]);
		const tailAt = messages.findLastIndex((message) =>
			JSON.stringify(message).includes("as they are at this moment"),
		);
		if (tailAt < 0) continue;
		expect(JSON.stringify(messages.slice(tailAt))).not.toContain("cache_control");
		expect(JSON.stringify(messages.slice(0, tailAt))).toContain("cache_control");
	}
	expect(body(loop.requests.at(-1) as LoopbackRequest).messages.map(({ role }) => role)).toContain(
		"system",
	);
	const isTail = /as they are at this moment/;
	expect(loop.requests.filter(({ raw }) => isTail.test(raw)).length).toBeGreaterThan(3);
});

test("a request that is sent again after an error is the same", { tags: "slow" }, async () => {
	const { loop, session } = await startOnWire();
	session.settingsManager.applyOverrides({ retry: { enabled: true, baseDelayMs: 1 } });
	const error = { status: 529, type: "overloaded_error", message: "Overloaded" };
	loop.script(["ok", { error }, { error }, "ok", "ok"]);
	await session.prompt("/workset add a.ts b.ts c.ts");
	await session.prompt("first");
	vi.setSystemTime(Date.now() + 2 * 60 * 60_000);
	await session.prompt("after a pause");
	await session.prompt("and another");
	const [, failed, again, answered, next] = loop.requests.map(unmarked);
	expect(again).toEqual(failed);
	expect(answered).toEqual(failed);
	expect(next?.messages.slice(0, failed?.messages.length)).toEqual(failed?.messages);
});
