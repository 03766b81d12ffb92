import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript-5";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (file: string) => readFileSync(join(root, file), "utf8");
const sources = globSync("src/**/*.{ts,tsx}", { cwd: root }).map((file) =>
	ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true),
);

/** A factory is a small closure. Anything longer has a life, and is a class. */
const MAX_FACTORY_LINES = 60;

/** Older words of this project, in comments, messages and documents. The field has better ones: docs/glossary.md. */
const AVOIDED = /\b(nobody|whoever|anew|told|in vain|under way|is let go|sought)\b/i;

test(`no factory is longer than ${MAX_FACTORY_LINES} lines`, { tags: "slow" }, () => {
	const long = sources.flatMap((source) =>
		descendants(source)
			.filter(ts.isFunctionDeclaration)
			.filter(({ name }) => /^create[A-Z]/.test(name?.text ?? ""))
			.filter((made) => linesOf(made, source) > MAX_FACTORY_LINES)
			.map((made) => `${source.fileName}: ${made.name?.text}`),
	);
	expect(long).toEqual([]);
	expect(sources.length).toBeGreaterThan(100);
});

test("constants with a literal value are in capitals", () => {
	const others = sources.flatMap((source) =>
		source.statements
			.filter(ts.isVariableStatement)
			.filter(({ declarationList }) => (declarationList.flags & ts.NodeFlags.Const) !== 0)
			.flatMap(({ declarationList }) => [...declarationList.declarations])
			.filter(({ initializer }) => initializer !== undefined && isLiteral(initializer))
			.map(({ name }) => name.getText(source))
			.filter((name) => !/^[A-Z][A-Z0-9_]*$/.test(name))
			.map((name) => `${source.fileName}: ${name}`),
	);
	expect(others).toEqual([]);
});

test("source and documents use the words of the glossary", () => {
	const documents = globSync(["*.md", "docs/**/*.md"], { cwd: root });
	const lines = [...sources.map(({ fileName }) => fileName), ...documents].flatMap((file) =>
		read(file)
			.split("\n")
			// Names of measured cases are quoted as they are stored.
			.map((text, at) => ({ text: text.replace(/"[^"]*under way[^"]*"/g, ""), at }))
			.filter(({ text }) => AVOIDED.test(text))
			.map(({ at }) => `${file}:${at + 1}`),
	);
	expect(lines).toEqual([]);
});

function isLiteral(value: ts.Expression): boolean {
	if (ts.isBinaryExpression(value)) return isLiteral(value.left) && isLiteral(value.right);
	return (
		ts.isNumericLiteral(value) ||
		ts.isStringLiteral(value) ||
		ts.isNoSubstitutionTemplateLiteral(value) ||
		ts.isRegularExpressionLiteral(value)
	);
}

function linesOf(node: ts.Node, source: ts.SourceFile): number {
	const line = (position: number) => source.getLineAndCharacterOfPosition(position).line;
	return line(node.end) - line(node.getStart(source)) + 1;
}

function descendants(node: ts.Node): ts.Node[] {
	const found: ts.Node[] = [];
	const visit = (child: ts.Node) => {
		found.push(child);
		ts.forEachChild(child, visit);
	};
	visit(node);
	return found;
}
