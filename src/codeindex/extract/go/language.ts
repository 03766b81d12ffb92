import type { Language } from "../../language.ts";
import { GRAMMARS } from "../tree-sitter/grammars.ts";
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
		withGrammar(GRAMMARS.go, async () => {
			return (await import("./extract.ts")).extractGo;
		}),
	loadResolver: async () => (await import("../../resolve/go/resolver.ts")).createGoResolver,
};
