import type { Language } from "../../language.ts";
import { GRAMMARS } from "../tree-sitter/grammars.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

export const php: Language = {
	name: "php",
	endings: [".php"],
	testName: /Test\.php$/,
	usages: "names",
	configs: ["composer.json"],
	loadExtract: () =>
		withGrammar(GRAMMARS.php, async () => {
			const [{ extractOutline }, { rules }] = await Promise.all([
				import("../by-name/outline.ts"),
				import("./rules.ts"),
			]);
			return (_path, source, tree) => extractOutline(rules, source, tree);
		}),
	loadResolver: async () => (await import("../../resolve/php/resolver.ts")).createResolver,
};
