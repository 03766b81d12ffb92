import { describe, expect, test } from "vitest";
import { formatStatus, type Status, statusOf } from "../../src/readcache/status.ts";
import { appendCalls, appendResult } from "../session/sessions.ts";
import { fc, runs } from "../support/property.ts";
import { cachedSession, numbered, type Range, textOf } from "./cached-session.ts";

type Scene = ReturnType<typeof cachedSession>;

const NOTHING = { full: 0, unchanged: 0, unchanged_range: 0, diff: 0, full_fallback: 0 };

function status({ cache, session, ledger }: Scene, mode = "on"): Status {
	const store = { objects: 2, bytes: 2048 };
	return statusOf(cache, session, ledger.log(session), { mode, store });
}

describe("what was saved", () => {
	/** Reads, and returns how many bytes fewer the model got than pi would have given it. */
	async function readAndWeigh(scene: Scene, path: string, range: Range = {}): Promise<number> {
		const pis = await scene.piRead({ toolCallId: "pi", path, ...range });
		const { text } = await scene.read(path, range);
		return Buffer.byteLength(textOf(pis)) - Buffer.byteLength(text);
	}

	test("is nothing for what was sent in full, however often", async () => {
		const scene = cachedSession();
		scene.write("a.txt", numbered(100));
		await scene.read("a.txt");
		scene.write("a.txt", numbered(100).replaceAll("line", "other"));
		await scene.read("a.txt");
		expect(status(scene)).toMatchObject({
			served: { ...NOTHING, full: 1, full_fallback: 1 },
			savedTokens: 0,
		});
	});

	test("is what markers and diffs took less, by mode and in tokens", async () => {
		const scene = cachedSession();
		scene.write("a.txt", numbered(100));
		let saved = await readAndWeigh(scene, "a.txt");
		expect(saved).toBe(0);
		saved += await readAndWeigh(scene, "a.txt");
		saved += await readAndWeigh(scene, "a.txt", { offset: 50 });
		scene.write("a.txt", numbered(100).replace("line 7\n", "seven\n"));
		saved += await readAndWeigh(scene, "a.txt");
		const { served, savedTokens } = status(scene);
		expect(served).toEqual({ ...NOTHING, full: 1, unchanged: 1, unchanged_range: 1, diff: 1 });
		expect(savedTokens).toBe(Math.ceil(saved / 4));
	});

	test("is never more than pi's answers would have taken, whatever is read", async () => {
		const texts = [
			"",
			"x",
			numbered(3),
			numbered(40),
			numbered(2500),
			`${"w".repeat(30_000)}\n`.repeat(3),
		];
		const action = fc.oneof(
			fc.record({ write: fc.constantFrom(...texts) }),
			fc.record({ read: fc.constant("a.txt") }),
			fc.record({
				read: fc.constant("a.txt"),
				offset: fc.constantFrom(1, 2, 30, 2001),
				limit: fc.constantFrom(1, 3, 500),
			}),
		);
		await fc.assert(
			fc.asyncProperty(fc.array(action, { maxLength: 8 }), async (actions) => {
				const scene = cachedSession();
				scene.write("a.txt", numbered(40));
				let saved = 0;
				for (const each of actions) {
					if ("write" in each) scene.write("a.txt", each.write);
					else {
						const { read, ...range } = each;
						saved += await readAndWeigh(scene, read, range).catch(() => 0); // pi's error, and ours
					}
				}
				const { savedTokens } = status(scene);
				expect(savedTokens).toBeGreaterThanOrEqual(0);
				expect(savedTokens).toBeLessThanOrEqual(Math.max(0, Math.ceil(saved / 4)));
			}),
			{ numRuns: runs(40) },
		);
	});

	test("counts a marker that is longer than its file against the others", async () => {
		const scene = cachedSession();
		scene.write("big.txt", numbered(20));
		scene.write("tiny.txt", "x");
		let saved = 0;
		for (const path of ["big.txt", "big.txt"]) saved += await readAndWeigh(scene, path);
		const tokens = status(scene).savedTokens;
		for (let read = 0; read < 3; read++) saved += await readAndWeigh(scene, "tiny.txt");
		expect(status(scene).savedTokens).toBe(Math.ceil(saved / 4));
		expect(status(scene).savedTokens).toBeLessThan(tokens);
		for (let read = 0; read < 20; read++) await scene.read("tiny.txt");
		expect(status(scene).savedTokens).toBe(0);
	});

	test("is of the current context: a compaction ends the account, and a jump back restores it", async () => {
		const scene = cachedSession();
		scene.write("a.txt", numbered(100));
		await scene.read("a.txt");
		const { entryId } = await scene.read("a.txt");
		const before = status(scene);
		scene.session.appendCompaction("before", null, 100);
		expect(status(scene)).toMatchObject({ served: NOTHING, savedTokens: 0, files: [] });
		scene.session.branch(entryId);
		expect(status(scene)).toEqual(before);
	});

	test("is not guessed from the metadata of another program", async () => {
		const scene = cachedSession();
		scene.write("a.txt", numbered(100));
		const { meta } = await scene.read("a.txt");
		const marker = { ...meta, mode: "unchanged", baseHash: meta?.servedHash };
		appendCalls(scene.session, { id: "a", args: { path: "a.txt" } });
		const details = { readcache: JSON.parse(JSON.stringify(marker)) };
		appendResult(scene.session, "a", "[readcache: unchanged, 101 lines]", { details });
		appendCalls(scene.session, { id: "b", args: { path: "a.txt" } }, { id: "c" });
		appendResult(scene.session, "b", "text", { details: { readcache: { v: 1, mode: "diff" } } });
		const full = { readcache: JSON.parse(JSON.stringify({ ...meta, plainBytes: 5000 })) };
		appendResult(scene.session, "c", "text", { details: full });
		expect(status(scene)).toMatchObject({
			served: { ...NOTHING, full: 2, unchanged: 1 },
			savedTokens: 0,
		});
	});
});

