import type { Language } from "../../language.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

const grammar = { package: "tree-sitter-ruby", file: "tree-sitter-ruby.wasm" };

export const ruby: Language = {
	name: "ruby",
	grammar,
	endings: [".rb", ".rake"],
	testName: /_(?:test|spec)\.rb$|^test_.*\.rb$/,
	usages: "names",
	loadExtract: () =>
		withGrammar(grammar, async () => {
			const [{ extractOutline }, { rules }] = await Promise.all([
				import("../by-name/outline.ts"),
				import("./rules.ts"),
			]);
			return (_path, source, tree) => extractOutline(rules, source, tree);
		}),
	loadResolver: async () => (await import("../../resolve/ruby/resolver.ts")).createResolver,
};
