import type { Language } from "../../language.ts";
import { GRAMMARS } from "../tree-sitter/grammars.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

export const ruby: Language = {
	name: "ruby",
	endings: [".rb", ".rake"],
	testName: /_(?:test|spec)\.rb$|^test_.*\.rb$/,
	usages: "names",
	loadExtract: () =>
		withGrammar(GRAMMARS.ruby, async () => {
			const [{ extractOutline }, { rules }] = await Promise.all([
				import("../by-name/outline.ts"),
				import("./rules.ts"),
			]);
			return (_path, source, tree) => extractOutline(rules, source, tree);
		}),
	loadResolver: async () => (await import("../../resolve/ruby/resolver.ts")).createResolver,
};
