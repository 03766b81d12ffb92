import { expect, test } from "vitest";
import { fc, runs } from "../../support/property.ts";
import { tempDir } from "../../support/temp.ts";
import { dumpIndex } from "./index-dump.ts";
import { openIndexer, writeTree } from "./test-index.ts";

const PATHS = [
	"src/a.ts",
	"src/b.ts",
	"src/b.tsx",
	"src/b/index.ts",
	"src/deep/c.ts",
	"src/index.ts",
	"lib/d.js",
	"packages/p/src/index.ts",
	"packages/p/src/e.mts",
	"test/a.test.ts",
];
const SPECIFIERS = [
	"./a.ts",
	"./a.js",
	"./b",
	"./b.js",
	"../src/deep/c",
	"./deep/c.js",
	".",
	"..",
	"~/a",
	"@scope/p",
	"@scope/p/e",
	"react",
	"../lib/d.js",
	"./e.mjs",
];
const NAMES = ["alpha", "Beta", "gammaRay"];

const specifier = fc.constantFrom(...SPECIFIERS);
const name = fc.constantFrom(...NAMES);
const statement = fc.oneof(
	fc.tuple(name, specifier).map(([one, from]) => `import { ${one} } from "${from}";`),
	fc
		.tuple(name, specifier)
		.map(([one, from]) => `import type { ${one} as T${one} } from "${from}";`),
	fc.tuple(name, specifier).map(([one, from]) => `export { ${one} } from "${from}";`),
	specifier.map((from) => `export * from "${from}";`),
	fc
		.tuple(name, specifier)
		.map(([one, from]) => `import * as ${one}All from "${from}"; ${one}All.${one}();`),
	name.map((one) => `export function ${one}(value: string): void { value.trim(); }`),
	name.map((one) => `export class ${one} { go${one}(): number { return this.go${one}(); } }`),
	name.map((one) => `new ${one}().go${one}();`),
	fc.constant("const broken = ;"),
);
const source = fc.array(statement, { maxLength: 5 }).map((lines) => lines.join("\n"));
const config = fc.constantFrom(
	{ "tsconfig.json": '{ "compilerOptions": { "paths": { "~/*": ["./src/*"] } } }' },
	{ "tsconfig.json": '{ /* none */ "compilerOptions": { "paths": { "~/*": ["./lib/*"] }, } }' },
	{ "tsconfig.json": undefined },
	{ "package.json": '{ "workspaces": ["packages/*"] }' },
	{ "packages/p/package.json": '{ "name": "@scope/p", "main": "./dist/index.js" }' },
	{ "packages/p/package.json": '{ "name": "@scope/q" }' },
	{ "packages/p/package.json": "not json" },
	{ "packages/p/package.json": undefined },
	{ ".gitignore": "lib/\n" },
	{ ".gitignore": undefined },
);
const path = fc.constantFrom(...PATHS);
const edit = fc.oneof(
	{ weight: 5, arbitrary: fc.tuple(path, source).map(([one, text]) => ({ [one]: text })) },
	{ weight: 3, arbitrary: path.map((one) => ({ [one]: undefined })) },
	{
		weight: 2,
		arbitrary: fc
			.tuple(path, path, source)
			.map(([from, to, text]) => ({ [from]: undefined, [to]: text })),
	},
	{ weight: 2, arbitrary: config },
) as fc.Arbitrary<Record<string, string | undefined>>;

test("an index that followed random edits, renames, removals and changes of configuration equals a fresh one", {
	tags: "slow",
}, async () => {
	const start = fc.array(fc.tuple(path, source), { minLength: 3, maxLength: 8 });
	const rounds = fc.array(fc.array(edit, { minLength: 1, maxLength: 3 }), {
		minLength: 1,
		maxLength: 4,
	});
	await fc.assert(
		fc.asyncProperty(start, rounds, async (files, edits) => {
			const root = tempDir();
			writeTree(root, Object.fromEntries(files));
			const followed = await openIndexer(root);
			await followed.indexer.refresh({ mayBuild: true });
			for (const round of edits) {
				for (const one of round) writeTree(root, one);
				await followed.indexer.refresh({ mayBuild: false });
			}
			const fresh = await openIndexer(root);
			await fresh.indexer.refresh({ mayBuild: true });
			const expected = fresh.store.read(dumpIndex);
			expect(followed.store.read(dumpIndex)).toEqual(expected);
			// And so it is on disk.
			const reopened = await openIndexer(root, followed.database);
			expect(reopened.store.read(dumpIndex)).toEqual(expected);
		}),
		{ numRuns: runs(25) },
	);
});
