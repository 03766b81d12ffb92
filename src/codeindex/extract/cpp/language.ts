import type { Language } from "../../language.ts";
import { GRAMMARS } from "../tree-sitter/grammars.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

export const cpp: Language = {
	name: "c++",
	endings: [".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".ipp", ".inl"],
	testName: /^test_.*\.(?:cc|cpp|cxx)$|_(?:unit)?tests?\.(?:cc|cpp|cxx)$/,
	usages: "names",
	family: "c",
	loadExtract: () =>
		withGrammar(GRAMMARS.cpp, async () => {
			const [{ extractOutline }, { rules }] = await Promise.all([
				import("../by-name/outline.ts"),
				import("./rules.ts"),
			]);
			return (_path, source, tree) => extractOutline(rules, source, tree);
		}),
	loadResolver: async () => (await import("../../resolve/cpp/resolver.ts")).createResolver,
};
