import { expect, test } from "vitest";
import { hashBytes } from "../../src/core/hash.ts";
import { breakpointsIn } from "../../src/economy/index.ts";
import {
	copyText,
	droppedText,
	type FileText,
	SLOT_INTRO,
	viewOf,
} from "../../src/workset/copy-text.ts";
import type { LogPlan } from "../../src/workset/log/layout.ts";
import { changesFor } from "../../src/workset/plan.ts";
import { tailFor, withBreakpointBeforeTail } from "../../src/workset/request.ts";
import { selectionOf } from "../../src/workset/selection.ts";
import { tierPrefix, withTierBreakpoints } from "../../src/workset/tier-prefix.ts";

const file = (path: string, text: string): FileText => ({ path, text, hash: hashBytes(text) });
const message = (entryId: string, ...texts: string[]) => ({ entryId, texts, tokensBehind: 0 });
const quiet: LogPlan = {
	drop: [],
	append: [],
	tail: [],
	why: "nothing",
	deadTokens: 0,
	threshold: 0,
};

test("a selection is what its changes add up to, in the order of adding", () => {
	const changes = [
		{ op: "add", paths: ["b.ts", "a.ts"] },
		{ op: "drop", paths: ["b.ts", "never.ts"] },
		{ op: "add", paths: ["c.ts", "a.ts"] },
		{ op: "map", on: true },
	];
	expect(selectionOf(changes)).toEqual({ paths: ["a.ts", "c.ts"], map: true });
	expect(selectionOf([...changes, { op: "clear" }]).paths).toEqual([]);
});

test("a session file cannot select what is outside of the project, or anything by nonsense", () => {
	const changes = [
		{ op: "add", paths: ["../x", "/etc/passwd", "a/../../b", "a//b", "", 5, "x\0y", "ok.ts"] },
		null,
		"add",
		{ op: "add", paths: "a.ts" },
		{ op: "explode" },
	];
	expect(selectionOf(changes)).toEqual({ paths: ["ok.ts"], map: undefined });
});

test("the last copy of a file is the newest, wherever it stands", () => {
	const [old, now] = [file("a.ts", "1"), file("a.ts", "2")];
	const view = viewOf([
		message("slot", SLOT_INTRO, copyText(old), copyText(file("b.ts", "b"))),
		message("snap", copyText(now, old.hash)),
	]);
	expect(view.newest.get("a.ts")).toBe(now.hash);
	expect(view.copies.map(({ entryId, kind }) => [entryId, kind])).toEqual([
		["slot", "slot"],
		["snap", "snapshot"],
	]);
});

test("a copy from before its file was dropped counts for nothing, one from after counts", () => {
	const a = file("a.ts", "1");
	const before = [message("slot", SLOT_INTRO, copyText(a)), message("gone", droppedText(["a.ts"]))];
	const { newest, copies } = viewOf(before);
	expect(newest.has("a.ts")).toBe(false);
	expect(copies[0]?.files[0]?.hash).not.toBe(a.hash);
	expect(viewOf([...before, message("again", copyText(a))]).newest.get("a.ts")).toBe(a.hash);
});

test("a plan becomes messages and edits", () => {
	const files = [file("a.ts", "2"), file("b.ts", "b")];
	const view = viewOf([message("s1", copyText(file("a.ts", "1")))]);
	const plan: LogPlan = { ...quiet, slot: { paths: ["b.ts"] }, append: ["a.ts"], drop: ["s1"] };
	const { append, edits } = changesFor(plan, files, view);
	expect(append).toEqual([
		[
			{ type: "text", text: SLOT_INTRO },
			{ type: "text", text: copyText(file("b.ts", "b")) },
		],
		[{ type: "text", text: copyText(file("a.ts", "2"), hashBytes("1")) }],
	]);
	expect([...edits]).toEqual([["s1", null]]);
});

test("what stays in a slot that is filled anew keeps its bytes", () => {
	const files = [file("a.ts", "a"), file("b.ts", "2")];
	const slot = [SLOT_INTRO, ...files.map((one) => copyText(one))];
	const view = viewOf([
		message("slot", SLOT_INTRO, copyText(file("a.ts", "a")), copyText(file("b.ts", "1"))),
		message("snap", copyText(file("b.ts", "2"), hashBytes("1"))),
	]);
	const plan: LogPlan = {
		...quiet,
		slot: { entryId: "slot", paths: ["a.ts", "b.ts"] },
		drop: ["snap"],
	};
	const { edits } = changesFor(plan, files, view);
	expect(edits.get("slot")?.map(({ text }) => text)).toEqual(slot);
});

