import type { Language } from "../../language.ts";
import { GRAMMARS } from "../tree-sitter/grammars.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

export const csharp: Language = {
	name: "c#",
	endings: [".cs"],
	testName: /Tests?\.cs$/,
	usages: "names",
	loadExtract: () =>
		withGrammar(GRAMMARS.csharp, async () => {
			const [{ extractOutline }, { rules }] = await Promise.all([
				import("../by-name/outline.ts"),
				import("./rules.ts"),
			]);
			return (_path, source, tree) => extractOutline(rules, source, tree);
		}),
	loadResolver: async () => (await import("../../resolve/csharp/resolver.ts")).createResolver,
};
