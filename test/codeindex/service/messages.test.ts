import { expect, test } from "vitest";
import type { FileAtDepth, Usage } from "../../../src/codeindex/answers.ts";
import { fromColumns, toColumns } from "../../../src/codeindex/service/messages.ts";
import { fc } from "../../support/property.ts";

const anyPath = fc.constantFrom("a.ts", "b/c.tsx", "b/ü 漢.ts", "d/e/f.js");
const anyUsage: fc.Arbitrary<Usage> = fc.record(
	{
		path: anyPath,
		line: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
		column: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
		kind: fc.constantFrom("call", "import", "type"),
		isTest: fc.boolean(),
		within: fc.constantFrom("run", "Owner.member", "größe"),
	},
	{ requiredKeys: ["path", "line", "column", "kind", "isTest"], noNullPrototype: true },
);
const anyFile: fc.Arbitrary<FileAtDepth> = fc.record(
	{
		path: anyPath,
		depth: fc.integer({ min: 1, max: 100 }),
		kinds: fc.subarray(["value", "type", "re-export"] as const, { minLength: 1 }),
		isTest: fc.boolean(),
		via: anyPath,
	},
	{ requiredKeys: ["path", "depth", "kinds", "isTest"], noNullPrototype: true },
);

/** What a question that many rows answer is answered with: the same rows again and again, to make them many. */
const anyAnswer = fc
	.record({
		usages: fc.array(anyUsage, { maxLength: 30 }),
		files: fc.array(anyFile, { maxLength: 30 }),
		times: fc.constantFrom(1, 40),
	})
	.map(({ usages, files, times }) => ({
		symbol: "a",
		// In one file everything is of a test, or nothing.
		definitions: [
			{
				path: "x.ts",
				usages: repeated(usages, times).map((one) => ({ ...one, isTest: one.path === "a.ts" })),
			},
			{ path: "y.ts", usages: [] },
		],
		dependents: repeated(files, times),
		affected: repeated(files.toReversed(), times),
		coverage: { files: 1 },
	}));

function repeated<T>(items: readonly T[], times: number): T[] {
	return Array.from({ length: times }, () => items).flat();
}

test("an answer comes out of its columns as it was, after crossing threads", () => {
	fc.assert(
		fc.property(anyAnswer, (answer) => {
			expect(fromColumns(structuredClone(toColumns(answer)))).toEqual(answer);
		}),
	);
});

test("an answer with few rows is sent as it is, and so is what is no answer", () => {
	const answer = { hits: [{ path: "a.ts" }], definitions: [{ usages: [] }], total: 1 };
	expect(toColumns(answer)).toEqual(answer);
	for (const value of [undefined, null, 3]) expect(fromColumns(toColumns(value))).toBe(value);
});
