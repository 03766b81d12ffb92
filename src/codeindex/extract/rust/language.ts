import type { Language } from "../../language.ts";
import { GRAMMARS } from "../tree-sitter/grammars.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

export const rust: Language = {
	name: "rust",
	endings: [".rs"],
	testName: /^tests?\.rs$|_tests?\.rs$/,
	usages: "names",
	loadExtract: () =>
		withGrammar(GRAMMARS.rust, async () => {
			const [{ extractOutline }, { rules }] = await Promise.all([
				import("../by-name/outline.ts"),
				import("./rules.ts"),
			]);
			return (_path, source, tree) => extractOutline(rules, source, tree);
		}),
	loadResolver: async () => (await import("../../resolve/rust/resolver.ts")).createResolver,
};
