import type { Declared, Member, SymbolKind, TypeName } from "../facts.ts";
import { annotationOf, bare, type FunctionNode, type Node, symbolOfValue } from "./ast.ts";
import { docBefore } from "./docs.ts";
import type { Declaration, Draft, Pending, Place } from "./draft.ts";
import { generic, membersOf, partsOf } from "./members.ts";
import {
	given,
	member,
	resultOf,
	typeOfAnnotation,
	typeOfEntity,
	typeOfExpression,
	typeOfValue,
} from "./receivers.ts";
import { TYPE, VALUE } from "./scope.ts";
import { headEnd, headOf } from "./signature.ts";

export function describeBindings(draft: Draft): void {
	for (const [index, binding] of draft.bindings.entries()) {
		if (binding.kind === "pending") draft.bindings[index] = describe(draft, binding, index);
	}
}

// Preferred kind of a name with several.
const RANK: readonly SymbolKind[] = ["class", "function", "enum", "variable", "interface", "type"];

function describe(draft: Draft, { name, declarations }: Pending, index: number): Declared {
	const { positions, source } = draft;
	const top = { draft, scope: draft.top };
	const kinds = declarations.map((one) => symbolOf(one));
	const symbol = RANK.find((kind) => kinds.includes(kind)) ?? kinds[0] ?? "variable";
	const main = declarations[kinds.indexOf(symbol)] as Declaration;
	const last = symbol === "function" ? (declarations[kinds.lastIndexOf(symbol)] ?? main) : main;
	const others = declarations.filter((one) => one !== main);
	const docs = [main, ...others].map((one) => docBefore(source, one.from));
	const doc = docs.find((text) => text !== undefined);
	const owner: TypeName = { binding: index, side: "value" };
	for (const one of declarations) {
		const value = bare(initialOf(one.node) ?? one.node);
		if (value.type === "ObjectExpression" || value.type === "ClassExpression") {
			draft.owners.set(value, owner);
		}
	}
	const members = merged(declarations.flatMap((one) => membersOf(top, one.node, owner)));
	const heritage = declarations
		.flatMap((one) => heritageOf(top, one.node))
		.filter((type) => type !== undefined);
	const type = typeOf(top, main, symbol);
	return {
		kind: "declared",
		name,
		symbol,
		at: positions.at(main.id.start),
		...(others.length > 0 && { alsoAt: others.map((one) => positions.at(one.id.start)) }),
		endLine: positions.line(Math.max(last.node.end - 1, 0)),
		signature: headOf(source, headStart(draft, main), headEnd(main.node)),
		...(doc !== undefined && { doc }),
		...(heritage.length > 0 && { heritage }),
		...(type && { type }),
		...(members.length > 0 && { members }),
	};
}

/** `const f = () => …` is a function, `const C = class …` a class. */
function symbolOf({ symbol, node, path }: Declaration): SymbolKind {
	const value = symbolOfValue(path ? undefined : initialOf(node));
	return value === "variable" ? symbol : value;
}

function initialOf(node: Node): Node | undefined {
	return node.type === "VariableDeclarator" && node.init ? bare(node.init) : undefined;
}

function heritageOf(place: Place, node: Node): (TypeName | undefined)[] {
	switch (node.type) {
		case "VariableDeclarator":
			return node.init ? heritageOf(place, bare(node.init)) : [];
		case "ClassDeclaration":
		case "ClassExpression": {
			const inner = generic(place, node);
			const base = node.superClass ? [given(typeOfExpression(inner, node.superClass))] : [];
			const types = node.implements?.map((one) => typeOfEntity(inner, one.expression, TYPE)) ?? [];
			return [...base, ...types];
		}
		case "TSInterfaceDeclaration": {
			const inner = generic(place, node);
			return node.extends.map((one) => typeOfEntity(inner, one.expression, TYPE));
		}
		case "TSTypeAliasDeclaration": {
			const inner = generic(place, node);
			return partsOf(node.typeAnnotation).map((part) => typeOfAnnotation(inner, part));
		}
		default:
			return [];
	}
}

function typeOf(top: Place, declaration: Declaration, symbol: SymbolKind): TypeName | undefined {
	const { node, path = [] } = declaration;
	if (symbol === "function") return resultOf(top, (initialOf(node) ?? node) as FunctionNode);
	if (symbol !== "variable") return undefined;
	if (node.type === "TSImportEqualsDeclaration") {
		return typeOfEntity(top, node.moduleReference, VALUE);
	}
	if (node.type !== "VariableDeclarator") return typeOfExpression(top, node);
	const value = { annotation: annotationOf(node.id) ?? undefined, init: node.init ?? undefined };
	return path.reduce(member, typeOfValue(top, value));
}

/** `const`, `let` and `var` precede the declarator but belong to the head. */
function headStart(draft: Draft, { node }: Declaration): number {
	if (node.type !== "VariableDeclarator") return node.start;
	const word = /\b(?:const|let|var|using)\s+$/.exec(
		draft.source.slice(Math.max(0, node.start - 20), node.start),
	);
	return word ? node.start - word[0].length : node.start;
}

function merged(members: readonly Member[]): Member[] {
	const byName = Map.groupBy(members, (member) => `${member.static} ${member.name}`);
	return [...byName.values()].map((same) => (same.length === 1 ? (same[0] as Member) : one(same)));
}

function one(same: readonly Member[]): Member {
	const [first, ...others] = same as [Member, ...Member[]];
	const type = same.find((part) => part.type)?.type;
	const inner = merged(same.flatMap((part) => part.members ?? []));
	return {
		...first,
		alsoAt: others.map(({ at }) => at),
		endLine: same.reduce((last, { endLine }) => Math.max(last, endLine), 0),
		...(type && { type }),
		...(inner.length > 0 && { members: inner }),
	};
}
