/** What the working set does to the bytes of a request, against a provider with a prompt cache of its own. */
import { expect, test, vi } from "vitest";
import type { LoopbackRequest, LoopbackScriptStep } from "../support/loopback-anthropic.ts";
import { someText } from "../support/pruning-session.ts";
import { copiesIn, FREE, liveIn, startOnWire } from "../support/workset-session.ts";

const edit = (id: string, path: string, content: string): LoopbackScriptStep => ({
	content: [
		{ type: "thinking", thinking: "think", signature: `sig-${id}` },
		{ type: "tool_use", id, name: "write", input: { path, content } },
	],
});

const markersIn = (raw: string) => raw.split('"cache_control":').length - 1;

const messagesIn = (request: LoopbackRequest | undefined) =>
	(JSON.parse(request?.raw ?? '{"messages":[]}') as { messages: { content: unknown }[] }).messages;

test("working files are written to the cache once and read from it afterwards", async () => {
	const { loop, session } = await startOnWire();
	loop.script(["one", "two", "three"]);
	await session.prompt("/workset add a.ts b.ts c.ts");
	for (const prompt of ["first", "second", "third"]) await session.prompt(prompt);
	for (const { raw } of loop.requests) expect(markersIn(raw)).toBeLessThanOrEqual(4);
	const [first, second, third] = loop.requests.map(({ usage }) => usage);
	expect(first?.cacheWrite).toBeGreaterThan(4000);
	expect(second?.cacheRead).toBeGreaterThanOrEqual((first?.cacheWrite ?? 0) - 10);
	expect(third?.cacheWrite).toBeLessThan(200);
});

test("in a tool loop with edits and thinking every request shows each file as it is, once as live", {
	tags: "slow",
}, async () => {
	const { loop, session, write } = await startOnWire();
	const texts = Array.from({ length: 14 }, (_, i) => someText(1000 + i, 4000));
	loop.script([
		...texts.map((text, i) => edit(`t${i}`, i % 5 === 4 ? "b.ts" : "a.ts", text)),
		"done",
		"done again",
	]);
	await session.prompt("/workset add a.ts b.ts c.ts");
	await session.prompt("edit them");
	const now: Record<string, string> = {};
	for (const name of ["a", "b", "c"]) now[`${name}.ts`] = someText(name.charCodeAt(0), 6000);
	for (const [i, request] of loop.requests.entries()) {
		if (i > 0) now[(i - 1) % 5 === 4 ? "b.ts" : "a.ts"] = texts[i - 1] ?? "";
		expect(liveIn(messagesIn(request))).toEqual(now);
		for (const [path, text] of Object.entries(now)) {
			const same = copiesIn(messagesIn(request)).filter(
				(copy) => copy.path === path && copy.text === text,
			);
			expect(same).toHaveLength(1);
		}
		expect(markersIn(request.raw)).toBeLessThanOrEqual(4);
		expect(markersIn(request.raw)).toBeGreaterThan(0);
		for (let t = 0; t < i && i < 15; t++) expect(request.raw).toContain(`sig-t${t}`);
	}
	write("c.ts", "changed by somebody else\n");
	await session.prompt("and now?");
	expect(liveIn(messagesIn(loop.requests.at(-1)))["c.ts"]).toBe("changed by somebody else\n");
});

test("a hot file ends up in the tail, and the marker stands before it", {
	tags: "slow",
}, async () => {
	const { loop, session } = await startOnWire({ model: FREE });
	const texts = Array.from({ length: 12 }, (_, i) => someText(2000 + i, 8000));
	loop.script([...texts.map((text, i) => edit(`t${i}`, "a.ts", text)), "done"]);
	await session.prompt("/workset add a.ts b.ts c.ts");
	await session.prompt("edit one again and again");
	const last = JSON.parse(loop.requests.at(-1)?.raw ?? "{}") as {
		messages: { role: string; content: { text?: string; cache_control?: unknown }[] }[];
	};
	const tail = last.messages.at(-1);
	expect(tail?.content[0]?.text).toContain("Working files as they are at this moment");
	expect(tail?.content[1]?.text).toContain(texts.at(-1));
	expect(JSON.stringify(tail)).not.toContain("cache_control");
	expect(JSON.stringify(last.messages.at(-2))).toContain("cache_control");
	// What stands before the tail is read the next time: only the newest exchange and the tail are not.
	const reads = loop.requests.slice(-4).map(({ usage }) => usage?.cacheRead ?? 0);
	expect(reads.every((read, i) => i === 0 || read > (reads[i - 1] ?? 0))).toBe(true);
});

