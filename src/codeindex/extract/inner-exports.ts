/** CommonJS exports of names inside of functions that run at once, as in modules for several loaders. */
import { type FunctionNode, isFunction, type Key, memberKey, type Node, type Of } from "./ast.ts";
import { type Declaration, type FactsBuilder, SYMBOLS } from "./facts-builder.ts";
import { eachName, type LocalName, Scope, VALUE } from "./scope.ts";

/** The function of `(function () { … })()` and of `(function () { … }).call(this)`, with its arguments. */
export function calledAtOnce(
	node: Of<"CallExpression">,
): { readonly inner: FunctionNode; readonly given: readonly Node[] } | undefined {
	const { callee, arguments: given } = node;
	if (isFunction(callee)) return { inner: callee, given };
	if (callee.type !== "MemberExpression" || !isFunction(callee.object)) return undefined;
	return memberKey(callee)?.name === "call"
		? { inner: callee.object, given: given.slice(1) }
		: undefined;
}

/** The scope of a function's body. Its names can be exported; see {@link exportedFromInside}. */
export function innerScope(
	facts: FactsBuilder,
	outer: Scope,
	{ params, body }: FunctionNode,
	given: readonly Node[] = [],
): { readonly scope: Scope; readonly statements: readonly Node[] } {
	const scope = new Scope(outer, { isFunction: true });
	const statements = body?.type === "BlockStatement" ? body.body : [];
	params.forEach((one, index) => {
		scope.declarePattern(one, { init: given[index] });
	});
	for (const node of statements) {
		for (const declaration of declarationsIn(node)) {
			scope.declare(declaration.id, VALUE);
			const name = scope.names.get(declaration.id.name);
			if (name?.kind === "local") facts.innerNames.set(name, { declaration, statements });
		}
	}
	return { scope, statements };
}

function declarationsIn(node: Node): Declaration[] {
	const symbol = SYMBOLS[node.type];
	if (symbol === "function" || symbol === "class") {
		const { id } = node as Of<"ClassDeclaration">;
		return id ? [{ symbol, id, node, from: node.start }] : [];
	}
	if (node.type !== "VariableDeclaration") return [];
	return node.declarations.flatMap((declarator) => {
		const found: Declaration[] = [];
		eachName(declarator.id, {}, (id: Key) => {
			found.push({ symbol: "variable", id, node: declarator, from: node.start });
		});
		return found;
	});
}

/** Makes a name inside of a function a binding of the file, so that its uses are followed. */
export function exportedFromInside(
	facts: FactsBuilder,
	scope: Scope,
	name: string,
): number | undefined {
	const found = scope.lookup(name, VALUE);
	const inner = found?.kind === "local" ? facts.innerNames.get(found) : undefined;
	if (!inner || found?.kind !== "local") return undefined;
	const binding = facts.declareHidden(inner.declaration);
	const known = facts.innerBindings.get(inner.statements) ?? new Map<string, number>();
	facts.innerBindings.set(inner.statements, known.set(name, binding));
	found.scope.names.set(name, { kind: "binding", binding, meaning: found.meaning });
	return binding;
}

/** What `factory()` returns, if `factory` is a parameter for which a function is given. */
export function factoryResult(
	facts: FactsBuilder,
	scope: Scope,
	call: Node,
): { readonly scope: Scope; readonly value: Node } | undefined {
	if (call.type !== "CallExpression" || call.callee.type !== "Identifier") return undefined;
	const name = scope.lookup(call.callee.name, VALUE);
	const factory = name?.kind === "local" ? factoryOf(name) : undefined;
	if (!factory) return undefined;
	const { scope: own, statements } = innerScope(facts, facts.top, factory);
	const last = statements.findLast(({ type }) => type === "ReturnStatement");
	const body = factory.body?.type === "BlockStatement" ? undefined : factory.body;
	const value = last?.type === "ReturnStatement" ? last.argument : body;
	return value ? { scope: own, value } : undefined;
}

function factoryOf({ value }: LocalName): FunctionNode | undefined {
	return value && !value.path && isFunction(value.init) ? value.init : undefined;
}
