import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { INVALIDATION_ENTRY } from "../../src/core/entry-types.ts";
import {
	invalidationFor,
	parseRefreshCall,
	parseRefreshCommand,
	type RefreshTarget,
} from "../../src/readcache/system.ts";
import { cachedSession, numbered, SETTINGS } from "./cached-session.ts";

describe("the words after the command", () => {
	test.each<[string, RefreshTarget]>([
		["a.ts", { path: "a.ts" }],
		["  a.ts  ", { path: "a.ts" }],
		["a.ts 10-20", { path: "a.ts", range: { start: 10, end: 20 } }],
		["a.ts 10", { path: "a.ts", range: { start: 10, end: 10 } }],
		["a.ts:10-20", { path: "a.ts:10-20" }],
		["my file.ts", { path: "my file.ts" }],
		["my file.ts 3-4", { path: "my file.ts", range: { start: 3, end: 4 } }],
		['"my file.ts" 3-4', { path: "my file.ts", range: { start: 3, end: 4 } }],
		["'report 2024'", { path: "report 2024" }],
		['"report 2024" 7', { path: "report 2024", range: { start: 7, end: 7 } }],
		["it's.ts", { path: "it's.ts" }],
		["10-20", { path: "10-20" }],
	])("%j", (words, request) => {
		expect(parseRefreshCommand(words)).toEqual(request);
	});

	test.each(["", "   ", "\n"])("must name a file: %j", (words) => {
		expect(() => parseRefreshCommand(words)).toThrow(
			"usage: /readcache-refresh <path> [start-end]",
		);
	});

	test.each(["a.ts 20-10", "a.ts 0-5", "a.ts 0"])("must name lines that exist: %s", (words) => {
		expect(() => parseRefreshCommand(words)).toThrow(`Invalid line range in "${words}"`);
	});
});

describe("a call of the tool", () => {
	test("names lines as read does", () => {
		expect(parseRefreshCall({ path: "a" })).toEqual({ path: "a" });
		expect(parseRefreshCall({ path: "a", offset: 3 })).toEqual({
			path: "a",
			range: { start: 3, end: undefined },
		});
		expect(parseRefreshCall({ path: "a", offset: 3, limit: 2 })).toEqual({
			path: "a",
			range: { start: 3, end: 4 },
		});
		expect(parseRefreshCall({ path: "a", limit: 2 })).toEqual({
			path: "a",
			range: { start: 1, end: 2 },
		});
	});

	test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
		"refuses %d as a line",
		(number) => {
			expect(() => parseRefreshCall({ path: "a", offset: number })).toThrow(
				`offset must be a whole number ≥ 1, got ${number}`,
			);
			expect(() => parseRefreshCall({ path: "a", limit: number })).toThrow("limit must be");
		},
	);
});