test("after a pause the slot is filled anew in order and dead copies go, for nothing", async () => {
	const { loop, session, write } = await startOnWire({ model: FREE });
	loop.script(["one", "two", "three", "four", "five"]);
	await session.prompt("/workset add a.ts b.ts c.ts");
	await session.prompt("first");
	write("b.ts", someText(77, 6000));
	await session.prompt("second");
	expect(copiesIn(messagesIn(loop.requests[1])).map(({ path }) => path)).toEqual([
		"a.ts",
		"b.ts",
		"c.ts",
		"b.ts",
	]);
	vi.setSystemTime(Date.now() + 2 * 60 * 60_000);
	await session.prompt("third");
	const third = copiesIn(messagesIn(loop.requests[2]));
	expect(third.map(({ path }) => path).sort()).toEqual(["a.ts", "b.ts", "c.ts"]);
	await session.prompt("fourth");
	// What the request showed after the pause is what the session says now: nothing is written twice.
	expect(loop.requests[3]?.usage?.cacheRead).toBeGreaterThan(4000);
	expect(copiesIn(messagesIn(loop.requests[3]))).toEqual(third);
});

test("the literal layout puts tiers before the conversation, marked, and keeps pairs and thinking", async () => {
	const { loop, session } = await startOnWire({ tiers: { layout: "tiers" }, model: FREE });
	loop.script([
		"one",
		"two",
		"three",
		"four",
		edit("t0", "a.ts", someText(5, 4000)),
		"five",
		"six",
	]);
	await session.prompt("/workset add a.ts b.ts c.ts");
	for (const prompt of ["1", "2", "3", "4", "5", "6"]) await session.prompt(prompt);
	const heads = loop.requests.map(({ raw }) => {
		const { messages } = JSON.parse(raw) as {
			messages: { content: { text?: string }[] | string }[];
		};
		return JSON.stringify(messages.slice(0, 2));
	});
	expect(heads[0]).toContain("Files (active)");
	expect(heads[4]).toContain("Files (L3)");
	expect(heads[4]).toContain("cache_control");
	for (const { raw } of loop.requests) expect(markersIn(raw)).toBeLessThanOrEqual(4);
	expect(loop.requests[5]?.raw).toContain("sig-t0");
	expect(heads[5]).not.toContain("### a.ts");
	expect(loop.requests[5]?.raw).toContain(JSON.stringify(someText(5, 4000)).slice(1, 60));
});

test("a marker stands where the next reorganisation begins, and where one has begun", async () => {
	const { loop, session, write } = await startOnWire({ model: FREE });
	loop.script(["one", "two", "three", "four"]);
	await session.prompt("/workset add a.ts b.ts c.ts");
	await session.prompt("first");
	const markedAfterEdit = async (prompt: string, seed: number) => {
		write("b.ts", someText(seed, 6000));
		await session.prompt(prompt);
		const request = loop.requests.at(-1);
		const blocks = messagesIn(request).flatMap(({ content }) => content as MarkedBlock[]);
		return {
			copies: copiesIn(messagesIn(request)).length,
			marked: blocks.filter((block) => block.cache_control).map(({ text = "" }) => text),
		};
	};
	// The copy of b.ts in the slot is dead: what comes after a.ts will be sent anew some time.
	expect(await markedAfterEdit("second", 500)).toEqual({
		copies: 4,
		marked: [expect.stringContaining('path="a.ts"'), "second"],
	});
	// The snapshot behind the first answer goes; all before it is read from the cache.
	expect(await markedAfterEdit("third", 501)).toEqual({ copies: 4, marked: ["one", "third"] });
	const [, second, third] = loop.requests.map(({ usage }) => usage);
	expect(third?.cacheRead).toBeGreaterThanOrEqual(second?.cacheRead ?? 0);
	// A hot file is in the tail by now, where nothing dies.
	expect((await markedAfterEdit("fourth", 502)).marked.at(-1)).toBe("fourth");
	for (const { raw } of loop.requests) expect(markersIn(raw)).toBeLessThanOrEqual(4);
});

interface MarkedBlock {
	text?: string;
	cache_control?: unknown;
}
