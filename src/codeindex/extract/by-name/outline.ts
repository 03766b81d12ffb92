import type { Declared, EdgeKind, FileFacts, Member, SymbolKind, UsageKind } from "../../facts.ts";
import { BY_NAME } from "../../language.ts";
import { blockBefore, commentBefore } from "../tree-sitter/doc-text.ts";
import { child, FactsDraft } from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode, SyntaxTree } from "../tree-sitter/syntax-tree.ts";

/** A declaration as a language finds it in its tree. */
export interface Found {
	readonly id: SyntaxNode;
	readonly symbol: SymbolKind;
	/** Holds members. */
	readonly body?: SyntaxNode | undefined;
	/** Members that are written elsewhere: components of a record. */
	readonly members?: readonly Found[];
	/** The signature ends here. Default: before the body, or the end of the node. */
	readonly headEnd?: number | undefined;
	/** What follows in the signature: `Foo` in `typedef struct { … } Foo`. */
	readonly signature?: SyntaxNode;
	/** Where it begins, if that is not its node: attributes stand before it. */
	readonly from?: number;
	/** The type to which it belongs, if that is written elsewhere: `Foo` in `void Foo::bar()`. */
	readonly owner?: SyntaxNode | undefined;
	/** The node of the declaration, if it is inside of the one that was looked at. */
	readonly node?: SyntaxNode;
}

export interface Import {
	readonly specifier: string;
	readonly node: SyntaxNode;
	readonly kind?: EdgeKind;
}

/** What the outline needs to know of a language. Usages are places of the same name. */
export interface OutlineRules {
	/** Declarations in a node; `through` for a node whose children may be declarations of the same level. */
	find(node: SyntaxNode, text: (node: SyntaxNode) => string): readonly Found[] | "through";
	imports(node: SyntaxNode, text: (node: SyntaxNode) => string): readonly Import[];
	/** Matches types of nodes that are names. */
	readonly names: RegExp;
	/** Matches types of nodes that stand before a declaration and belong to it: attributes. */
	readonly leading?: RegExp;
	/** Matches types of nodes whose declaration begins where they begin: templates. */
	readonly wrapping?: RegExp;
	/** Matches what begins a line of a doc comment. */
	readonly docLine?: RegExp;
	/** Whether others may use a declaration, by its signature. Default: yes. */
	isPublic?(signature: string, name: string): boolean;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Deeper declarations are part of an outer one. */
const MAX_DEPTH = 8;
/** Namespaces, directives and templates around a declaration. Each namespace counts twice. */
const MAX_THROUGH = 40;

/** Pure. Outline, imports and places of names. Nothing is bound: usages are found by name. */
export function extractOutline(rules: OutlineRules, source: string, tree: SyntaxTree): FileFacts {
	const draft = new FactsDraft(source);
	const outline = new Outline(rules, draft);
	outline.walk(tree.root);
	return draft.finish(tree);
}

class Outline {
	readonly #rules: OutlineRules;
	readonly #draft: FactsDraft;
	readonly #tops = new Map<string, number>();
	/** Top-level bindings without a body: prototypes. */
	readonly #bodiless = new Set<number>();
	readonly #declaredAt = new Set<number>();
	readonly #text = (node: SyntaxNode) => this.#draft.text(node);

	constructor(rules: OutlineRules, draft: FactsDraft) {
		this.#rules = rules;
		this.#draft = draft;
	}

	walk(root: SyntaxNode): void {
		const binding = this.#draft.namespace(this.#draft.request(BY_NAME, 0), 0);
		this.#declareIn(root.children);
		this.#walkNames(root, binding);
	}

	#declareIn(nodes: readonly SyntaxNode[]): void {
		for (const { node, found, from } of this.#foundIn(nodes)) this.#declareTop(node, found, from);
	}