describe("the entry it leaves", () => {
	async function entryFor(request: RefreshTarget, { cwd }: { cwd: string }) {
		return invalidationFor(request, cwd, SETTINGS, 1234);
	}

	test("names the file behind its links, and the lines it has", async () => {
		const scene = cachedSession();
		const pathKey = scene.write("a.txt", numbered(9));
		symlinkSync(pathKey, join(scene.cwd, "link"));
		const entry = { v: 1, kind: "invalidate", pathKey, at: 1234 };
		const scopeOf = async (request: RefreshTarget) => entryFor(request, scene);
		expect(await scopeOf({ path: "@link" })).toEqual({ ...entry, scopeKey: "full" });
		const lines = (start: number, end?: number) => ({ path: "a.txt", range: { start, end } });
		expect(await scopeOf(lines(2, 5))).toEqual({ ...entry, scopeKey: "r:2:5" });
		expect(await scopeOf(lines(2, 500))).toEqual({ ...entry, scopeKey: "r:2:500" });
		expect(await scopeOf(lines(1, 500))).toEqual({ ...entry, scopeKey: "full" });
		expect(await scopeOf(lines(2))).toEqual({ ...entry, scopeKey: "r:2:10" });
		expect(await scopeOf(lines(1, 10))).toEqual({ ...entry, scopeKey: "full" });
		expect(await scopeOf({ path: "a.txt:2-5" })).toEqual({ ...entry, scopeKey: "r:2:5" });
	});

	test("takes a name with a range behind it for a name where there is such a file", async () => {
		const scene = cachedSession();
		scene.write("a.txt", numbered(9));
		const pathKey = scene.write("a.txt:2-5", "text");
		expect(await entryFor({ path: "a.txt:2-5" }, scene)).toMatchObject({
			pathKey,
			scopeKey: "full",
		});
	});

	test("is refused with a reason for what has no lines to refresh", async () => {
		const scene = cachedSession();
		scene.write("a.txt", numbered(9));
		scene.write(".env", "SECRET=1");
		mkdirSync(join(scene.cwd, "folder"));
		const refused = (request: RefreshTarget) => expect(entryFor(request, scene)).rejects;
		await refused({ path: "gone.txt" }).toThrow("No such file: gone.txt");
		await refused({ path: "gone.txt:1-2" }).toThrow("No such file: gone.txt");
		await refused({ path: ".env" }).toThrow(".env is not cached (excluded)");
		await refused({ path: "folder" }).toThrow("folder is not cached (not-a-file)");
		await refused({ path: "a.txt:5-2" }).toThrow('Invalid line range in "a.txt:5-2"');
		await refused({ path: "a.txt", range: { start: 11 } }).toThrow(
			"a.txt has only 10 lines, line 11 is beyond its end",
		);
	});

	test("holds for text that is not there just now", async () => {
		const scene = cachedSession();
		const refresh = async (request: RefreshTarget) =>
			scene.session.appendCustomEntry(INVALIDATION_ENTRY, await entryFor(request, scene));
		scene.write("a.txt", numbered(60));
		await scene.read("a.txt");
		scene.write("a.txt", Buffer.from([0, 1]));
		await refresh({ path: "a.txt" });
		scene.write("a.txt", numbered(60));
		expect((await scene.read("a.txt")).meta?.mode).toBe("full");
		expect((await scene.read("a.txt")).meta?.mode).toBe("unchanged");

		scene.write("a.txt", numbered(9));
		await refresh({ path: "a.txt:5-50" });
		scene.write("a.txt", numbered(60));
		const lines = { offset: 20, limit: 10 };
		expect((await scene.read("a.txt", lines)).meta?.mode).toBe("full");
		expect((await scene.read("a.txt", lines)).meta?.mode).toBe("unchanged_range");
		expect((await scene.read("a.txt", { offset: 52, limit: 2 })).meta?.mode).toBe(
			"unchanged_range",
		);
	});

	test("names lines beyond the end, which the read of all that is there takes back", async () => {
		const scene = cachedSession();
		scene.write("a.txt", numbered(9));
		await scene.read("a.txt");
		const entry = await entryFor({ path: "a.txt:2-500" }, scene);
		scene.session.appendCustomEntry(INVALIDATION_ENTRY, entry);
		const rest = { offset: 2 };
		expect((await scene.read("a.txt", rest)).meta?.mode).toBe("full");
		expect((await scene.read("a.txt", rest)).meta?.mode).toBe("unchanged_range");
		expect((await scene.read("a.txt")).meta?.mode).toBe("unchanged");
	});

	test("makes the next read of these lines pi's own, and no other", async () => {
		const scene = cachedSession();
		scene.write("a.txt", numbered(9));
		await scene.read("a.txt");
		const entry = await entryFor({ path: "a.txt:2-5" }, scene);
		scene.session.appendCustomEntry(INVALIDATION_ENTRY, entry);
		const lines = { offset: 2, limit: 4 };
		expect((await scene.read("a.txt", { offset: 6, limit: 2 })).meta?.mode).toBe("unchanged_range");
		expect((await scene.read("a.txt", { offset: 3, limit: 1 })).meta?.mode).toBe("full");
		expect((await scene.read("a.txt", lines)).meta?.mode).toBe("full");
		expect((await scene.read("a.txt", lines)).meta?.mode).toBe("unchanged_range");
		expect((await scene.read("a.txt")).meta?.mode).toBe("unchanged");
	});
});
