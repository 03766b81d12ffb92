import { describe, expect, test } from "vitest";
import { hashBytes } from "../../src/core/hash.ts";
import {
	isDerived,
	type Metadata,
	type Mode,
	parseMetadata,
	parseScopeKey,
	scopeKeyOf,
} from "../../src/readcache/metadata.ts";
import { fc, runs } from "../support/property.ts";

const FULL: Metadata = {
	v: 1,
	pathKey: "/project/a.ts",
	scopeKey: "r:2:5",
	servedHash: hashBytes("now"),
	baseHash: hashBytes("before"),
	mode: "full_fallback",
	totalLines: 10,
	rangeStart: 2,
	rangeEnd: 5,
	bytes: 100,
	shown: [2, 4],
	textHash: hashBytes("text"),
	plainBytes: 0,
};

const parse = (readcache: unknown) => parseMetadata({ truncation: undefined, readcache });

describe("metadata", () => {
	test("is read back as it was written, also after a journey through JSON", () => {
		expect(parse(FULL)).toEqual(FULL);
		expect(parse(JSON.parse(JSON.stringify(FULL)))).toEqual(FULL);
		const { baseHash: _b, shown: _s, textHash: _t, plainBytes: _p, ...least } = FULL;
		expect(parse({ ...least, mode: "full" })).toEqual({ ...least, mode: "full" });
	});

	test("of pi-readcache names the fallback differently and means the same", () => {
		expect(parse({ ...FULL, mode: "baseline_fallback" })).toEqual(FULL);
	});

	test.each<[string, object]>([
		["another version", { v: 2 }],
		["a version that only looks right", { v: "1" }],
		["an unknown mode", { mode: "partial" }],
		["a mode that every object has", { mode: "constructor" }],
		["an empty path", { pathKey: "" }],
		["a path that is no string", { pathKey: 1 }],
		["a short hash", { servedHash: "abc" }],
		["a hash in capitals", { servedHash: hashBytes("x").toUpperCase() }],
		["a malformed base", { baseHash: null }],
		["a malformed text hash", { textHash: "" }],
		["an unknown scope", { scopeKey: "r:5:2" }],
		["no lines at all", { totalLines: 0 }],
		["half a line", { rangeStart: 1.5 }],
		["a number in words", { rangeEnd: "5" }],
		["an end before the start", { rangeStart: 5, rangeEnd: 4, shown: undefined }],
		["an end behind the file's", { rangeEnd: 11 }],
		["a negative size", { bytes: -1 }],
		["an endless size", { bytes: Number.POSITIVE_INFINITY }],
		["lines shown before the range", { shown: [1, 4] }],
		["lines shown behind the range", { shown: [2, 6] }],
		["lines shown backwards", { shown: [4, 2] }],
		["three lines where two belong", { shown: [2, 3, 4] }],
		["lines shown as an object", { shown: { 0: 2, 1: 4, length: 2 } }],
		["a negative saving", { plainBytes: -1 }],
	])("with %s counts as none", (_name, fault) => {
		expect(parse({ ...FULL, ...fault })).toBeUndefined();
	});

	test.each<Mode>(["unchanged", "unchanged_range", "diff"])(
		"of an answer that stands for text needs the version it refers to (%s)",
		(mode) => {
			expect(parse({ ...FULL, mode })).toMatchObject({ mode });
			expect(parse({ ...FULL, mode, baseHash: undefined })).toBeUndefined();
		},
	);

	test("is well formed or not there, whatever the session file holds", () => {
		const anything = fc.oneof(
			fc.anything(),
			fc.constantFrom(0, -1, 1, 2.5, 2 ** 53, Number.NaN, "1", "full", "diff", "r:1:2", null),
			fc.constantFrom([1, 2], [2, 2], [2], [], "__proto__", hashBytes("x")),
		);
		const keys = Object.keys(FULL) as (keyof Metadata)[];
		const faults = fc.dictionary(fc.constantFrom(...keys, "more"), anything, { maxKeys: 3 });
		const nearly = faults.map((fault) => ({ readcache: { ...FULL, ...fault } }));
		fc.assert(
			fc.property(
				fc.oneof(nearly, fc.anything(), fc.record({ readcache: anything })),
				(details) => {
					const meta = parseMetadata(details);
					if (meta) expectWellFormed(meta);
				},
			),
			{ numRuns: runs(2000) },
		);
	});
});

function expectWellFormed(meta: Metadata): void {
	const hex = /^[0-9a-f]{64}$/;
	expect(meta.v).toBe(1);
	expect(["full", "unchanged", "unchanged_range", "diff", "full_fallback"]).toContain(meta.mode);
	expect(meta.pathKey).toMatch(/./);
	expect(meta.scopeKey).toMatch(/^(full|r:\d+:\d+)$/);
	expect(meta.servedHash).toMatch(hex);
	if (isDerived(meta.mode)) expect(meta.baseHash).toMatch(hex);
	for (const hash of [meta.baseHash, meta.textHash])
		if (hash !== undefined) expect(hash).toMatch(hex);
	const { totalLines, rangeStart, rangeEnd, bytes, shown, plainBytes } = meta;
	for (const number of [
		totalLines,
		rangeStart,
		rangeEnd,
		bytes,
		plainBytes ?? 0,
		...(shown ?? []),
	]) {
		expect(Number.isSafeInteger(number) && number >= 0).toBe(true);
	}
	const [first, last] = shown ?? [rangeStart, rangeEnd];
	const inOrder = [1, rangeStart, first, last, rangeEnd, totalLines];
	expect(inOrder).toEqual([...inOrder].sort((a, b) => a - b));
}

describe("a scope", () => {
	test("is read back as the lines it was made of, and the whole file is called full", () => {
		const line = fc.integer({ min: 1, max: 50 });
		fc.assert(
			fc.property(line, line, fc.nat(10), (one, other, more) => {
				const range = { start: Math.min(one, other), end: Math.max(one, other) };
				const total = range.end + more;
				const isWhole = range.start === 1 && more === 0;
				expect(parseScopeKey(scopeKeyOf(range, total))).toEqual(isWhole ? "full" : range);
			}),
		);
	});

	test.each([
		"",
		"Full",
		"r:1",
		"r:1:2:3",
		"r:0:2",
		"r:2:1",
		"r:-1:2",
		"r:1:2\n",
		" r:1:2",
		"r:1.5:2",
		"r:1e3:2e3",
		`r:1:${"9".repeat(400)}`,
		1,
		null,
		undefined,
		["full"],
		{},
	])("written as %j counts as none", (scopeKey) => {
		expect(parseScopeKey(scopeKey)).toBeUndefined();
	});
});
