import type {
	Coverage,
	Definition,
	DependenciesAnswer,
	FileAtDepth,
	ImpactAnswer,
	OutlineAnswer,
	OutlineSymbol,
	SearchAnswer,
	SymbolAnswer,
	SymbolBrief,
	TaskContextAnswer,
	UsagesAnswer,
} from "../../src/codeindex/answers.ts";
import { fc } from "../support/property.ts";
import { NOW } from "./fake-index.ts";

/** Words as repositories have them, and as they should not: other scripts, line feeds, escapes, half characters. */
const word = fc.oneof(
	{ weight: 6, arbitrary: fc.stringMatching(/^[a-zA-Z_]{1,12}$/) },
	{ weight: 1, arbitrary: fc.string({ unit: "grapheme", minLength: 1, maxLength: 300 }) },
	{ weight: 1, arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 40 }) },
	{
		weight: 1,
		arbitrary: fc.constantFrom("a\nb", "\u001b[31m", "\ud800", "日本語/".repeat(200), "😀"),
	},
);
const path = fc.array(word, { minLength: 1, maxLength: 6 }).map((names) => `${names.join("/")}.ts`);
const line = fc.integer({ min: 1, max: 99_999 });
/** Mostly few, at times more than any budget holds. */
const amount = fc.oneof(
	{ weight: 6, arbitrary: fc.nat(5) },
	{ weight: 3, arbitrary: fc.nat(60) },
	{ weight: 1, arbitrary: fc.constant(700) },
);

/** A list of any length out of a few different items: hundreds of different ones would take long to make. */
function many<Item>(item: fc.Arbitrary<Item>): fc.Arbitrary<Item[]> {
	return fc
		.tuple(fc.array(item, { minLength: 1, maxLength: 8 }), amount)
		.map(([items, length]) => Array.from({ length }, (_, at) => items[at % items.length] as Item));
}

const coverage: fc.Arbitrary<Coverage> = fc.record({
	files: fc.nat(20_000),
	unparsed: fc.record({ count: fc.nat(500), paths: many(path) }),
	unresolvedImports: fc.nat(5000),
	checkedMs: fc.integer({ min: NOW - 1e9, max: NOW }),
	refreshedFiles: fc.nat(300),
	complete: fc.boolean(),
});

const symbolKind = fc.constantFrom("function" as const, "class" as const, "method" as const);
const symbol: fc.Arbitrary<SymbolBrief> = fc.record(
	{
		name: word,
		owner: word,
		kind: symbolKind,
		line,
		endLine: line,
		exported: fc.boolean(),
		signature: word,
	},
	{ requiredKeys: ["name", "kind", "line", "endLine", "exported", "signature"] },
);

const outlineSymbol: fc.Arbitrary<OutlineSymbol> = fc
	.tuple(symbol, many(symbol))
	.map(([one, members]) => ({ ...one, members }));

/** Any outline. */
export const outlineAnswer: fc.Arbitrary<OutlineAnswer> = fc.record({
	outlines: fc.array(
		fc.record({
			path,
			isTest: fc.boolean(),
			lines: line,
			symbols: fc.array(outlineSymbol, { maxLength: 8 }),
		}),
		{ maxLength: 5 },
	),
	coverage,
});

/** Any source of a symbol. */
export const symbolAnswer: fc.Arbitrary<SymbolAnswer> = fc.record({
	symbol: word,
	definitions: fc.array(
		fc
			.tuple(
				outlineSymbol,
				path,
				fc.record({
					firstLine: line,
					lines: many(word),
					imports: fc.array(fc.record({ from: word, names: many(word) }), { maxLength: 9 }),
					uses: many(fc.record({ name: word, line })),
				}),
			)
			.map(([one, path, source]) => ({ ...one, path, isTest: false, source })),
		{ maxLength: 6 },
	),
	coverage,
});

const fileAtDepth: fc.Arbitrary<FileAtDepth> = fc.record(
	{
		path,
		depth: fc.integer({ min: 1, max: 3 }),
		kinds: fc.subarray(["value", "type", "re-export"] as const),
		isTest: fc.boolean(),
		via: path,
	},
	{ requiredKeys: ["path", "depth", "kinds", "isTest"] },
);

const matchingLines = fc
	.tuple(
		line,
		fc.array(fc.oneof(word, fc.constant("x".repeat(20_000))), { minLength: 1, maxLength: 11 }),
	)
	.map(([first, text]) => ({ first, text, matches: [first] }));

/** Any answer of a search. */
export const searchAnswer: fc.Arbitrary<SearchAnswer> = fc.record({
	hits: fc.array(
		fc.record({
			path,
			isTest: fc.boolean(),
			symbols: fc.array(symbol, { maxLength: 10 }),
			lines: fc.array(matchingLines, { maxLength: 4 }),
			matchingLines: fc.nat(400),
		}),
		{ maxLength: 50 },
	),
	total: fc.nat(10_000),
	coverage,
});

/** Any answer about dependencies. */
export const depsAnswer: fc.Arbitrary<DependenciesAnswer> = fc.record({
	file: path,
	dependents: many(fileAtDepth),
	dependencies: many(fileAtDepth),
	cycles: fc.array(many(path), { maxLength: 5 }),
	unresolved: many(fc.record({ specifier: word, line })),
	external: many(word),
	coverage,
});

const definition: fc.Arbitrary<Definition> = fc.record(
	{
		path,
		line,
		column: line,
		kind: symbolKind,
		owner: word,
		exported: fc.boolean(),
		signature: word,
		usages: many(
			fc.record({
				path,
				line,
				column: line,
				kind: fc.constantFrom("call" as const, "import" as const, "type" as const),
				isTest: fc.boolean(),
			}),
		),
		global: fc.constant(true as const),
		possible: fc.record({ count: fc.nat(5000), files: many(path) }),
	},
	{ requiredKeys: ["path", "line", "column", "kind", "exported", "signature", "usages"] },
);

/** Any answer about usages. */
export const usagesAnswer: fc.Arbitrary<UsagesAnswer> = fc.record({
	symbol: word,
	definitions: fc.oneof(
		fc.array(definition, { maxLength: 6 }),
		definition.map((one) =>
			Array.from({ length: 400 }, () => ({ ...one, usages: one.usages.slice(0, 9) })),
		),
	),
	suggestions: many(word),
	coverage,
});

/** Any impact. */
export const impactAnswer: fc.Arbitrary<ImpactAnswer> = fc.record({
	risk: fc.constantFrom("low" as const, "medium" as const, "high" as const),
	summary: word,
	affected: many(fileAtDepth),
	symbols: many(
		fc.record({
			path,
			name: word,
			kind: symbolKind,
			usages: fc.nat(5000),
			files: fc.nat(900),
			otherFiles: fc.nat(900),
		}),
	),
	tests: many(
		fc.record({ path, depth: fc.nat(4), via: fc.constantFrom("import" as const, "name" as const) }),
	),
	warnings: many(word),
	coverage,
});

/** Any task context. */
export const taskContextAnswer: fc.Arbitrary<TaskContextAnswer> = fc.record({
	targets: fc.array(
		fc.record({
			path,
			dependencies: many(path),
			dependentCount: fc.nat(9000),
			symbols: many(symbol),
		}),
		{ maxLength: 50 },
	),
	impacted: fc.array(fileAtDepth, { maxLength: 200 }),
	impactedCount: fc.nat(9000),
	tests: many(path),
	unknown: fc.array(path, { maxLength: 50 }),
	coverage,
});
