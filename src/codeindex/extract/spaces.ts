import type { Member, SymbolKind, TypeName } from "../facts.ts";
import type { Identifier, Node, Of } from "./ast.ts";
import { declareStatements, isAmbient, type Space } from "./declare.ts";
import type { Draft } from "./draft.ts";
import { moduleName } from "./imports.ts";
import { describe, membersOf } from "./members.ts";
import { eachName } from "./patterns.ts";
import { member, resultOf, typeOfAnnotation, typeOfExpression, typeOfName } from "./receivers.ts";
import { ANY, inside, lookup, type Scope } from "./scope.ts";

/** The scope inside a namespace. Declarations of one namespace see each other's exported names. */
export function enterSpace(
	draft: Draft,
	outer: Scope,
	body: Of<"TSModuleBlock">,
	owner: TypeName | undefined,
	ambient: boolean,
): Scope {
	const entered = draft.entered.get(body);
	if (entered) return entered;
	const space = owner && spaceOf(draft, outer, owner, ambient);
	const scope = inside(space?.exported ?? outer);
	draft.entered.set(body, scope);
	declareStatements(draft, scope, body.body, space);
	return scope;
}

/** What a class, enum or namespace is to its inside: a binding or a member of one. */
export function ownType(scope: Scope, name: string, meaning: number): TypeName | undefined {
	const found = lookup(scope, name, meaning);
	if (found?.kind === "binding") return { binding: found.binding, side: "value" };
	return found?.kind === "member" ? member(found.owner, found.name) : undefined;
}

/** What the inside of `namespace A.B` is a part of: `B` of `A`. */
export function innerOwner(id: Node, first: TypeName | undefined): TypeName | undefined {
	return namesOf(id)
		.slice(1)
		.reduce((owner, { name }) => member(owner, name), first);
}

/** The members that a namespace exports. */
export function spaceMembers(
	draft: Draft,
	scope: Scope,
	node: Of<"TSModuleDeclaration">,
	owner: TypeName,
): Member[] {
	const { body, id } = node;
	if (!body || id.type === "Literal") return [];
	const inner = innerOwner(id, owner);
	const ambient = isAmbient(draft, node);
	const own = inner
		? bodyMembers(draft, enterSpace(draft, scope, body, inner, ambient), body.body, inner, ambient)
		: [];
	// `namespace A.B.C` is three: each is the only member of the one before, as written here.
	return namesOf(id)
		.slice(1)
		.reduceRight(
			(members, { name, start }) => [
				describe(draft, { key: { name, start }, node, symbol: "namespace", static: true, members }),
			],
			own,
		);
}

function namesOf(id: Node): Identifier[] {
	if (id.type === "TSQualifiedName") return [...namesOf(id.left), id.right];
	return id.type === "Identifier" ? [id] : [];
}

function spaceOf(draft: Draft, outer: Scope, owner: TypeName, ambient: boolean): Space {
	const key = [owner.binding, ...(owner.path ?? []).map(({ name }) => name)].join(".");
	const exported = draft.spaces.get(key) ?? inside(outer);
	draft.spaces.set(key, exported);
	return { owner, exported, ambient };
}

function bodyMembers(
	draft: Draft,
	scope: Scope,
	statements: readonly Node[],
	owner: TypeName,
	ambient: boolean,
): Member[] {
	return statements.flatMap((statement) => {
		if (statement.type === "ExportNamedDeclaration" && statement.declaration) {
			return declared(draft, scope, statement.declaration, owner);
		}
		if (statement.type === "ExportNamedDeclaration") {
			return statement.specifiers.map((one) => passedOn(draft, scope, one));
		}
		return ambient ? declared(draft, scope, statement, owner) : [];
	});
}

/** A name of an export list stands for what it names. */
function passedOn(draft: Draft, scope: Scope, node: Of<"ExportSpecifier">): Member {
	const found = lookup(scope, moduleName(node.local).name, ANY);
	const type = found && typeOfName(draft, found);
	const key = moduleName(node.exported);
	return describe(draft, { key, node, symbol: "variable", static: true, type });
}

const SYMBOLS: Readonly<Record<string, SymbolKind>> = {
	FunctionDeclaration: "function",
	TSDeclareFunction: "function",
	ClassDeclaration: "class",
	TSInterfaceDeclaration: "interface",
	TSTypeAliasDeclaration: "type",
	TSEnumDeclaration: "enum",
	TSModuleDeclaration: "namespace",
};

function declared(draft: Draft, scope: Scope, node: Node, owner: TypeName): Member[] {
	if (node.type === "VariableDeclaration") {
		return node.declarations.flatMap((declarator) => variables(draft, scope, declarator, owner));
	}
	const symbol = SYMBOLS[node.type];
	const id = "id" in node ? (node.id as Node | null) : undefined;
	const key = id ? namesOf(id)[0] : undefined;
	if (!symbol || !key) return [];
	const own = member(owner, key.name);
	const members = own ? membersOf(draft, scope, node, own) : [];
	const isFunction = node.type === "FunctionDeclaration" || node.type === "TSDeclareFunction";
	const type = isFunction ? resultOf(draft, scope, node) : undefined;
	return [describe(draft, { key, node, symbol, static: true, members, type })];
}

function variables(
	draft: Draft,
	scope: Scope,
	node: Of<"VariableDeclarator">,
	owner: TypeName,
): Member[] {
	const found: Member[] = [];
	eachName(node.id, { init: node.init ?? undefined }, (key, { annotation, init, path }) => {
		const own = member(owner, key.name);
		const type = annotation
			? typeOfAnnotation(draft, scope, annotation)
			: init && !path && typeOfExpression(draft, scope, init);
		const members = own && !path ? membersOf(draft, scope, node, own) : [];
		const symbol = "variable";
		found.push(
			describe(draft, { key, node, symbol, static: true, members, type: type || undefined }),
		);
	});
	return found;
}
