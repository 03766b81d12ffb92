import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ToolResultItem } from "../../src/context/index.ts";
import { hashBytes } from "../../src/core/hash.ts";
import { createHistory } from "../../src/readcache/history.ts";
import { INVALIDATION_ENTRY, invalidationFor, returnedHash } from "../../src/readcache/index.ts";
import { type FileEvent, knowledgeOf } from "../../src/readcache/knowledge.ts";
import { appendCalls, appendResult, newSession } from "../context/sessions.ts";
import { tempDir } from "../support/temp.ts";
import { cachedSession, numbered, SETTINGS } from "./cached-session.ts";

type Scene = ReturnType<typeof cachedSession>;

function eventsOf({ cache, session }: Scene, pathKey: string): FileEvent[] {
	return cache.history.eventsOf(session, pathKey);
}

function kindsOf(scene: Scene, pathKey: string): string[] {
	return eventsOf(scene, pathKey).map((event) =>
		event.kind === "view" ? event.meta.mode : event.kind,
	);
}

/** Lets the model call another tool than `read`, successfully. */
function call(
	{ session }: Scene,
	tool: string,
	args: Record<string, never> | object,
	isError = false,
) {
	const id = `${tool}-${session.getEntries().length}`;
	appendCalls(session, { id, tool, args: args as Record<string, never> });
	appendResult(session, id, "done", { toolName: tool, isError });
}

describe("reads", () => {
	test("that show text are views, and markers leave no trace", async () => {
		const scene = cachedSession();
		const path = scene.write("a.txt", numbered(50));
		await scene.read("a.txt", { offset: 3, limit: 4 });
		await scene.read("a.txt", { offset: 4, limit: 2 });
		expect(kindsOf(scene, path)).toEqual(["full"]);
		await scene.read("a.txt");
		await scene.read("a.txt");
		scene.write("a.txt", numbered(50).replace("line 7\n", "seven\n"));
		await scene.read("a.txt");
		expect(kindsOf(scene, path)).toEqual(["full", "diff"]);
	});

	test("of a whole file make older views of it needless", async () => {
		const scene = cachedSession();
		const path = scene.write("a.txt", numbered(9));
		for (const offset of [1, 3, 5]) await scene.read("a.txt", { offset, limit: 2 });
		expect(eventsOf(scene, path)).toHaveLength(3);
		await scene.read("a.txt");
		expect(eventsOf(scene, path)).toHaveLength(1);
	});

	test("of several files are told apart, and of one file through links are one", async () => {
		const scene = cachedSession();
		const one = scene.write("one.txt", numbered(9));
		const other = scene.write("other.txt", numbered(9));
		symlinkSync(one, join(scene.cwd, "link"));
		await scene.read("link", { offset: 1, limit: 2 });
		await scene.read("./one.txt", { offset: 4, limit: 2 });
		await scene.read("other.txt");
		expect(scene.cache.history.paths(scene.session)).toEqual([one, other]);
		expect(eventsOf(scene, one)).toHaveLength(2);
	});

	test("that are hidden by an edit of the context say so as soon as it is made", async () => {
		const scene = cachedSession();
		const path = scene.write("a.txt", numbered(9));
		const { entryId } = await scene.read("a.txt");
		expect(eventsOf(scene, path)).toMatchObject([{ seen: { visible: true } }]);
		scene.session.appendContextEdit(entryId, { content: "pruned" });
		expect(eventsOf(scene, path)).toMatchObject([{ seen: { visible: false, why: "edited" } }]);
	});

	test("are the same after a jump in the tree as for somebody who comes new", async () => {
		const scene = cachedSession();
		const path = scene.write("a.txt", numbered(9));
		const { entryId } = await scene.read("a.txt", { offset: 1, limit: 2 });
		await scene.read("a.txt");
		expect(eventsOf(scene, path)).toHaveLength(1);
		scene.session.branch(entryId);
		await scene.read("a.txt", { offset: 5, limit: 2 });
		const fresh = createHistory(scene.ledger, scene.cwd).eventsOf(scene.session, path);
		expect(eventsOf(scene, path)).toEqual(fresh);
		expect(fresh).toMatchObject([{ meta: { rangeStart: 1 } }, { meta: { rangeStart: 5 } }]);
	});
});

