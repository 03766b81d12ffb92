import { nameOf } from "../../../core/project-path.ts";
import type { FileFacts } from "../../facts.ts";
import { FactsDraft } from "../tree-sitter/facts-draft.ts";
import type { SyntaxTree } from "../tree-sitter/syntax-tree.ts";
import { describeModule } from "./declarations.ts";
import { PythonWalk } from "./walk.ts";

/** Pure. Names by scope and import; members where a type is written down. */
export function extractPython(path: string, source: string, tree: SyntaxTree): FileFacts {
	const draft = new FactsDraft(source);
	const isPackage = /^__init__\.pyi?$/.test(nameOf(path));
	const walk = new PythonWalk(draft, isPackage);
	walk.declareModule(tree.root.children);
	describeModule(walk, tree.root.children);
	walk.walkModule(tree.root.children);
	return draft.finish(tree);
}
