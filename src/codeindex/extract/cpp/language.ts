import type { Language } from "../../language.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";
import { parsable } from "./parsable.ts";

export const grammar = { package: "tree-sitter-cpp", file: "tree-sitter-cpp.wasm" };

export const cpp: Language = {
	name: "c++",
	grammar,
	endings: [".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".ipp", ".inl"],
	testName: /^test_.*\.(?:cc|cpp|cxx)$|_(?:unit)?tests?\.(?:cc|cpp|cxx)$/,
	usages: "names",
	family: "c",
	loadExtract: () =>
		withGrammar(
			grammar,
			async () => {
				const [{ extractOutline }, { rules }] = await Promise.all([
					import("../by-name/outline.ts"),
					import("../c/rules.ts"),
				]);
				return (_path, source, tree) => extractOutline(rules, source, tree);
			},
			parsable,
		),
	loadResolver: async () => (await import("../../resolve/c/resolver.ts")).createResolver,
};
