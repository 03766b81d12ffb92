import type { Language } from "../../language.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

export const go: Language = {
	name: "go",
	endings: [".go"],
	configs: ["go.mod", "go.work"],
	testName: /_test\.go$/,
	usages: "types",
	isSideless: true,
	hasPackages: true,
	isPublic: (name) => /^\p{Lu}/u.test(name),
	loadExtract: () =>
		withGrammar({ package: "tree-sitter-go", file: "tree-sitter-go.wasm" }, async () => {
			return (await import("./extract.ts")).extractGo;
		}),
	loadResolver: async () => (await import("../../resolve/go/resolver.ts")).createGoResolver,
};
