import type { FileFacts } from "../../facts.ts";
import { FactsDraft } from "../tree-sitter/facts-draft.ts";
import type { SyntaxTree } from "../tree-sitter/syntax-tree.ts";
import { declareFile } from "./declarations.ts";
import { GoWalk } from "./walk.ts";

/** Pure. Names by scope, package and import; members where a type is written down. */
export function extractGo(path: string, source: string, tree: SyntaxTree): FileFacts {
	const draft = new FactsDraft(source);
	const file = declareFile(draft, path, tree.root);
	new GoWalk(draft, file).walkFile(tree.root);
	return draft.finish(tree);
}
