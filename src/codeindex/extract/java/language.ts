import type { Language } from "../../language.ts";
import { GRAMMARS } from "../tree-sitter/grammars.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

export const java: Language = {
	name: "java",
	endings: [".java"],
	testName: /Tests?\.java$|^Test\w+\.java$|IT\.java$/,
	usages: "names",
	loadExtract: () =>
		withGrammar(GRAMMARS.java, async () => {
			const [{ extractOutline }, { rules }] = await Promise.all([
				import("../by-name/outline.ts"),
				import("./rules.ts"),
			]);
			return (_path, source, tree) => extractOutline(rules, source, tree);
		}),
	loadResolver: async () => (await import("../../resolve/java/resolver.ts")).createResolver,
};
