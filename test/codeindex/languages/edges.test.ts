// @module-tag slow
import { expect, test } from "vitest";
import { dependenciesOf } from "../../../src/codeindex/link/modules.ts";
import { impact } from "../../../src/codeindex/queries/impact.ts";
import { outline, symbolSource } from "../../../src/codeindex/queries/outline.ts";
import { usages } from "../../../src/codeindex/queries/usages.ts";
import { tempDir } from "../../support/temp.ts";
import { openIndexer, writeTree } from "../indexer/test-index.ts";
import { indexProject } from "./language-project.ts";

test("an include of C++ leads to a header that is added or removed later", async () => {
	const root = tempDir();
	writeTree(root, { "main.cpp": '#include "util.h"\nint main() { return 1; }\n' });
	const { store, indexer } = await openIndexer(root);
	const targets = async () => {
		await indexer.refresh({ mayBuild: true });
		return store.read((reader) => {
			const file = reader.fileAt("main.cpp");
			if (!file) throw new Error("main.cpp is not indexed");
			return dependenciesOf(reader, file.id).map((one) => reader.files.get(one.file)?.path);
		});
	};
	expect(await targets()).toEqual([]);
	writeTree(root, { "util.h": "int util(void);\n" });
	expect(await targets()).toEqual(["util.h"]);
	writeTree(root, { "util.h": undefined });
	expect(await targets()).toEqual([]);
});

test("a change of a symbol reaches its uses in a language whose usages are found by name", async () => {
	const reader = await indexProject({
		"src/a/Cart.java": "package a;\npublic class Cart {\n\tpublic int total() { return 1; }\n}\n",
		"src/b/Shop.java":
			"package b;\nimport a.Cart;\npublic class Shop {\n\tint sum() { return new Cart().total(); }\n}\n",
	});
	const one = impact(reader, { modify: ["src/a/Cart.java"], symbols: ["Cart"] });
	expect(one.symbols).toMatchObject([{ name: "Cart", usages: 2, otherFiles: 1 }]);
	expect(one.affected.map(({ path }) => path)).toEqual(["src/b/Shop.java"]);
});

test("a function of C with a prototype before it is shown with its body", async () => {
	const text =
		"static int twice(int x);\n\nint once(int x) { return twice(x); }\n\nstatic int twice(int x) {\n\treturn 2 * x;\n}\n";
	const reader = await indexProject({ "a.c": text });
	const { definitions } = symbolSource(reader, { symbol: "twice" }, () => text);
	expect(definitions[0]?.source).toMatchObject({
		firstLine: 5,
		lines: ["static int twice(int x) {", "\treturn 2 * x;", "}"],
	});
	expect(outline(reader, { file: "a.c" }).outlines[0]?.symbols).toMatchObject([
		{ name: "once", line: 3, endLine: 3, exported: true },
		{ name: "twice", line: 5, endLine: 7, exported: false },
	]);
});

test("a stub file of Python and the module beside it are one", async () => {
	const reader = await indexProject({
		"pkg/__init__.py": "",
		"pkg/typed.pyi": "def shown(x: int) -> str: ...\nclass S:\n    def m(self) -> int: ...\n",
		"pkg/typed.py": "def shown(x): return str(x)\nclass S:\n    def m(self): return 1\n",
		"main.py": "from pkg.typed import shown, S\nshown(1)\nS().m()\n",
	});
	const { definitions } = usages(reader, { symbol: "shown" });
	expect(definitions.map(({ path }) => path)).toEqual(["pkg/typed.py"]);
	const places = definitions[0]?.usages.map(({ path, line, kind }) => `${path}:${line} ${kind}`);
	expect(places).toEqual(["main.py:1 import", "main.py:2 call", "pkg/typed.pyi:1 declaration"]);
	const main = reader.fileAt("main.py");
	const edges = main ? dependenciesOf(reader, main.id) : [];
	expect(edges.map(({ file }) => reader.files.get(file)?.path)).toEqual([
		"pkg/typed.py",
		"pkg/typed.pyi",
	]);
});

test("a function with a name of one letter has its calls", async () => {
	const reader = await indexProject({
		"a.c": "int f(int x) { return x; }\nint main(void) { return f(1); }\n",
	});
	const { definitions } = usages(reader, { symbol: "f" });
	expect(definitions[0]?.usages).toMatchObject([{ line: 2, kind: "call" }]);
});

test("in Python, usages of a method are its own, and those that override it are named", async () => {
	const reader = await indexProject({
		"shapes.py":
			"class Shape:\n    def area(self) -> int: ...\n\nclass Square(Shape):\n    def area(self) -> int:\n        return 1\n",
		"main.py":
			"from shapes import Shape, Square\n\ndef show(shape: Shape, square: Square) -> int:\n    return shape.area() + square.area()\n",
	});
	const [shape] = usages(reader, { symbol: "Shape.area" }).definitions;
	expect(shape?.usages.map(({ line, column }) => [line, column])).toEqual([[4, 18]]);
	expect(shape?.family).toEqual({
		above: [],
		below: [{ name: "Square.area", path: "shapes.py", line: 5 }],
		beside: 0,
		apart: true,
	});
});
