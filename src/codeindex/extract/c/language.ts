import type { Language } from "../../language.ts";
import { grammar as cppGrammar } from "../cpp/language.ts";
import { parsable } from "../cpp/parsable.ts";
import { withGrammar } from "../tree-sitter/with-grammar.ts";

/** Headers may be C++. They are parsed as such if they have its keywords. */
const CPP =
	/^\s*(?:class|namespace|template|using|public:|private:|protected:)\b|\b(?:virtual|constexpr|typename)\b|::/m;

const grammar = { package: "tree-sitter-c", file: "tree-sitter-c.wasm" };

export const c: Language = {
	name: "c",
	grammar,
	endings: [".c", ".h"],
	testName: /^test_.*\.c$|_tests?\.c$/,
	usages: "names",
	family: "c",
	loadExtract: async () => {
		const load = async () => {
			const [{ extractOutline }, { rules }] = await Promise.all([
				import("../by-name/outline.ts"),
				import("./rules.ts"),
			]);
			return (_path: string, source: string, tree: Parameters<typeof extractOutline>[2]) =>
				extractOutline(rules, source, tree);
		};
		const [plain, cpp] = await Promise.all([
			withGrammar(grammar, load),
			withGrammar(cppGrammar, load, parsable),
		]);
		return (path, source) => (path.endsWith(".h") && CPP.test(source) ? cpp : plain)(path, source);
	},
	loadResolver: async () => (await import("../../resolve/c/resolver.ts")).createResolver,
};
