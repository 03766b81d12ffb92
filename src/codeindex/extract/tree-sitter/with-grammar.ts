import type { FileFacts } from "../../facts.ts";
import type { Extract, GrammarFile } from "../../language.ts";
import type { SyntaxTree } from "./syntax-tree.ts";

type ExtractTree = (path: string, source: string, tree: SyntaxTree) => FileFacts;

/** Returns a text of the same length that the grammar understands better. */
type Prepare = (source: string) => string;

/** Loads the runtime, the grammar and the extractor together, on first use. */
export async function withGrammar(
	grammar: GrammarFile,
	load: () => Promise<ExtractTree>,
	prepare: Prepare = (source) => source,
): Promise<Extract> {
	const { Grammar, MAX_TREE_SOURCE, tooLarge } = await import("./syntax-tree.ts");
	const [loaded, extract] = await Promise.all([Grammar.load(grammar), load()]);
	return (path, source) =>
		source.length > MAX_TREE_SOURCE
			? tooLarge(source)
			: extract(path, source, loaded.parse(prepare(source)));
}
