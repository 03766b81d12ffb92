import type { Language } from "../../language.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

const grammar = { package: "tree-sitter-c-sharp", file: "tree-sitter-c_sharp.wasm" };

export const csharp: Language = {
	name: "c#",
	grammar,
	endings: [".cs"],
	testName: /Tests?\.cs$/,
	usages: "names",
	loadExtract: () =>
		withGrammar(grammar, async () => {
			const [{ extractOutline }, { rules }] = await Promise.all([
				import("../by-name/outline.ts"),
				import("./rules.ts"),
			]);
			return (_path, source, tree) => extractOutline(rules, source, tree);
		}),
	loadResolver: async () => (await import("../../resolve/csharp/resolver.ts")).createResolver,
};