test("a file that was dropped is announced once, and not at all when its copies go", () => {
	const view = viewOf([message("s1", copyText(file("a.ts", "1")))]);
	const announced = changesFor(quiet, [], view).append;
	expect(announced).toEqual([[{ type: "text", text: droppedText(["a.ts"]) }]]);
	expect(changesFor({ ...quiet, drop: ["s1"] }, [], view).append).toEqual([]);
	const told = viewOf([
		message("s1", copyText(file("a.ts", "1"))),
		message("n", droppedText(["a.ts"])),
	]);
	expect(changesFor(quiet, [], told).append).toEqual([]);
});

test("the tail holds what the request does not show as it is now, and only that", () => {
	const [a, b] = [file("a.ts", "2"), file("b.ts", "b")];
	const shown = [[SLOT_INTRO, copyText(file("a.ts", "1")), copyText(b)]];
	const tail = tailFor(shown, [a, b], "[tag] ");
	expect(tail?.content[0]?.text).toMatch(/^\[tag\] /);
	expect(tail?.content.slice(1).map(({ text }) => text)).toEqual([copyText(a, hashBytes("1"))]);
	expect(tailFor([...shown, [copyText(a)]], [a, b], "[tag] ")).toBeUndefined();
});

const marker = { type: "ephemeral" };
const user = (text: string, marked = false) => ({
	role: "user",
	content: [{ type: "text", text, ...(marked && { cache_control: marker }) }],
});

test("the rolling marker moves to the block before the tail", () => {
	const payload = { model: "m", messages: [user("hello"), user("[tag] files", true)] };
	expect(withBreakpointBeforeTail(payload, "[tag] ")).toEqual({
		model: "m",
		messages: [user("hello", true), user("[tag] files")],
	});
});

test("a system message behind the tail loses the marker too", () => {
	const after = { role: "system", content: [{ type: "text", text: "x", cache_control: marker }] };
	const moved = withBreakpointBeforeTail(
		{ messages: [user("hello"), user("[tag] f"), after] },
		"[tag] ",
	);
	expect(JSON.stringify(moved).match(/cache_control/g)).toHaveLength(1);
	expect(moved).toHaveProperty("messages.0.content.0.cache_control", marker);
});

test("with a subscription login all four markers are taken: moving one adds none, and tiers get none", () => {
	const system = ["identity", "prompt"].map((text) => ({
		type: "text",
		text,
		cache_control: { type: "ephemeral", ttl: "1h" },
	}));
	const tools = [{ name: "read", cache_control: { type: "ephemeral", ttl: "1h" } }];
	const full = { tools, system, messages: [user("files"), user("hello"), user("[tag] f", true)] };
	expect(breakpointsIn(full)).toHaveLength(4);
	const moved = withBreakpointBeforeTail(full, "[tag] ");
	expect(breakpointsIn(moved)).toEqual(breakpointsIn(full));
	expect(moved).toHaveProperty("messages.1.content.0.cache_control", marker);
	const prefix = [{ role: "user" as const, text: "files", breakpoint: true }];
	expect(breakpointsIn(withTierBreakpoints(full, prefix))).toHaveLength(4);
	const roomy = { ...full, tools: [] };
	expect(withTierBreakpoints(roomy, prefix)).toHaveProperty(
		"messages.0.content.0.cache_control",
		marker,
	);
	expect(withTierBreakpoints(roomy, [{ ...prefix[0], text: "other" } as never])).toBeUndefined();
});

test("a marker never lands on thinking or on an empty text", () => {
	const answer = {
		role: "assistant",
		content: [
			{ type: "text", text: "said" },
			{ type: "thinking", thinking: "t" },
			{ type: "text", text: "" },
		],
	};
	const moved = withBreakpointBeforeTail({ messages: [answer, user("[tag] f", true)] }, "[tag] ");
	expect(moved).toHaveProperty("messages.0.content.0.cache_control", marker);
});

test("a request that is not as expected stays as it is", () => {
	for (const payload of [
		undefined,
		{},
		{ messages: "x" },
		{ messages: [user("[tag] first", true)] },
		{ messages: [user("hello"), user("no tail", true)] },
		{ messages: [user("hello"), user("[tag] unmarked")] },
		{ messages: [{ role: "user", content: "text" }, user("[tag] f", true)] },
	]) {
		expect(withBreakpointBeforeTail(payload, "[tag] ")).toBeUndefined();
	}
});

test("in the literal layout, what is said of a file without text does not pass for its text", () => {
	const files = [
		file("a.ts", "a();\n"),
		{ ...file("b.ts", "b.ts does not exist."), gone: true as const },
	];
	const prefix = tierPrefix({ files, symbols: [], items: new Map(), minimumTokens: 0 });
	expect(prefix[0]?.text).toBe(
		"## Files (active)\n\n### a.ts\n```\na();\n```\n\n### b.ts\nb.ts does not exist.",
	);
});
