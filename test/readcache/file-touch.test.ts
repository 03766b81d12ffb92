import { describe, expect, test } from "vitest";
import type { ToolResultItem } from "../../src/context/index.ts";
import { hashBytes } from "../../src/core/hash.ts";
import { fileTouchOf, touchesExcluded } from "../../src/readcache/file-touch.ts";
import type { Metadata } from "../../src/readcache/metadata.ts";

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
		touchesExcluded({ input, details }, exclude);
	expect(touches({ path: "conf/.env.local" })).toBe(true);
	expect(touches({ command: "cat .env | sort" })).toBe(true);
	expect(touches({ command: "openssl x509 -in=keys/a.pem" })).toBe(true);
	expect(touches({ files: ["a.ts", "b.pem"] })).toBe(true);
	expect(touches({ path: "link" }, noted({ pathKey: "/work/.env" }))).toBe(true);
	expect(touches({ path: "environment.ts", command: "ls" })).toBe(false);
	expect(touches(undefined)).toBe(false);
});
