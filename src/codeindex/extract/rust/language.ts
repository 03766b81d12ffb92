import type { Language } from "../../language.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

export const rust: Language = {
	name: "rust",
	endings: [".rs"],
	testName: /^tests?\.rs$|_tests?\.rs$/,
	usages: "names",
	loadExtract: () =>
		withGrammar({ package: "tree-sitter-rust", file: "tree-sitter-rust.wasm" }, async () => {
			const [{ extractOutline }, { rules }] = await Promise.all([
				import("../by-name/outline.ts"),
				import("./rules.ts"),
			]);
			return (_path, source, tree) => extractOutline(rules, source, tree);
		}),
	loadResolver: async () => (await import("../../resolve/rust/resolver.ts")).createResolver,
};
