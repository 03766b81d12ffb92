import type { Language } from "../../language.ts";
import { GRAMMARS } from "../tree-sitter/grammars.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

export const python: Language = {
	name: "python",
	endings: [".py", ".pyi", ".pyw"],
	testName: /^test_.*\.py$|_tests?\.py$|^(?:tests?|conftest)\.py$/,
	usages: "types",
	isSideless: true,
	isPublic: (name) => !name.startsWith("_"),
	loadExtract: () =>
		withGrammar(GRAMMARS.python, async () => {
			return (await import("./extract.ts")).extractPython;
		}),
	loadResolver: async () => (await import("../../resolve/python/resolver.ts")).createPythonResolver,
};
