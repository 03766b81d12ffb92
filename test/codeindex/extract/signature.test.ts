import { expect, test } from "vitest";
import { extractFacts } from "../../../src/codeindex/extract/extract.ts";
import type { Declared } from "../../../src/codeindex/facts.ts";

function declared(source: string): Declared {
	const found = extractFacts("a.ts", source).bindings.find(({ kind }) => kind === "declared");
	return found as Declared;
}

test.each([
	[
		"export async function f<T>(\n\ta: string, // why\n\tb = 1,\n): Promise<T> {\n}",
		"async function f<T>(a: string, b = 1): Promise<T>",
	],
	[
		"export default class A<T> extends B<T> implements C {}",
		"class A<T> extends B<T> implements C",
	],
	["export interface I extends J { a: 1 }", "interface I extends J"],
	["export type T =\n\t| 'a'\n\t| 'b';", "type T = | 'a' | 'b'"],
	["export const a = 1, b = 2;", "const a = 1"],
	[
		"const f = async (x: number): Promise<void> => { x; };",
		"const f = async (x: number): Promise<void> =>",
	],
	[
		"export const big: Map<string, number> = new Map([['aaaaaaaaaaaaaaaaaaaa', 1], ['bbbbbbbbbbbbbbbbbbbb', 2]]);",
		"const big: Map<string, number>",
	],
	["const enum E { A }", "const enum E"],
	["const shift = a >> 1 < b;", "const shift = a >> 1 < b"],
	["declare namespace N.M { }", "declare namespace N.M"],
	["function url(a = 'http://x') {}", "function url(a = 'http://x')"],
])("the head of a declaration stands on one line: %s", (source, signature) => {
	expect(declared(source).signature).toBe(signature);
});

test("a long head is cut at 200 characters", () => {
	const { signature } = declared(
		`type Long = ${Array.from({ length: 90 }, (_, i) => `"a${i}"`).join(" | ")};`,
	);
	expect(signature).toHaveLength(200);
	expect(signature.endsWith("…")).toBe(true);
});

test.each([
	["/** First one. Second one. */\nexport function f() {}", "First one."],
	[
		"/**\n * Wraps\n * over lines.\n *\n * More.\n * @param a no\n */\nconst f = 1;",
		"Wraps over lines.",
	],
	["/** Version 1.5 e.g. this. Next. */ class A {}", "Version 1.5 e.g. this."],
	["/* not a doc */ const f = 1;", undefined],
	["/** of another */ other(); const f = 1;", undefined],
	["/** @internal */ const f = 1;", undefined],
])("the first sentence of the doc comment is kept: %s", (source, doc) => {
	expect(declared(source).doc).toBe(doc);
});

test("declarations of one name are one, from the first place to the last line of the body", () => {
	const source = "function f(): void;\nfunction f(a: 1): void;\nfunction f() {\n}\n";
	expect(declared(source)).toMatchObject({
		...{ symbol: "function", at: [1, 10], endLine: 4, signature: "function f(): void" },
		alsoAt: [
			[2, 10],
			[3, 10],
		],
	});
});