	/** Declarations with the offset at which they begin, with their attributes. */
	*#foundIn(
		nodes: readonly SyntaxNode[],
		depth = 0,
		wrapped?: number,
	): Generator<{ readonly node: SyntaxNode; readonly found: Found; readonly from: number }> {
		let leading = wrapped;
		for (const node of nodes) {
			if (this.#rules.leading?.test(node.type)) {
				leading ??= node.start;
				continue;
			}
			const found = this.#rules.find(node, this.#text);
			if (found === "through") {
				const from = this.#rules.wrapping?.test(node.type) ? (leading ?? node.start) : undefined;
				if (depth < MAX_THROUGH) yield* this.#foundIn(node.children, depth + 1, from);
			} else {
				for (const one of found) {
					const at = one.node ?? node;
					yield {
						node: at,
						found: one,
						from: one.from ?? (at === node ? (leading ?? at.start) : at.start),
					};
				}
			}
			if (!/comment/.test(node.type)) leading = wrapped;
		}
	}

	#declareTop(node: SyntaxNode, found: Found, from: number): void {
		const { owner } = found;
		if (owner) {
			this.#addTo(owner, node, [this.#member(node, found, from)]);
			return;
		}
		const name = this.#text(found.id);
		const members = this.#membersOf(found);
		const known = this.#tops.get(name);
		const before = known === undefined ? undefined : (this.#draft.bindings[known] as Declared);
		this.#declaredAt.add(found.id.start);
		const hasBody = child(node, "body") !== undefined;
		const isDefinition = hasBody && known !== undefined && this.#bodiless.delete(known);
		if (before && known !== undefined && !before.partial && !isDefinition) {
			const alsoAt = [...(before.alsoAt ?? []), this.#draft.at(found.id.start)];
			const all = [...(before.members ?? []), ...members];
			this.#draft.bindings[known] = { ...before, alsoAt, ...(all.length > 0 && { members: all }) };
			return;
		}
		const doc = this.#docBefore(from) ?? before?.doc;
		const declared: Mutable<Declared> = {
			kind: "declared",
			name,
			symbol: found.symbol === "property" ? "variable" : found.symbol,
			...this.#extent(node, found, from),
			signature: this.#signature(node, found),
		};
		if (doc !== undefined) declared.doc = doc;
		const all = [...(before?.members ?? []), ...members];
		if (all.length > 0) declared.members = all;
		if (before && isDefinition) declared.alsoAt = [before.at, ...(before.alsoAt ?? [])];
		if (known !== undefined) this.#draft.bindings[known] = declared;
		const binding = known ?? this.#draft.declare(declared);
		this.#tops.set(name, binding);
		if (isDefinition) return; // its prototype decided whether others may use it
		if (!hasBody) this.#bodiless.add(binding);
		if (this.#rules.isPublic?.(declared.signature, name) ?? true) this.#draft.export(name, binding);
	}

	#extent(
		{ end }: SyntaxNode,
		{ id }: Found,
		from: number,
	): Pick<Declared, "at" | "startLine" | "endLine"> {
		const at = this.#draft.at(id.start);
		const startLine = this.#draft.line(from);
		return {
			at,
			...(startLine < at[0] && { startLine }),
			endLine: this.#draft.line(Math.max(this.#endOf(end), id.start)),
		};
	}

	/** Without the line break that ends a directive. */
	#endOf(end: number): number {
		return this.#draft.source[end - 1] === "\n" ? end - 1 : end;
	}

