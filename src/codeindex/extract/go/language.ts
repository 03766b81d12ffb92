import type { Language } from "../../language.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

const grammar = { package: "tree-sitter-go", file: "tree-sitter-go.wasm" };

export const go: Language = {
	name: "go",
	grammar,
	endings: [".go"],
	configs: ["go.mod", "go.work"],
	testName: /_test\.go$/,
	usages: "types",
	isSideless: true,
	hasPackages: true,
	isPublic: (name) => /^\p{Lu}/u.test(name),
	loadExtract: () =>
		withGrammar(grammar, async () => {
			return (await import("./extract.ts")).extractGo;
		}),
	loadResolver: async () => (await import("../../resolve/go/resolver.ts")).createGoResolver,
};
