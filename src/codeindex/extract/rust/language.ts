import type { Language } from "../../language.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";
import { parsable } from "./parsable.ts";

const grammar = { package: "tree-sitter-rust", file: "tree-sitter-rust.wasm" };

export const rust: Language = {
	name: "rust",
	grammar,
	endings: [".rs"],
	testName: /^tests?\.rs$|_tests?\.rs$/,
	usages: "names",
	loadExtract: () =>
		withGrammar(
			grammar,
			async () => {
				const [{ extractOutline }, { rules }] = await Promise.all([
					import("../by-name/outline.ts"),
					import("./rules.ts"),
				]);
				return (_path, source, tree) => extractOutline(rules, source, tree);
			},
			parsable,
		),
	loadResolver: async () => (await import("../../resolve/rust/resolver.ts")).createResolver,
};