	/** Adds members to a type that may be declared elsewhere: `impl Foo`, `void Foo::bar()`. */
	#addTo(owner: SyntaxNode, node: SyntaxNode, members: readonly Member[]): void {
		const name = this.#text(owner);
		let binding = this.#tops.get(name);
		if (binding === undefined) {
			binding = this.#draft.declare({
				kind: "declared",
				name,
				symbol: "class",
				partial: true,
				at: this.#draft.at(owner.start),
				endLine: this.#draft.line(this.#endOf(node.end)),
				signature: `members of ${name}`,
			});
			this.#tops.set(name, binding);
		}
		const before = this.#draft.bindings[binding] as Declared;
		const endLine = before.partial ? this.#draft.line(node.end) : before.endLine;
		this.#draft.bindings[binding] = {
			...before,
			endLine,
			members: [...(before.members ?? []), ...members],
		};
	}

	#membersOf({ body, members: others = [] }: Found, depth = 0): Member[] {
		const members = others.map((one) => {
			const node = one.node ?? one.id;
			return this.#member(node, one, node.start, depth);
		});
		if (!body || depth >= MAX_DEPTH) return members;
		for (const { node, found, from } of this.#foundIn(body.children)) {
			const member = this.#member(node, found, from, depth);
			// `impl Foo` in the module that declares Foo.
			const owner = found.owner && this.#text(found.owner);
			const at = owner === undefined ? -1 : members.findIndex((one) => one.name === owner);
			const known = members[at];
			if (known) members[at] = { ...known, members: [...(known.members ?? []), member] };
			else members.push(member);
		}
		return members;
	}

	#member(node: SyntaxNode, found: Found, from: number, depth = 0): Member {
		this.#declaredAt.add(found.id.start);
		const { symbol } = found;
		const inner = this.#membersOf(found, depth + 1);
		const doc = this.#docBefore(from);
		return {
			name: this.#text(found.id),
			symbol: symbol === "function" ? "method" : symbol === "variable" ? "property" : symbol,
			static: false,
			...this.#extent(node, found, from),
			signature: this.#signature(node, found),
			...(doc !== undefined && { doc }),
			...(inner.length > 0 && { members: inner }),
		};
	}

	#signature(node: SyntaxNode, { body, headEnd, signature }: Found): string {
		const end = headEnd ?? body?.start ?? child(node, "body")?.start ?? node.end;
		const head = this.#draft.signature(node.start, Math.min(end, node.start + 400));
		return signature ? `${head} ${this.#draft.signature(signature.start, signature.end)}` : head;
	}

	#docBefore(start: number): string | undefined {
		const { source } = this.#draft;
		const { docLine } = this.#rules;
		return (docLine && commentBefore(source, start, docLine)) ?? blockBefore(source, start);
	}

	/** Not recursive: generated sources nest deeply. */
	#walkNames(root: SyntaxNode, binding: number): void {
		const { names } = this.#rules;
		const open: (readonly [node: SyntaxNode, parent: SyntaxNode])[] = [[root, root]];
		for (let next = open.pop(); next; next = open.pop()) {
			const [node, parent] = next;
			for (const { specifier, node: at, kind } of this.#rules.imports(node, this.#text)) {
				this.#draft.request(specifier, at.start, kind ?? "value");
			}
			if (names.test(node.type)) this.#name(node, parent, binding);
			else
				for (let at = node.children.length - 1; at >= 0; at--)
					open.push([node.children[at] as SyntaxNode, node]);
		}
	}

	#name(node: SyntaxNode, parent: SyntaxNode, binding: number): void {
		if (this.#declaredAt.has(node.start)) return;
		const usage = usageOf(node, parent);
		// Names of one letter are mostly local variables.
		if (node.end - node.start < 2 && usage === "read") return;
		const name = this.#text(node).replace(/^[$@]+/, "");
		const at = this.#draft.at(node.end - name.length);
		const steps = [{ name, at }];
		this.#draft.references.push({ binding, usage, side: "value", steps });
	}
}

function usageOf(node: SyntaxNode, parent: SyntaxNode): UsageKind {
	if (/creation|^new_/.test(parent.type)) return "new";
	if (/^type_identifier$/.test(node.type)) return "type";
	const isTarget = node.field === "function" || node.field === "name" || node.field === "method";
	if (/call|invocation/.test(parent.type) && (isTarget || parent.children[0] === node))
		return "call";
	return "read";
}

/** Declarations whose name and body are fields of the same names, by node type. */
export function byType(symbols: Readonly<Record<string, SymbolKind>>, through: RegExp) {
	return (node: SyntaxNode): readonly Found[] | "through" => {
		const symbol = symbols[node.type];
		const id = symbol && child(node, "name");
		if (symbol && id) return [{ id, symbol, ...bodyOf(node, symbol) }];
		return through.test(node.type) ? "through" : [];
	};
}

/** Bodies of functions hold no members. */
function bodyOf(node: SyntaxNode, symbol: SymbolKind): Pick<Found, "body"> {
	const body = child(node, "body");
	return body && symbol !== "function" && symbol !== "variable" ? { body } : {};
}
