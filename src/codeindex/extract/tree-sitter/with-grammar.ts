import type { FileFacts } from "../../facts.ts";
import type { Extract, GrammarFile } from "../../language.ts";
import type { SyntaxTree } from "./syntax-tree.ts";

type ExtractTree = (path: string, source: string, tree: SyntaxTree) => FileFacts;

/** Loads the runtime, the grammar and the extractor together, on first use. */
export async function withGrammar(
	grammar: GrammarFile,
	load: () => Promise<ExtractTree>,
): Promise<Extract> {
	const { Grammar, MAX_TREE_SOURCE, tooLarge } = await import("./syntax-tree.ts");
	const [loaded, extract] = await Promise.all([Grammar.load(grammar), load()]);
	return (path, source) =>
		source.length > MAX_TREE_SOURCE
			? tooLarge(source)
			: extract(path, source, loaded.parse(source));
}
