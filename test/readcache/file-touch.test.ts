import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { hashBytes } from "../../src/core/hash.ts";
import { fileTouchOf, touchesExcluded } from "../../src/readcache/file-touch.ts";
import type { Metadata } from "../../src/readcache/metadata.ts";
import type { ToolResultItem } from "../../src/session/index.ts";
import { tempDir } from "../support/temp.ts";

const hash = hashBytes("text");

function touch(toolName: string, input: unknown, details?: unknown) {
	return fileTouchOf({ toolName, input, details } as ToolResultItem, "/work");
}

function noted(more: Partial<Metadata>) {
	const readcache: Metadata = {
		v: 1,
		pathKey: "/real/a.ts",
		scopeKey: "full",
		servedHash: hash,
		mode: "full",
		totalLines: 10,
		rangeStart: 1,
		rangeEnd: 10,
		bytes: 4,
		textHash: hash,
		...more,
	};
	return { readcache };
}

describe("a read", () => {
	test("shows the lines it noted, of the file behind all links", () => {
		const file = "/real/a.ts";
		expect(touch("read", { path: "a.ts" }, noted({}))).toEqual({ file, kind: "shown" });
		const part = noted({ scopeKey: "r:3:5", rangeStart: 3, rangeEnd: 5 });
		expect(touch("read", {}, part)).toEqual({ file, kind: "shown", lines: { start: 3, end: 5 } });
		const cut = noted({ shown: [1, 7] });
		expect(touch("read", {}, cut)).toEqual({ file, kind: "shown", lines: { start: 1, end: 7 } });
	});

	test("refers to earlier text when it was answered with a marker or a diff", () => {
		for (const mode of ["unchanged", "diff"] as const) {
			expect(touch("read", {}, noted({ mode, baseHash: hash }))).toEqual({
				file: "/real/a.ts",
				kind: "refers",
			});
		}
	});

	test("without notes shows the lines it asked for, unless pi cut it off", () => {
		const file = "/work/a.ts";
		const lines = (start: number, end: number) => ({ file, kind: "shown", lines: { start, end } });
		expect(touch("read", { path: "a.ts" })).toEqual({ file, kind: "shown" });
		expect(touch("read", { uri: "a.ts" })).toEqual({ file, kind: "shown" });
		expect(touch("read", { path: "a.ts", offset: 5, limit: 3 })).toEqual(lines(5, 7));
		expect(touch("read", { path: "a.ts", offset: 5 })).toEqual(lines(5, Number.POSITIVE_INFINITY));
		const truncation = { truncated: true, outputLines: 2000 };
		expect(touch("read", { path: "a.ts" }, { truncation })).toEqual(lines(1, 2000));
		const untracked = { readcache: { v: 1, mode: "untracked", pathKey: "/real/b" } };
		expect(touch("read", { path: "a.ts" }, untracked)).toEqual({ file: "/real/b", kind: "shown" });
	});
});

test("an edit or a write changes the file", () => {
	expect(touch("edit", { path: "a.ts" })).toEqual({ file: "/work/a.ts", kind: "changed" });
	const readcache = { v: 1, mode: "own_edit", pathKey: "/real/a.ts", servedHash: hash };
	expect(touch("write", { path: "a.ts" }, { readcache })).toEqual({
		file: "/real/a.ts",
		kind: "changed",
	});
});

test("other tools, and calls that name no file, touch none", () => {
	expect(touch("bash", { command: "cat a.ts" })).toBeUndefined();
	expect(touch("read", undefined)).toBeUndefined();
	expect(touch("read", { path: 7 })).toBeUndefined();
	expect(touch("read", { path: "file://elsewhere/%zz" })).toBeUndefined();
	expect(touch("edit", {})).toBeUndefined();
});

test("a call that names an excluded file anywhere in its words may hold its text", () => {
	const exclude = [".env*", "*.pem"];
	const touches = (input: unknown, details?: unknown) =>
		touchesExcluded({ input, details }, exclude, "/work");
	expect(touches({ path: "conf/.env.local" })).toBe(true);
	expect(touches({ command: "cat .env | sort" })).toBe(true);
	expect(touches({ command: "openssl x509 -in=keys/a.pem" })).toBe(true);
	expect(touches({ command: "cat {.env,a.txt} x[.pem]" })).toBe(true);
	expect(touches({ command: "cat keys/{b.pem,a.txt}" })).toBe(true);
	expect(touches({ path: "pages/[id].pem" })).toBe(true);
	expect(touches({ files: ["a.ts", "b.pem"] })).toBe(true);
	expect(touches({ files: [{ path: "a.ts" }, { from: { path: ".env" } }] })).toBe(true);
	expect(touches({ path: "link" }, noted({ pathKey: "/work/.env" }))).toBe(true);
	expect(touches({ path: "environment.ts", command: "ls" })).toBe(false);
	expect(touches(undefined)).toBe(false);
	expect(touches(nested({ path: "a.ts" }, 100_000))).toBe(false);
});

describe("a call that names an excluded file by a link", () => {
	const exclude = [".env*", "secrets/"];

	function project() {
		const cwd = tempDir();
		mkdirSync(join(cwd, "secrets"));
		writeFileSync(join(cwd, ".env"), "");
		writeFileSync(join(cwd, "secrets", "a"), "");
		writeFileSync(join(cwd, "plain.txt"), "");
		symlinkSync(".env", join(cwd, "settings.txt"));
		symlinkSync(".env", join(cwd, "my settings.txt"));
		symlinkSync("secrets", join(cwd, "shared"));
		symlinkSync("plain.txt", join(cwd, "other.txt"));
		return cwd;
	}

	test("may hold its text, however it is written", () => {
		const cwd = project();
		const touches = (input: unknown) =>
			touchesExcluded({ input, details: undefined }, exclude, cwd);
		const { href } = pathToFileURL(join(cwd, "my settings.txt"));
		const named = ["settings.txt", "@settings.txt", "my settings.txt", "my settings.txt:3-5"];
		const addressed = ["file:settings.txt", href, `page:;8000;;${href}`, "page:;;;settings.txt"];
		for (const path of [...named, ...addressed, "shared/a", join(cwd, "settings.txt")]) {
			expect([path, touches({ path })]).toEqual([path, true]);
			expect([path, touches({ uri: path })]).toEqual([path, true]);
		}
		expect(touches({ command: "sort settings.txt | head" })).toBe(true);
		expect(touches({ command: "cat {shared/a,plain.txt}" })).toBe(true);
		expect(touches({ files: [{ path: "settings.txt" }] })).toBe(true);
		for (const path of ["other.txt", "plain.txt", "missing.txt", "file://elsewhere/%zz"]) {
			expect([path, touches({ path })]).toEqual([path, false]);
		}
	});
});

function nested(value: unknown, levels: number): unknown {
	let whole = value;
	for (let level = 0; level < levels; level++) whole = [whole];
	return whole;
}
