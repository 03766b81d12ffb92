import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { hashBytes } from "../../src/core/hash.ts";
import { parseOwnEdit } from "../../src/readcache/metadata.ts";
import { noteOwnEdit } from "../../src/readcache/system.ts";
import { isEditingTool } from "../../src/session/read-path.ts";
import { sdk } from "../support/pi-sdk.ts";
import { fc } from "../support/property.ts";
import { tempDir } from "../support/temp.ts";

const ELIGIBILITY = { maxFileBytes: 100, exclude: [".env*", "secrets/"] };

/** A folder in which files can be written; `note` looks at one of them as after an edit. */
function folder() {
	const cwd = tempDir();
	return {
		cwd,
		write(name: string, content: string | Uint8Array): string {
			const path = join(cwd, name);
			mkdirSync(join(path, ".."), { recursive: true });
			writeFileSync(path, content);
			return path;
		},
		note: (path: unknown) => noteOwnEdit({ path }, cwd, ELIGIBILITY),
	};
}

test("files are edited with `edit` and `write`, and with nothing else we know", () => {
	const tools = ["edit", "write", "read", "bash", "Edit", "multi_edit", ""];
	expect(tools.filter(isEditingTool)).toEqual(["edit", "write"]);
});

describe("the note", () => {
	const noteOf = (pathKey: string, content: string | Uint8Array) => ({
		v: 1,
		mode: "own_edit",
		pathKey,
		servedHash: hashBytes(content),
	});

	test("of pi's `edit` says what it made of the file", async () => {
		const { cwd, write } = folder();
		const path = write("a.txt", "one\ntwo\n");
		const args = { path: "a.txt", edits: [{ oldText: "two", newText: "zwei" }] };
		const tool = sdk.createEditToolDefinition(cwd);
		await tool.execute("id", args, undefined, undefined, undefined as never);
		expect(await noteOwnEdit(args, cwd, ELIGIBILITY)).toEqual(noteOf(path, "one\nzwei\n"));
	});

	test("of pi's `write` says what it wrote, in a folder that was not there", async () => {
		const { cwd } = folder();
		const args = { path: "new/a.txt", content: "new\n" };
		const tool = sdk.createWriteToolDefinition(cwd);
		await tool.execute("id", args, undefined, undefined, undefined as never);
		const path = join(cwd, "new", "a.txt");
		expect(await noteOwnEdit(args, cwd, ELIGIBILITY)).toEqual(noteOf(path, "new\n"));
	});

	test.each([
		["nothing", ""],
		["a byte order mark and line ends of Windows", "\uFEFFone\r\ntwo\r\n"],
		["no newline at the end", "one"],
	])("is of the bytes as they are: %s", async (_name, content) => {
		const { write, note } = folder();
		const path = write("a.txt", content);
		expect(await note("a.txt")).toEqual(noteOf(path, content));
	});

	test("names the real file, however the model wrote its path", async () => {
		const { cwd, write, note } = folder();
		const path = write("sub/a b.txt", "text");
		symlinkSync(path, join(cwd, "link"));
		symlinkSync("link", join(cwd, "link-to-link"));
		symlinkSync(join(cwd, "sub"), join(cwd, "folder"));
		for (const written of [
			"sub/a b.txt",
			"./sub/../sub/a b.txt",
			"@sub/a b.txt",
			"sub/a\u00a0b.txt",
			path,
			pathToFileURL(path).href,
			"link",
			"link-to-link",
			"folder/a b.txt",
		]) {
			expect([written, await note(written)]).toEqual([written, noteOf(path, "text")]);
		}
	});

	test("names a file with two names by the one that was written", async () => {
		const { cwd, write, note } = folder();
		const path = write("a.txt", "text");
		linkSync(path, join(cwd, "b.txt"));
		expect(await note("b.txt")).toEqual(noteOf(join(cwd, "b.txt"), "text"));
	});

	test("is of the path as it is written, where it could be a range of another", async () => {
		const { write, note } = folder();
		write("a.txt", "text");
		expect(await note("a.txt:1-2")).toBeUndefined();
		const path = write("a.txt:1-2", "odd");
		expect(await note("a.txt:1-2")).toEqual(noteOf(path, "odd"));
	});
});

