import { readFile } from "node:fs/promises";
import { Language, Parser, type Tree, type TreeCursor } from "web-tree-sitter";
import type { FileFacts } from "../../facts.ts";
import type { GrammarFile } from "../../language.ts";
import { grammarPath } from "./grammars.ts";

/** A named node of the syntax tree. Offsets count UTF-16 code units. */
export interface SyntaxNode {
	readonly type: string;
	readonly start: number;
	readonly end: number;
	/** Name of the parent's field that holds this node; empty if none does. */
	readonly field: string;
	readonly children: readonly SyntaxNode[];
}

export interface SyntaxTree {
	readonly root: SyntaxNode;
	/** Offset of the first syntax error. */
	readonly errorAt?: number;
}

/** Larger sources are data. Their trees would take hundreds of megabytes. */
export const MAX_TREE_SOURCE = 4 * 1024 * 1024;

/** Operands from left to right. Not recursive: generated sources join thousands of strings. */
export function operandsOf(node: SyntaxNode): readonly SyntaxNode[] {
	const operands: SyntaxNode[] = [];
	let at = node;
	for (;;) {
		const [left, ...others] = at.children;
		operands.push(...others.reverse());
		if (!left) break;
		if (left.type !== node.type) {
			operands.push(left);
			break;
		}
		at = left;
	}
	return operands.reverse();
}

export function tooLarge(source: string): FileFacts {
	return {
		status: "broken",
		problem: `it has ${source.length} characters; files over ${MAX_TREE_SOURCE} are searched as text only`,
		isModule: true,
		lines: source.split("\n").length,
		requests: [],
		bindings: [],
		exports: [],
		references: [],
		looseAccesses: new Map(),
	};
}

/** One grammar, loaded. Parsing is synchronous, and frees the memory of its tree. */
export class Grammar {
	readonly #parser: Parser;
	/** By type id. Undefined for anonymous nodes, which are left out. */
	readonly #types: readonly (string | undefined)[];
	readonly #isLeaf: readonly boolean[];
	readonly #fields: readonly string[];

	private constructor(language: Language) {
		this.#parser = new Parser();
		this.#parser.setLanguage(language);
		this.#types = Array.from({ length: language.nodeTypeCount }, (_, id) => {
			return language.nodeTypeIsNamed(id) ? (language.nodeTypeForId(id) ?? "") : undefined;
		});
		this.#isLeaf = this.#types.map((type) => type !== undefined && LEAF.test(type));
		this.#fields = Array.from({ length: language.fieldCount + 1 }, (_, id) => {
			return language.fieldNameForId(id) ?? "";
		});
	}

	static async load(file: GrammarFile): Promise<Grammar> {
		started ??= Parser.init();
		await started;
		return new Grammar(await Language.load(await readFile(grammarPath(file))));
	}

	parse(source: string): SyntaxTree {
		const tree = this.#parser.parse(source) as Tree;
		const cursor = tree.walk();
		try {
			return this.#copy(cursor, tree.rootNode.hasError);
		} finally {
			cursor.delete();
			tree.delete();
		}
	}

	/** Copies named nodes with a cursor, which takes a quarter of the time of node objects. Not recursive. */
	#copy(cursor: TreeCursor, hasError: boolean): SyntaxTree {
		let errorAt: number | undefined;
		const make = (id: number): Building => {
			// Errors have a type id outside of the table.
			const type = this.#types[id] ?? "ERROR";
			const start = cursor.startIndex;
			const end = cursor.endIndex;
			if (hasError && (type === "ERROR" || cursor.nodeIsMissing)) errorAt ??= start;
			return { type, start, end, field: this.#fields[cursor.currentFieldId] ?? "", children: [] };
		};
		const count = this.#types.length;
		let id = cursor.nodeTypeId;
		const root = make(id);
		const parents: Building[] = [];
		let node = root;
		for (;;) {
			if (this.#isLeaf[id] !== true && cursor.gotoFirstChild()) parents.push(node);
			else if (!next(cursor, parents)) break;
			id = cursor.nodeTypeId;
			// Anonymous nodes have no children, so they are not entered.
			while (id < count && this.#types[id] === undefined) {
				if (hasError && cursor.nodeIsMissing) errorAt ??= cursor.startIndex;
				if (!next(cursor, parents)) return finish(root, errorAt);
				id = cursor.nodeTypeId;
			}
			node = make(id);
			(parents.at(-1) as Building).children.push(node);
		}
		return finish(root, errorAt);
	}
}

/** Nodes without children. Not entering them saves a tenth of the time. */
const LEAF =
	/^(?:type_|field_|package_)?identifier$|comment$|^(?:integer|float|true|false|none|nil|null|self|this|name|string_start|string_end)$|_content$|_sequence$|^(?:interpreted_string|raw_string|string|int|integer|float|rune|char|character|decimal_integer|number)_literal$/;

let started: Promise<void> | undefined;

interface Building extends SyntaxNode {
	readonly children: SyntaxNode[];
}

/** Moves to the next node after the current subtree. Returns false at the end of the tree. */
function next(cursor: TreeCursor, parents: Building[]): boolean {
	while (!cursor.gotoNextSibling()) {
		if (parents.pop() === undefined || !cursor.gotoParent()) return false;
		if (parents.length === 0) return false;
	}
	return true;
}

function finish(root: SyntaxNode, errorAt: number | undefined): SyntaxTree {
	return errorAt === undefined ? { root } : { root, errorAt };
}
