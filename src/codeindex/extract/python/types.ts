import type { Step, TypeName } from "../../facts.ts";
import { type Chain, typeOf } from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";
import type { LocalValue, Name, Scope } from "./scope.ts";

/** What is known of a value: its type, or that of its elements. */
export interface Known {
	readonly type?: TypeName | undefined;
	readonly element?: TypeName | undefined;
}

const NOTHING: Known = {};

/** Generic types that stand for their last argument. */
const TRANSPARENT =
	/^(?:Optional|Union|Final|ClassVar|Required|NotRequired|ReadOnly|Awaitable|Coroutine)$/;
const CONTAINER =
	/^(?:[Ll]ist|[Ss]et|[Ff]rozen[Ss]et|Sequence|MutableSequence|Iterable|Iterator|AsyncIterable|AsyncIterator|Collection|AbstractSet|MutableSet|[Dd]eque|[Tt]uple|Generator|AsyncGenerator)$/;

export interface TypeReader {
	readonly source: string;
	/** The chain of an expression, without recording it. */
	chain(node: SyntaxNode, scope: Scope): Chain | undefined;
	/** The chain of a dotted name. */
	dottedChain(name: string, scope: Scope): Chain | undefined;
}

/** The type that an annotation names. Unions other than with `None` are unknown. */
export function annotated(read: TypeReader, node: SyntaxNode, scope: Scope): Known {
	switch (node.type) {
		case "type": {
			const [inner] = node.children;
			return inner ? annotated(read, inner, scope) : NOTHING;
		}
		case "identifier":
			if (textOf(read, node) === "Self" && scope.owner) {
				return { type: { ...scope.owner, side: "instance" } };
			}
			return { type: instance(read.chain(node, scope)) };
		case "attribute":
			return { type: instance(read.chain(node, scope)) };
		case "string":
			return quoted(read, textOf(read, node), scope);
		case "binary_operator":
		case "union_type": {
			const parts = node.children.filter((part) => textOf(read, part) !== "None");
			const [only, other] = parts;
			return only && !other ? annotated(read, only, scope) : NOTHING;
		}
		case "generic_type":
		case "subscript":
			return generic(read, node, scope);
	}
	return NOTHING;
}

function generic(read: TypeReader, node: SyntaxNode, scope: Scope): Known {
	const [base, ...rest] = node.children;
	if (!base) return NOTHING;
	const name = textOf(read, base).replace(/^.*\./, "");
	const isList = rest[0]?.type === "type_parameter" || rest[0]?.type === "tuple";
	const parts = isList ? (rest[0]?.children ?? []) : rest;
	const last = parts.filter((part) => textOf(read, part) !== "None").at(-1);
	if (name === "Annotated") return parts[0] ? annotated(read, parts[0], scope) : NOTHING;
	if (TRANSPARENT.test(name)) {
		const isUnion =
			name === "Union" && parts.filter((one) => textOf(read, one) !== "None").length > 1;
		return last && !isUnion ? annotated(read, last, scope) : NOTHING;
	}
	if (CONTAINER.test(name)) {
		const element = /enerator$/.test(name) ? parts[0] : last;
		const isMixed = /uple$/.test(name) && parts.length > 1 && textOf(read, last ?? node) !== "...";
		return element && !isMixed ? { element: annotated(read, element, scope).type } : NOTHING;
	}
	return annotated(read, base, scope);
}

/** A quoted annotation: a dotted name, alone, in `Optional[…]` or with `| None`. */
function quoted(read: TypeReader, text: string, scope: Scope): Known {
	const [, name] =
		/^["']+\s*(?:Optional\[\s*)?([\p{L}_][\w.]*)(?:\[[^\]]*\])?\s*\]?\s*(?:\|\s*None\s*)?["']+$/u.exec(
			text,
		) ?? [];
	return name === undefined ? NOTHING : { type: instance(read.dottedChain(name, scope)) };
}

function instance(chain: Chain | undefined): TypeName | undefined {
	const type = typeOf(chain);
	const last = type?.path?.at(-1);
	if (!type || !last) return type && { ...type, side: "instance" };
	return { ...type, path: [...(type.path?.slice(0, -1) ?? []), { ...last, called: true }] };
}

/** The type of a variable, if all its assignments agree. */
export function typeOfName(name: Name, evaluate: (value: LocalValue) => Known | "none"): Known {
	if (name.type === undefined) {
		// Guards against cycles: a variable may be assigned from itself.
		name.type = null;
		name.element = null;
		const found = agreed(name.values.map(evaluate));
		name.type = found.type ?? null;
		name.element = found.element ?? null;
	}
	return { type: name.type ?? undefined, element: name.element ?? undefined };
}

function agreed(all: readonly (Known | "none")[]): Known {
	const known = all.filter((one) => one !== "none");
	const [first, ...others] = known;
	if (!first) return NOTHING;
	const same = (one: TypeName | undefined, other: TypeName | undefined) =>
		keyOf(one) === keyOf(other);
	const isAgreed = others.every(
		(one) => same(one.type, first.type) && same(one.element, first.element),
	);
	return isAgreed ? first : NOTHING;
}

function keyOf(type: TypeName | undefined): string {
	if (!type) return "";
	const step = ({ name, called }: Step) => `${name}${called ? "()" : ""}`;
	return `${type.binding} ${type.side} ${type.path?.map(step).join(".") ?? ""}`;
}

function textOf({ source }: TypeReader, { start, end }: SyntaxNode): string {
	return source.slice(start, end);
}
