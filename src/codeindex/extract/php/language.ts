import type { Language } from "../../language.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

const grammar = { package: "tree-sitter-php", file: "tree-sitter-php.wasm" };

export const php: Language = {
	name: "php",
	grammar,
	endings: [".php"],
	testName: /Test\.php$/,
	usages: "names",
	configs: ["composer.json"],
	loadExtract: () =>
		withGrammar(grammar, async () => {
			const [{ extractOutline }, { rules }] = await Promise.all([
				import("../by-name/outline.ts"),
				import("./rules.ts"),
			]);
			return (_path, source, tree) => extractOutline(rules, source, tree);
		}),
	loadResolver: async () => (await import("../../resolve/php/resolver.ts")).createResolver,
};
