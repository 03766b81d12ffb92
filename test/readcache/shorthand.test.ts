import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cachedSession, numbered } from "./cached-session.ts";

const LINES_2_TO_3 = /^line 2\nline 3\n\n\[\d+ more lines in file\. Use offset=4 to continue\.\]$/;

describe("a path with a range behind it", () => {
	test("reads these lines of the file, and is known by them", async () => {
		const { write, read } = cachedSession();
		const pathKey = write("a.txt", numbered(9));
		const { text, meta } = await read("a.txt:2-3");
		expect(text).toMatch(LINES_2_TO_3);
		expect(meta).toMatchObject({ pathKey, scopeKey: "r:2:3", rangeStart: 2, rangeEnd: 3 });
		expect((await read("a.txt", { offset: 2, limit: 2 })).text).toBe(
			"[readcache: unchanged in lines 2-3 of 10]",
		);
	});

	test("reads one line where one is named", async () => {
		const { write, read } = cachedSession();
		write("a.txt", numbered(9));
		expect((await read("@a.txt:9")).meta).toMatchObject({ scopeKey: "r:9:9" });
	});

	test("reads to the end where the range goes on behind it", async () => {
		const { write, read } = cachedSession();
		write("a.txt", numbered(9));
		expect((await read("a.txt:8-99")).meta).toMatchObject({ scopeKey: "r:8:10" });
		expect((await read("a.txt:1-99")).meta).toMatchObject({ scopeKey: "full" });
	});

	test("is a file's name where there is such a file", async () => {
		const { write, read } = cachedSession();
		write("a.txt", numbered(9));
		const pathKey = write("a.txt:2-3", "a file of its own");
		const { text, meta } = await read("a.txt:2-3");
		expect(text).toBe("a file of its own");
		expect(meta).toMatchObject({ pathKey, scopeKey: "full" });
	});

	test.each([{ offset: 1 }, { limit: 1 }])("is taken as it is beside %j", async (range) => {
		const { write, read } = cachedSession();
		write("a.txt", numbered(9));
		expect((await read("a.txt:2-3", range)).text).toMatch(/ENOENT.*a\.txt:2-3/);
	});

	test("is pi's to report where no file is before the range", async () => {
		const { read } = cachedSession();
		expect((await read("b.txt:2-3")).text).toMatch(/ENOENT.*b\.txt:2-3/);
	});

	test.each(["a.txt:foo", "a.txt:2-", "a.txt:-3"])("is pi's to report: %s", async (path) => {
		const { write, read } = cachedSession();
		write("a.txt", numbered(9));
		expect((await read(path)).text).toMatch(/ENOENT/);
	});

	test.each(["a.txt:5-2", "a.txt:0", "a.txt:0-3"])(
		"is refused where the range names no lines: %s",
		async (path) => {
			const { write, read } = cachedSession();
			write("a.txt", numbered(9));
			const { text } = await read(path);
			expect(text).toContain(`Invalid line range in "${path}"`);
			expect(text).toContain("the end must not be before the start");
		},
	);

	test("that begins behind the end gives pi's own error", async () => {
		const { write, read } = cachedSession();
		write("a.txt", numbered(9));
		expect((await read("a.txt:11-12")).text).toBe(
			"Offset 11 is beyond end of file (10 lines total)",
		);
	});

	test("of a folder is an error, as in pi", async () => {
		const { cwd, read } = cachedSession();
		mkdirSync(join(cwd, "folder"));
		expect((await read("folder:1-2")).text).toMatch(/EISDIR/);
	});
});
