import type { Language } from "../../language.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

const grammar = { package: "tree-sitter-java", file: "tree-sitter-java.wasm" };

export const java: Language = {
	name: "java",
	grammar,
	endings: [".java"],
	testName: /Tests?\.java$|^Test\w+\.java$|IT\.java$/,
	usages: "names",
	loadExtract: () =>
		withGrammar(grammar, async () => {
			const [{ extractOutline }, { rules }] = await Promise.all([
				import("../by-name/outline.ts"),
				import("./rules.ts"),
			]);
			return (_path, source, tree) => extractOutline(rules, source, tree);
		}),
	loadResolver: async () => (await import("../../resolve/java/resolver.ts")).createResolver,
};
