import { describe, expect, test } from "vitest";
import { outline, symbolSource } from "../../../src/codeindex/queries/outline.ts";
import { indexProject } from "../memory-project.ts";

const files = {
	"src/reader.ts": [
		"import { open, type Handle } from './open';",
		"import * as path from 'node:path';",
		"import unused from './other';",
		"",
		"const LIMIT = 10;",
		"",
		"/** Reads lines. */",
		"// of one file",
		"export class Reader {",
		"	/** How often it was read. */",
		"	count = 0;",
		"",
		"	/**",
		"	 * Reads one line.",
		"	 */",
		"	@logged",
		"	read(name: string): Handle {",
		"		return open(path.join(name), LIMIT);",
		"	}",
		"	static make() { return new Reader(); }",
		"}",
		"",
		"export function read(name: string): void;",
		"export function read(name: number): void;",
		"export function read(name: unknown): void {",
		"	new Reader().read(String(name));",
		"}",
	].join("\n"),
	"src/open.ts":
		"export interface Handle { id: number }\nexport const open = (at: string, limit: number): Handle => ({ id: limit + at.length });\n",
	"src/other.ts":
		"function read() {}\nexport default 1;\nimport { Reader } from './reader';\nnew Reader().read('x');\nread();\n",
};
const reader = indexProject(files);
const readText = (path: string) => files[path as keyof typeof files];

describe("an outline", () => {
	test("of a file has its symbols in order, with members, comments and lines", () => {
		const { outlines } = outline(reader, { file: "src/reader.ts" });
		expect(outlines).toMatchObject([{ path: "src/reader.ts", isTest: false, lines: 27 }]);
		const [file] = outlines;
		expect(file?.symbols.map(({ name, line, endLine }) => [name, line, endLine])).toEqual([
			["LIMIT", 5, 5],
			["Reader", 9, 21],
			["read", 23, 27],
		]);
		const { members, doc } = file?.symbols[1] ?? {};
		expect(members?.map(({ name, line, endLine, doc }) => [name, line, endLine, doc])).toEqual([
			["count", 11, 11, "How often it was read."],
			["read", 17, 19, "Reads one line."],
			["make", 20, 20, undefined],
		]);
		expect(doc).toBeUndefined(); // a line comment stands between
	});

	test("of a symbol has its members alone", () => {
		const { outlines } = outline(reader, { symbol: "Reader" });
		expect(outlines).toHaveLength(1);
		expect(outlines[0]?.symbols.map(({ name }) => name)).toEqual(["Reader"]);
		expect(outlines[0]?.symbols[0]?.members).toHaveLength(3);
	});

	test("of an unknown name suggests names, of an unknown file is refused", () => {
		expect(outline(reader, { symbol: "Raeder" })).toEqual({
			outlines: [],
			suggestions: ["Reader"],
		});
		expect(() => outline(reader, { file: "src/raeder.ts" })).toThrow("is not in the index");
		expect(() => outline(reader, {})).toThrow("Name a file or a symbol.");
	});
});

describe("the source of a symbol", () => {
	const sourceOf = (symbol: string, file?: string) =>
		symbolSource(reader, { symbol, ...(file !== undefined && { file }) }, readText).definitions;

	test("begins with its comment and decorators, and comes with the imports it needs", () => {
		const [read] = sourceOf("Reader.read");
		expect(read).toMatchObject({ path: "src/reader.ts", owner: "Reader", line: 17, endLine: 19 });
		expect(read?.source).toEqual({
			firstLine: 13,
			lines: files["src/reader.ts"].split("\n").slice(12, 19),
			imports: [
				{ from: "./open", names: ["open", "Handle"] },
				{ from: "node:path", names: ["* as path"] },
			],
			uses: [{ name: "LIMIT", line: 5 }],
		});
	});

	test("of overloads has all of them", () => {
		const [read] = sourceOf("read", "src/reader.ts");
		expect(read?.source?.firstLine).toBe(23);
		expect(read?.source?.lines).toHaveLength(5);
	});

	test("the most used definition comes first", () => {
		const found = sourceOf("read").map(({ owner, path }) => `${owner ?? ""} ${path}`);
		expect(found).toEqual(["Reader src/reader.ts", " src/other.ts", " src/reader.ts"]);
	});

	test("of a file that is gone is absent", () => {
		const { definitions } = symbolSource(reader, { symbol: "Handle" }, () => undefined);
		expect(definitions).toMatchObject([{ name: "Handle", path: "src/open.ts" }]);
		expect(definitions[0]).not.toHaveProperty("source");
	});

	test("of an unknown name suggests names", () => {
		expect(symbolSource(reader, { symbol: "Handel" }, readText)).toEqual({
			symbol: "Handel",
			definitions: [],
			suggestions: ["Handle"],
		});
	});
});