describe("reads that nobody follows end what was known", () => {
	/** Reads a file, then once more in a way that is not followed; what is left is the events. */
	async function left(name: string, written: string, disturb: (scene: Scene) => void) {
		const scene = cachedSession();
		const path = scene.write(name, numbered(9));
		await scene.read(written);
		expect(kindsOf(scene, path)).toEqual(["full"]);
		disturb(scene);
		expect((await scene.read(written)).meta).toBeUndefined();
		scene.write(name, numbered(9));
		return kindsOf(scene, path);
	}

	test("when the file was not text at the time", async () => {
		expect(await left("a.txt", "a.txt", ({ write }) => write("a.txt", "\0"))).toEqual([
			"untracked",
		]);
	});

	test("when the file was not there at the time", async () => {
		const remove = ({ cwd }: Scene) => rmSync(join(cwd, "a.txt"));
		expect(await left("a.txt", "a.txt", remove)).toEqual(["untracked"]);
	});

	test("when the path had a range behind it", async () => {
		expect(await left("a.txt", "a.txt:1-99", ({ write }) => write("a.txt", "\0"))).toEqual([
			"untracked",
		]);
	});

	test.each([
		["a narrow space", "Shot 1\u202FPM.txt", "Shot 1 PM.txt"],
		["a decomposed accent", "cafe\u0301.txt", "caf\u00e9.txt"],
		["a curly quote", "it\u2019s.txt", "it's.txt"],
	])("when the file's name has %s that the path has not", async (_name, name, written) => {
		expect(await left(name, written, ({ write }) => write(name, "\0"))).toEqual(["untracked"]);
	});

	test("when another extension made an error of the result, whatever the file's name", async () => {
		const scene = cachedSession();
		const path = scene.write("Shot 1\u202FPM.txt", numbered(9));
		const { meta, text } = await scene.read("Shot 1 PM.txt");
		appendCalls(scene.session, { id: "error", args: { path: "Shot 1 PM.txt" } });
		const details = { readcache: JSON.parse(JSON.stringify(meta)) };
		appendResult(scene.session, "error", text, { isError: true, details });
		expect(kindsOf(scene, path)).toEqual(["untracked"]);
	});

	test("when another extension put an older text in the place of a marker", async () => {
		const scene = cachedSession();
		const path = scene.write("a.txt", numbered(9));
		const older = await scene.read("a.txt");
		scene.write("a.txt", numbered(9).replaceAll("line", "row"));
		await scene.read("a.txt");
		const marker = await scene.read("a.txt");
		expect(marker.meta?.mode).toBe("unchanged");
		expect(kindsOf(scene, path)).toEqual(["full_fallback"]);
		appendCalls(scene.session, { id: "rewritten", args: { path: "a.txt" } });
		const details = { readcache: JSON.parse(JSON.stringify(marker.meta)) };
		appendResult(scene.session, "rewritten", older.text, { details });
		expect(kindsOf(scene, path)).toEqual(["untracked"]);
	});

	test("when it is not known what was read", async () => {
		const scene = cachedSession();
		const path = scene.write("a.txt", numbered(9));
		await scene.read("a.txt");
		appendResult(scene.session, "a call that is gone", "some text");
		expect(eventsOf(scene, path)).toEqual([]);
	});

	test.each([
		["a URL with a host", "file://server/a.txt"],
		["no URL", "file://%zz"],
		["an impossible path", "a\0b"],
		["a number", 7],
	])("but not when it was of what can be no file: %s", async (_name, written) => {
		const scene = cachedSession();
		const path = scene.write("a.txt", numbered(9));
		appendCalls(scene.session, { id: "odd", args: { path: written } });
		appendResult(scene.session, "odd", "no such file", { isError: true });
		await scene.read("a.txt");
		expect(kindsOf(scene, path)).toEqual(["full"]);
	});
});

describe("refreshes", () => {
	test("are events of their file", async () => {
		const scene = cachedSession();
		const path = scene.write("a.txt", numbered(9));
		await scene.read("a.txt");
		const request = { path: "a.txt", range: { start: 2, end: 3 } };
		const entry = await invalidationFor(request, scene.cwd, SETTINGS, 1);
		scene.session.appendCustomEntry(INVALIDATION_ENTRY, entry);
		scene.session.appendCustomEntry("somebody-else", entry);
		expect(kindsOf(scene, path)).toEqual(["full", "refresh"]);
		scene.session.appendCustomEntry(INVALIDATION_ENTRY, { ...entry, scopeKey: "full" });
		expect(eventsOf(scene, path)).toEqual([{ kind: "refresh", scope: "full" }]);
	});
});

