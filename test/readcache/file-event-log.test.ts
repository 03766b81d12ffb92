import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { ToolResultMessage } from "@earendil-works/pi-ai";
import { describe, expect, test } from "vitest";
import { INVALIDATION_ENTRY } from "../../src/core/entry-types.ts";
import { hashBytes } from "../../src/core/hash.ts";
import { FileEventLog, returnedHash } from "../../src/readcache/file-event-log.ts";
import { type FileEvent, knowledgeOf } from "../../src/readcache/knowledge.ts";
import { invalidationFor } from "../../src/readcache/system.ts";
import type { ToolResultItem } from "../../src/session/index.ts";
import { appendCalls, appendResult, newSession } from "../session/sessions.ts";
import { tempDir } from "../support/temp.ts";
import { cachedSession, numbered, SETTINGS } from "./cached-session.ts";

type Scene = ReturnType<typeof cachedSession>;

function eventsOf({ cache, session }: Scene, pathKey: string): FileEvent[] {
	return cache.events.eventsOf(session, pathKey);
}

function kindsOf(scene: Scene, pathKey: string): string[] {
	return eventsOf(scene, pathKey).map((event) =>
		event.kind === "view" ? event.meta.mode : event.kind,
	);
}

/** Puts a call of another tool than `read` and its result into the session; successful, and without a note. */
function call(
	{ session }: Scene,
	tool: string,
	args: Record<string, never> | object,
	more: Partial<ToolResultMessage> = {},
) {
	const id = `${tool}-${session.getEntries().length}`;
	appendCalls(session, { id, tool, args: args as Record<string, never> });
	appendResult(session, id, "done", { toolName: tool, ...more });
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

	test("of a path with more parts than any file has leave the others known", {
		tags: "slow",
	}, async () => {
		const scene = cachedSession();
		const path = scene.write("a.txt", numbered(9));
		await scene.read("a.txt");
		call(scene, "read", { path: "a/".repeat(10_000) }, { isError: true });
		expect(kindsOf(scene, path)).toEqual(["full"]);
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
		expect(scene.cache.events.paths(scene.session)).toEqual([one, other]);
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

	test("that a request holds in another order say so, and are read in full once more", async () => {
		const scene = cachedSession();
		const path = scene.write("a.txt", numbered(9));
		await scene.read("a.txt", { offset: 1, limit: 5 });
		await scene.read("a.txt", { offset: 6 });
		const request = scene.session.buildSessionProjection().messages;
		const [call1, result1, call2, result2] = request;
		scene.ledger.observe(scene.session, [call2, result2, call1, result1]);
		const reordered = { kind: "view", seen: { visible: false, why: "reordered" } };
		expect(eventsOf(scene, path)).toMatchObject([reordered, reordered]);
		scene.ledger.observe(scene.session, request);
		expect(eventsOf(scene, path)).toMatchObject([
			{ seen: { visible: true } },
			{ seen: { visible: true } },
		]);
		scene.ledger.observe(scene.session, [call2, result2, call1, result1]);
		expect((await scene.read("a.txt")).meta?.mode).toBe("full");
		expect(scene.cache.tally.plain).toEqual(
			new Map([
				["not-seen-yet", 2],
				["reordered", 1],
			]),
		);
	});

	test("are the same after a jump in the tree as for somebody who comes new", async () => {
		const scene = cachedSession();
		const path = scene.write("a.txt", numbered(9));
		const { entryId } = await scene.read("a.txt", { offset: 1, limit: 2 });
		await scene.read("a.txt");
		expect(eventsOf(scene, path)).toHaveLength(1);
		scene.session.branch(entryId);
		await scene.read("a.txt", { offset: 5, limit: 2 });
		const fresh = new FileEventLog(scene.ledger, scene.cwd).eventsOf(scene.session, path);
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
	/** Long enough that a diff is worth it. */
	const REST = numbered(50);
	const BEFORE = `one\ntwo two\nthree\n${REST}`;

	async function sceneWithView() {
		const scene = cachedSession();
		const path = scene.write("a.txt", BEFORE);
		await scene.read("a.txt");
		return { scene, path };
	}

	type Change = (scene: Scene) => Promise<string>;
	const edit =
		(oldText: string, newText: string): Change =>
		(scene) =>
			scene.edit("@a.txt", oldText, newText);
	const rewrite =
		(content: string): Change =>
		(scene) =>
			scene.rewrite("@a.txt", content);

	test.each<[string, Change, string]>([
		["a replacement", edit("three", "drei"), `one\ntwo two\ndrei\n${REST}`],
		["a shortening", edit("two two", "two"), `one\ntwo\nthree\n${REST}`],
		["a lengthening", edit("one\n", "one\n1.5\n"), `one\n1.5\ntwo two\nthree\n${REST}`],
		["a deletion", edit("three\n", ""), `one\ntwo two\n${REST}`],
		["a replacement by what was there already", edit("three", "one"), `one\ntwo two\none\n${REST}`],
		["a file written anew", rewrite(`new\n${REST}`), `new\n${REST}`],
	])(
		"are noted by what the file became, and stand as long as it is that: %s",
		async (_n, change, after) => {
			const { scene, path } = await sceneWithView();
			await change(scene);
			expect(eventsOf(scene, path)).toMatchObject([
				{ kind: "view" },
				{ kind: "edit", after: hashBytes(after) },
			]);
			const leaf = scene.session.getLeafId() as string;
			expect((await scene.read("a.txt")).meta?.mode).toBe("diff");
			for (const text of [BEFORE, `${after}and more\n`]) {
				scene.session.branch(leaf);
				scene.write("a.txt", text);
				expect((await scene.read("a.txt")).meta?.mode).toBe("full_fallback");
				expect(scene.cache.tally.plain.get("own-edit-overtaken")).toBeGreaterThan(0);
			}
		},
	);

	test("that left the file as it was stand while it is that", async () => {
		const { scene, path } = await sceneWithView();
		await scene.rewrite("a.txt", BEFORE);
		expect(eventsOf(scene, path)).toMatchObject([{}, { kind: "edit", after: hashBytes(BEFORE) }]);
		expect((await scene.read("a.txt")).meta?.mode).toBe("unchanged");
	});

	test("of an emptied file are noted like any other", async () => {
		const { scene, path } = await sceneWithView();
		await scene.rewrite("a.txt", "");
		expect(eventsOf(scene, path)).toMatchObject([{}, { kind: "edit", after: hashBytes("") }]);
	});

	test("leave markers for the lines outside of them", async () => {
		const { scene } = await sceneWithView();
		await scene.edit("a.txt", "three", "drei");
		expect((await scene.read("a.txt", { offset: 10, limit: 5 })).text).toBe(
			"[readcache: unchanged in lines 10-14; changes exist outside this range]",
		);
		expect((await scene.read("a.txt", { offset: 2, limit: 5 })).meta?.mode).toBe("full_fallback");
	});

	test("in a row are all events, and the last is what counts", async () => {
		const { scene, path } = await sceneWithView();
		await scene.edit("a.txt", "three", "drei");
		const first = BEFORE.replace("three", "drei");
		await scene.edit("a.txt", "one", "eins");
		const second = first.replace("one", "eins");
		expect(eventsOf(scene, path).slice(1)).toEqual([
			{ kind: "edit", before: hashBytes(BEFORE), after: hashBytes(first) },
			{ kind: "edit", before: hashBytes(first), after: hashBytes(second) },
		]);
		expect(knowledgeOf(eventsOf(scene, path)).segments).toMatchObject([
			{ version: hashBytes(BEFORE), edited: hashBytes(second) },
		]);
		scene.write("a.txt", first);
		expect((await scene.read("a.txt", { offset: 10, limit: 5 })).meta?.mode).toBe("full_fallback");
	});

	test("of which somebody undid the first before the second leave nothing to rely on", async () => {
		const { scene } = await sceneWithView();
		await scene.edit("a.txt", "three", "drei");
		scene.write("a.txt", BEFORE);
		await scene.edit("a.txt", "one", "eins");
		expect((await scene.read("a.txt", { offset: 3, limit: 5 })).text).toContain("three\n");
		expect((await scene.read("a.txt")).meta?.mode).toBe("full_fallback");
	});

	test("belong to the file behind a link, even when the link leads elsewhere later", async () => {
		const { scene, path } = await sceneWithView();
		const other = scene.write("other.txt", BEFORE);
		const link = join(scene.cwd, "link");
		symlinkSync(path, link);
		await scene.read("other.txt");
		await scene.edit("link", "three", "drei");
		rmSync(link);
		symlinkSync(other, link);
		expect(kindsOf(scene, path)).toEqual(["full", "edit"]);
		expect(kindsOf(scene, other)).toEqual(["full"]);
	});

	test("are forgotten when the whole file is read again", async () => {
		const { scene, path } = await sceneWithView();
		for (const tool of ["edit", "write"]) call(scene, tool, { path: "a.txt" });
		expect(kindsOf(scene, path)).toEqual(["full", "edit", "edit"]);
		await scene.read("a.txt");
		expect(kindsOf(scene, path)).toEqual(["full_fallback"]);
	});

	test("end with the branch they were made on", async () => {
		const { scene, path } = await sceneWithView();
		const leaf = scene.session.getLeafId() as string;
		await scene.edit("a.txt", "three", "drei");
		scene.session.branch(leaf);
		expect(kindsOf(scene, path)).toEqual(["full"]);
	});

	test.each<[string, Partial<ToolResultMessage>]>([
		["is missing", {}],
		["is missing among other details", { details: { diff: "-three\n+drei" } }],
		["is of another version", { details: { readcache: note({ v: 2 }) } }],
		["is of a read", { details: { readcache: note({ mode: "full" }) } }],
		["names no file", { details: { readcache: note({ pathKey: "" }) } }],
		["has half a hash", { details: { readcache: note({ baseHash: "abc" }) } }],
		["has no hash", { details: { readcache: note({ servedHash: "abc" }) } }],
	])("whose note %s could have made anything of the file", async (_name, more) => {
		const args = { path: "@a.txt", edits: [{ oldText: "three", newText: "drei" }] };
		for (const tool of ["edit", "write"]) {
			const { scene, path } = await sceneWithView();
			call(scene, tool, args, more);
			expect(eventsOf(scene, path)).toMatchObject([
				{ kind: "view" },
				{ kind: "edit", after: undefined },
			]);
			const range = { offset: 10, limit: 5 };
			expect((await scene.read("a.txt", range)).meta?.mode).toBe("full_fallback");
			expect((await scene.read("a.txt", range)).meta?.mode).toBe("unchanged_range");
			expect((await scene.read("a.txt")).meta?.mode).toBe("full_fallback");
			expect((await scene.read("a.txt")).meta?.mode).toBe("unchanged");
		}
	});

	test("without a note could have been of every file that the path may name", async () => {
		const scene = cachedSession();
		const path = scene.write("Shot 1\u202FPM.txt", BEFORE);
		await scene.read("Shot 1 PM.txt");
		call(scene, "edit", { path: "Shot 1 PM.txt" });
		expect(kindsOf(scene, path)).toEqual(["full", "edit"]);
	});

	test("made through a name on the exclude list have no note, and count for the file behind it", async () => {
		const { scene, path } = await sceneWithView();
		symlinkSync(path, join(scene.cwd, ".env.link"));
		await scene.edit(".env.link", "three", "drei");
		expect(eventsOf(scene, path)).toMatchObject([{}, { kind: "edit", after: undefined }]);
	});

	test("that made the file one the cache does not speak about have no note", async () => {
		const { scene, path } = await sceneWithView();
		await scene.rewrite("a.txt", "\0");
		expect(eventsOf(scene, path)).toMatchObject([{}, { kind: "edit", after: undefined }]);
		scene.write("a.txt", BEFORE);
		expect((await scene.read("a.txt")).meta?.mode).toBe("full_fallback");
	});

	test("of which nobody knows what was changed could have been of any file", async () => {
		for (const path of [undefined, 7]) {
			const scene = cachedSession();
			const paths = ["a.txt", "b.txt"].map((name) => scene.write(name, BEFORE));
			for (const name of paths) await scene.read(name);
			call(scene, "edit", { path });
			appendResult(scene.session, "a call that is gone", "done", { toolName: "write" });
			for (const name of paths) expect(kindsOf(scene, name)).toEqual(["full", "edit", "edit"]);
			expect(scene.cache.events.paths(scene.session)).toEqual(paths);
		}
	});

	test("of which the call is gone are known by their note", async () => {
		const scene = cachedSession();
		const [one = "", other = ""] = ["a.txt", "b.txt"].map((name) => scene.write(name, BEFORE));
		for (const name of [one, other]) await scene.read(name);
		const details = { readcache: note({ pathKey: one }) };
		appendResult(scene.session, "a call that is gone", "done", { toolName: "edit", details });
		expect(eventsOf(scene, one).at(-1)).toMatchObject({ kind: "edit", after: hashBytes("after") });
		expect(kindsOf(scene, other)).toEqual(["full"]);
	});

	test("are nothing when they failed, or when the tool is another", async () => {
		const { scene, path } = await sceneWithView();
		const details = { readcache: note({ pathKey: path }) };
		call(scene, "edit", { path: "a.txt" }, { isError: true });
		call(scene, "edit", { path: "a.txt" }, { isError: true, details });
		call(scene, "write", {}, { isError: true });
		call(scene, "bash", { path: "a.txt", command: "rm a.txt" }, { details });
		expect(kindsOf(scene, path)).toEqual(["full"]);
	});

	test("of a path that can be no file are nothing", async () => {
		const { scene, path } = await sceneWithView();
		for (const odd of ["file://server/a.txt", "file://%zz", "a\0b"]) {
			call(scene, "edit", { path: odd });
		}
		expect(kindsOf(scene, path)).toEqual(["full"]);
	});

	test("whose note stands on a read make it one that nobody follows", async () => {
		const { scene, path } = await sceneWithView();
		const details = { readcache: note({ pathKey: path }) };
		call(scene, "read", { path: "a.txt" }, { details });
		expect(kindsOf(scene, path)).toEqual(["untracked"]);
	});

	function note(more: Record<string, string | number>) {
		const servedHash: string = hashBytes("after");
		return { v: 1, mode: "own_edit", pathKey: "/a", servedHash, ...more };
	}
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
	expect(new FileEventLog(ledger, tempDir()).paths(newSession())).toEqual([]);
});