describe("the files in view", () => {
	test("are named with the lines of them that are, neighbours together", async () => {
		const scene = cachedSession();
		const all = scene.write("all.txt", numbered(9));
		const some = scene.write("some.txt", numbered(9));
		scene.write("gone.txt", numbered(9));
		await scene.read("all.txt");
		for (const offset of [1, 3, 8]) await scene.read("some.txt", { offset, limit: 2 });
		const { entryId } = await scene.read("gone.txt");
		scene.session.appendContextEdit(entryId, null);
		expect(status(scene).files).toEqual([
			{ path: all, lines: "all 10 lines" },
			{ path: some, lines: "lines 1-4, 8-9 of 10" },
		]);
	});
});

describe("the model's own edits", () => {
	test("are no answers of the cache, and take no lines out of view", async () => {
		const scene = cachedSession();
		const path = scene.write("a.txt", numbered(9));
		scene.write("unread.txt", numbered(9));
		await scene.read("a.txt");
		const before = status(scene);
		await scene.edit("a.txt", "line 7\n", "seven\n");
		await scene.rewrite("unread.txt", "new\n");
		await scene.rewrite("new.txt", "new\n");
		expect(status(scene)).toEqual(before);
		expect(before.files).toEqual([{ path, lines: "all 10 lines" }]);
	});
});

