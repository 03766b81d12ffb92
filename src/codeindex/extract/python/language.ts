import type { Language } from "../../language.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

const grammar = { package: "tree-sitter-python", file: "tree-sitter-python.wasm" };

export const python: Language = {
	name: "python",
	grammar,
	endings: [".py", ".pyi", ".pyw"],
	testName: /^test_.*\.py$|_tests?\.py$|^(?:tests?|conftest)\.py$/,
	usages: "types",
	isSideless: true,
	isPublic: (name) => !name.startsWith("_"),
	loadExtract: () =>
		withGrammar(grammar, async () => {
			return (await import("./extract.ts")).extractPython;
		}),
	loadResolver: async () => (await import("../../resolve/python/resolver.ts")).createPythonResolver,
};