describe("the model's own changes", () => {
	const BEFORE = "one\ntwo two\nthree\n";

	/** Whether the change that a call makes counts as standing in a text. */
	async function stands(tool: string, args: object, text: string): Promise<boolean | undefined> {
		const scene = cachedSession();
		const path = scene.write("a.txt", BEFORE);
		await scene.read("a.txt");
		call(scene, tool, { path: "@a.txt", ...args });
		const { edits } = knowledgeOf(eventsOf(scene, path));
		return edits[0]?.stands(text);
	}

	const edit = (oldText: string, newText: string) => ({ edits: [{ oldText, newText }] });

	test.each<[string, object, string]>([
		["a replacement", edit("three", "drei"), "one\ntwo two\ndrei\n"],
		["a shortening", edit("two two", "two"), "one\ntwo\nthree\n"],
		["a lengthening", edit("one", "one\none and a half"), "one\none and a half\ntwo two\nthree\n"],
		["a deletion", edit("three\n", ""), "one\ntwo two\n"],
		["a replacement by what was there already", edit("three", "one"), "one\ntwo two\none\n"],
		["an older form of the call", { oldText: "three", newText: "drei" }, "one\ntwo two\ndrei\n"],
		[
			"several at once",
			{ edits: [edit("one", "1").edits[0], edit("three", "3").edits[0]] },
			"1\ntwo two\n3\n",
		],
	])(
		"stand where they are in the text, and not where they were undone: %s",
		async (_n, args, after) => {
			expect(await stands("edit", args, after)).toBe(true);
			expect(await stands("edit", args, `${after}and more\n`)).toBe(true);
			expect(await stands("edit", args, BEFORE)).toBe(false);
		},
	);

	test("stand, if the whole was written, in that text only", async () => {
		expect(await stands("write", { content: "new\n" }, "new\n")).toBe(true);
		expect(await stands("write", { content: "new\n" }, "new\nmore\n")).toBe(false);
		expect(await stands("write", { content: "" }, "")).toBe(true);
	});

	test("leave nothing to rely on when they cannot be understood", async () => {
		const scene = cachedSession();
		const path = scene.write("a.txt", BEFORE);
		const faults = [
			{ tool: "edit", args: {} },
			{ tool: "edit", args: { edits: [{ oldText: "one" }] } },
			{ tool: "edit", args: { edits: "[]" } },
			{ tool: "write", args: { content: 7 } },
		];
		for (const { tool, args } of faults) {
			await scene.read("a.txt");
			call(scene, tool, { path: "a.txt", ...args });
			expect(kindsOf(scene, path)).toEqual(["untracked"]);
		}
	});

	test("are nothing when they failed, or when the tool is another", async () => {
		const scene = cachedSession();
		const path = scene.write("a.txt", BEFORE);
		await scene.read("a.txt");
		call(scene, "edit", { path: "a.txt", ...edit("one", "1") }, true);
		call(scene, "bash", { path: "a.txt", command: "rm a.txt" });
		expect(kindsOf(scene, path)).toEqual(["full"]);
	});
});

describe("the hash that a result's text must have", () => {
	const item = (details: object, toolName = "read") => ({ toolName, details }) as ToolResultItem;
	const meta = {
		v: 1,
		pathKey: "/a",
		scopeKey: "full",
		servedHash: hashBytes("file"),
		baseHash: hashBytes("base"),
		mode: "full",
		totalLines: 3,
		rangeStart: 1,
		rangeEnd: 3,
		bytes: 4,
	};
	const hashOf = (more: object, details: object = {}, toolName?: string) =>
		returnedHash(item({ readcache: { ...meta, ...more }, ...details }, toolName));

	test("is the one noted, else that of the file where all of it was shown", () => {
		expect(hashOf({ textHash: hashBytes("text") })).toBe(hashBytes("text"));
		expect(hashOf({})).toBe(hashBytes("file"));
		expect(hashOf({ mode: "full_fallback" })).toBe(hashBytes("file"));
	});

	test("is one that no text has where nothing was noted and it cannot be told", () => {
		const texts = ["file", "base", "", "unprovable"].map(hashBytes);
		for (const hash of [
			hashOf({ scopeKey: "r:1:2", rangeEnd: 2 }),
			hashOf({ mode: "diff" }),
			hashOf({}, { truncation: { truncated: true } }),
		]) {
			expect(hash).toBeDefined();
			expect(texts).not.toContain(hash);
			expect(hash).not.toMatch(/^[0-9a-f]{64}$/);
		}
	});

	test("is none for markers, for other tools, and for what we did not answer", () => {
		expect(hashOf({ mode: "unchanged" })).toBeUndefined();
		expect(hashOf({ mode: "unchanged_range" })).toBeUndefined();
		expect(hashOf({}, {}, "bash")).toBeUndefined();
		expect(returnedHash(item({}))).toBeUndefined();
		expect(hashOf({ v: 2 })).toBeUndefined();
	});
});

test("a session without reads has no history", () => {
	const { ledger } = cachedSession();
	expect(createHistory(ledger, tempDir()).paths(newSession())).toEqual([]);
});