describe("why pi's own answer was served", () => {
	test("is counted, the most frequent reason first", async () => {
		const scene = cachedSession();
		scene.write("a.txt", numbered(9));
		scene.write(".env", "SECRET=1");
		for (const path of [".env", ".env", ".env", "gone.txt", "gone.txt", "a.txt"]) {
			await scene.read(path);
		}
		expect(status(scene).plain).toEqual([
			["excluded", 3],
			["not-found", 2],
			["not-seen-yet", 1],
		]);
	});

	test("names an edit of the model's own that somebody else has undone", async () => {
		const scene = cachedSession();
		scene.write("a.txt", numbered(100));
		await scene.read("a.txt");
		await scene.edit("a.txt", "line 7\n", "seven\n");
		scene.write("a.txt", numbered(100));
		await scene.read("a.txt");
		expect(status(scene)).toMatchObject({
			served: { ...NOTHING, full: 1, full_fallback: 1 },
			plain: [
				["not-seen-yet", 1],
				["own-edit-overtaken", 1],
			],
		});
		expect(formatStatus(status(scene))).toContain(
			"      1  the file changed again after the model's own edit\n",
		);
	});

	test("is explained to people, whichever it is", () => {
		const reasons = `
			not-seen-yet partly-seen edited not-sent altered rewritten ambiguous reordered refreshed untracked
			base-lost range-changed object-missing chain-too-long own-edit-overtaken diff-too-large
			diff-verification-failed too-large-to-diff excluded not-found not-a-file not-text too-big unreadable
			line-too-long odd-range beyond-end shadow unknown-output internal-error`;
		const unexplained = reasons
			.trim()
			.split(/\s+/)
			.filter((reason) =>
				formatStatus({ ...EMPTY, plain: [[reason, 3]] }).includes(`      3  ${reason}\n`),
			);
		expect(unexplained).toEqual([]);
	});
});

const EMPTY: Status = {
	mode: "on",
	files: [],
	served: NOTHING,
	savedTokens: 0,
	store: { objects: 0, bytes: 0 },
	plain: [],
};

describe("the report", () => {
	test("has everything in it", () => {
		const text = formatStatus({
			...EMPTY,
			files: [{ path: "/a.txt", lines: "all 10 lines" }],
			served: { ...NOTHING, full: 2, diff: 1 },
			savedTokens: 12_345,
			store: { objects: 3, bytes: 1536 },
			plain: [["excluded", 4]],
		});
		expect(text.split("\n")).toEqual([
			"read cache: on, about 12,345 tokens saved in the current context",
			"answers: full 2, unchanged 0, unchanged_range 0, diff 1, full_fallback 0",
			"store: 3 file versions, 1.5 KB",
			"pi's own answer was served because:",
			"      4  the file is on the exclude list",
			"in view:",
			"  /a.txt  all 10 lines",
		]);
	});

	test("stays short with many files, and says how many it left out", () => {
		const files = Array.from({ length: 100 }, (_, n) => ({ path: `/${n}`, lines: "all 1 lines" }));
		const lines = formatStatus({ ...EMPTY, files }).split("\n");
		expect(lines).toHaveLength(4 + 30 + 1);
		expect(lines.at(-1)).toBe("  … and 70 more");
	});

	test("shows a reason it does not know as it is", () => {
		expect(formatStatus({ ...EMPTY, plain: [["novel", 1]] })).toContain("      1  novel");
	});
});

describe("shadow mode", () => {
	test("serves pi's answers, and counts what would have been served instead", async () => {
		const scene = cachedSession({ mode: "shadow" });
		scene.write("a.txt", numbered(100));
		const first = await scene.read("a.txt");
		const second = await scene.read("a.txt");
		expect(second.text).toBe(first.text);
		await scene.read("a.txt", { offset: 10, limit: 5 });
		scene.write("a.txt", numbered(100).replace("line 7\n", "seven\n"));
		expect((await scene.read("a.txt")).text).toContain("line 6\nseven\nline 8\n");
		const { served, savedTokens, shadow, plain } = status(scene, "shadow");
		expect({ served, savedTokens }).toEqual({ served: { ...NOTHING, full: 4 }, savedTokens: 0 });
		expect(shadow).toEqual({
			served: [
				["unchanged", 1],
				["unchanged_range", 1],
				["diff", 1],
			],
			savedTokens: expect.any(Number),
			unsound: 0,
		});
		expect(shadow?.savedTokens).toBeGreaterThan(300);
		expect(plain).toEqual([
			["shadow", 3],
			["not-seen-yet", 1],
		]);
	});

	test("is reported in words", () => {
		const shadow = { served: [], savedTokens: 0, unsound: 0 };
		expect(formatStatus({ ...EMPTY, mode: "shadow", shadow })).toContain(
			"shadow: would have served nothing and saved about 0 tokens; answers that would have been wrong: 0",
		);
	});
});