describe("there is no note", () => {
	test("of a file on the exclude list, under any of its names", async () => {
		const { cwd, write, note } = folder();
		for (const name of [".env", "secrets/token", "public.txt"]) write(name, "text");
		symlinkSync(".env", join(cwd, "config.txt"));
		symlinkSync("secrets", join(cwd, "harmless"));
		symlinkSync("public.txt", join(cwd, ".env.link"));
		for (const path of [".env", "config.txt", "secrets/token", "harmless/token", ".env.link"]) {
			expect([path, await note(path)]).toEqual([path, undefined]);
		}
		expect(await note("public.txt")).toBeDefined();
	});

	test.each<[string, string | Uint8Array]>([
		["binary", "text\0text"],
		["not UTF-8", new Uint8Array([0x61, 0xff])],
		["an image to pi", "GIF89a"],
		["over the bound", "x".repeat(101)],
	])("of a file that is %s", async (_name, content) => {
		const { write, note } = folder();
		write("a.txt", content);
		expect(await note("a.txt")).toBeUndefined();
	});

	test("of what is no file, or not there, or no longer", async () => {
		const { cwd, write, note } = folder();
		execFileSync("mkfifo", [join(cwd, "pipe")]);
		symlinkSync("nowhere", join(cwd, "dangling"));
		symlinkSync("loop", join(cwd, "loop"));
		rmSync(write("gone.txt", "text"));
		for (const path of [".", "pipe", "dangling", "loop", "gone.txt", "never/was.txt", "a\0b"]) {
			expect([path, await note(path)]).toEqual([path, undefined]);
		}
	});

	test("of a call that names no file", async () => {
		const { cwd, note } = folder();
		for (const path of [undefined, null, 7, ["a.txt"], "file://server/a.txt", "file://%zz"]) {
			expect([path, await note(path)]).toEqual([path, undefined]);
		}
		for (const input of [undefined, null, "a.txt", 7, [], {}]) {
			expect(await noteOwnEdit(input, cwd, ELIGIBILITY)).toBeUndefined();
		}
	});
});

describe("a stored note", () => {
	const NOTE = { v: 1, mode: "own_edit", pathKey: "/a", servedHash: hashBytes("text") };

	test("is read as it was written, through JSON and beside other details", async () => {
		const { write, note } = folder();
		write("a.txt", "text");
		const readcache = await note("a.txt");
		expect(readcache).toBeDefined();
		const details = JSON.parse(JSON.stringify({ diff: "+text", readcache }));
		expect(parseOwnEdit(details)).toEqual(readcache);
	});

	test.each<[string, unknown]>([
		["of no version", { ...NOTE, v: undefined }],
		["of a later version", { ...NOTE, v: 2 }],
		["of a version in words", { ...NOTE, v: "1" }],
		["of another mode", { ...NOTE, mode: "full" }],
		["without a mode", { ...NOTE, mode: undefined }],
		["without a path", { ...NOTE, pathKey: undefined }],
		["with an empty path", { ...NOTE, pathKey: "" }],
		["with a path that is none", { ...NOTE, pathKey: ["/a"] }],
		["without a hash", { ...NOTE, servedHash: undefined }],
		["with a short hash", { ...NOTE, servedHash: NOTE.servedHash.slice(1) }],
		["with a hash in capitals", { ...NOTE, servedHash: "A".repeat(64) }],
		["in a list", [NOTE]],
		["as text", JSON.stringify(NOTE)],
		["that is nothing", null],
	])("%s counts as none", (_name, readcache) => {
		expect(parseOwnEdit({ readcache })).toBeUndefined();
	});

	test("is looked for in its place only", () => {
		expect(parseOwnEdit({ readcache: NOTE })).toEqual(NOTE);
		for (const details of [undefined, null, NOTE, [NOTE], "text", { own_edit: NOTE }]) {
			expect(parseOwnEdit(details)).toBeUndefined();
		}
	});

	test("is whole or none, whatever a session file holds", () => {
		const part = fc.oneof(fc.anything(), fc.constantFrom(...Object.values(NOTE)));
		const anyNote = fc.record({ v: part, mode: part, pathKey: part, servedHash: part });
		fc.assert(
			fc.property(fc.oneof(anyNote, fc.anything()), (readcache) => {
				const note = parseOwnEdit({ readcache });
				if (!note) return;
				expect(note).toMatchObject({ v: 1, mode: "own_edit" });
				expect(note.servedHash).toMatch(/^[0-9a-f]{64}$/);
				expect(note.pathKey.length).toBeGreaterThan(0);
			}),
		);
	});
});
