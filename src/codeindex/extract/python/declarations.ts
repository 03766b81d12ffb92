import { getOrAdd } from "../../../core/get-or-add.ts";
import type { Declared, Member, TypeName } from "../../facts.ts";
import { firstSentence } from "../tree-sitter/doc-text.ts";
import { child, typeOf } from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";
import type { PythonChains, TopDeclaration } from "./chains.ts";
import { fields, namesBoundIn, Scope, type Target } from "./scope.ts";
import { annotated } from "./types.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Completes the declarations at the top level, after all names are known. */
export function describeModule(walk: PythonChains, statements: readonly SyntaxNode[]): void {
	noteDecorated(walk, statements);
	for (const top of walk.tops.values()) noteClasses(walk, top);
	for (const top of walk.tops.values()) {
		walk.draft.bindings[top.binding] = describe(walk, top);
	}
}

function noteClasses(walk: PythonChains, { binding, nodes }: TopDeclaration): void {
	for (const node of nodes) {
		if ("by" in node || node.type !== "class_definition") continue;
		noteClass(walk, node, { binding, side: "value" });
	}
}

function noteClass(walk: PythonChains, node: SyntaxNode, type: TypeName): void {
	walk.classes.set(node, type);
	for (const inner of definitionsIn(walk, node)) {
		const id = child(inner, "name");
		if (inner.type !== "class_definition" || !id) continue;
		const step = { name: walk.draft.text(id), called: true } as const;
		noteClass(walk, inner, { ...type, path: [...(type.path ?? []), step] });
	}
}

function definitionsIn(walk: PythonChains, node: SyntaxNode): readonly SyntaxNode[] {
	return namesBoundIn(child(node, "body")?.children ?? [], walk.source).definitions;
}

function describe(walk: PythonChains, { name, binding, nodes }: TopDeclaration): Declared {
	const { draft } = walk;
	// A definition says more than an assignment, as in `try: from x import f` with its own `def f`.
	const main = nodes.find((node) => !("by" in node)) ?? nodes[0];
	if (!main || "by" in main) return describeVariable(walk, name, binding, main as Target);
	const id = child(main, "name") ?? main;
	const also = nodes.filter((node) => node !== main && !("by" in node)) as SyntaxNode[];
	const isClass = main.type === "class_definition";
	const declared: Mutable<Declared> = {
		kind: "declared",
		name,
		symbol: isClass ? "class" : "function",
		at: draft.at(id.start),
		...startLine(walk, main),
		endLine: isClass ? draft.line(main.end) : draft.line(endTogether(walk, [main, ...also])),
		signature: signatureOf(walk, main),
	};
	const alsoAt = also.map((node) => draft.at((child(node, "name") ?? node).start));
	if (alsoAt.length > 0) declared.alsoAt = alsoAt;
	const doc = docOf(walk, main);
	if (doc !== undefined) declared.doc = doc;
	if (isClass) {
		const heritage = heritageOf(walk, main, walk.module, { binding, side: "value" });
		if (heritage.length > 0) declared.heritage = heritage;
		// A class can be written once in each branch.
		const all = [main, ...also.filter(({ type }) => type === "class_definition")];
		const byName = new Map<string, Member>();
		for (const member of all.flatMap((node) => membersOf(walk, node, walk.module))) {
			if (!byName.has(member.name)) byName.set(member.name, member);
		}
		const members = [...byName.values()];
		if (members.length > 0) declared.members = members;
	} else {
		const type = resultOf(walk, main, walk.module);
		if (type) declared.type = type;
	}
	return declared;
}

/** Present if decorators begin on an earlier line. */
function startLine(walk: PythonChains, node: SyntaxNode): Pick<Declared, "startLine"> {
	const line = walk.draft.line(walk.startOf(node));
	return line < walk.draft.line((child(node, "name") ?? node).start) ? { startLine: line } : {};
}

/** End of the first definition and those that follow it at once: overloads, setters, those of other branches. */
function endTogether(walk: PythonChains, nodes: readonly SyntaxNode[]): number {
	return nodes.reduce((end, node) => {
		const between = walk.source.slice(end, walk.startOf(node));
		const isNext = between.length <= 500 && between.split("\n").every((line) => BETWEEN.test(line));
		return isNext ? Math.max(end, node.end) : end;
	}, nodes[0]?.end ?? 0);
}

const BETWEEN = /^\s*(?:#.*|(?:if|elif|else|try|except|finally)\b.*:\s*)?$/;

function describeVariable(
	walk: PythonChains,
	name: string,
	binding: number,
	{ id, by }: Target,
): Declared {
	const { draft } = walk;
	const known = walk.module.names.get(name);
	const type = known && known.bindings.length === 1 ? walk.knownOf(known).type : undefined;
	const isPlain = by.type === "assignment" || by.type === "type_alias_statement";
	const end = isPlain && by.end - by.start <= 80 ? by.end : id.end;
	return {
		kind: "declared",
		name,
		symbol: by.type === "type_alias_statement" ? "type" : "variable",
		at: draft.at(id.start),
		endLine: draft.line(isPlain ? by.end : id.end),
		signature: draft.signature(isPlain ? by.start : id.start, end),
		...(type && type.binding !== binding && { type }),
	};
}

function heritageOf(
	walk: PythonChains,
	node: SyntaxNode,
	scope: Scope,
	owner: TypeName,
): TypeName[] {
	const parents = child(node, "superclasses")?.children ?? [];
	const types = parents.flatMap((parent) => {
		const base = parent.type === "subscript" ? parent.children[0] : parent;
		if (!base || (base.type !== "identifier" && base.type !== "attribute")) return [];
		const type = typeOf(walk.chain(base, scope));
		if (!type) return [];
		const last = type.path?.at(-1);
		return last
			? { ...type, path: [...(type.path?.slice(0, -1) ?? []), { ...last, called: true as const }] }
			: type;
	});
	if (types[0]) walk.bases.set(JSON.stringify(owner), types[0]);
	return types;
}

function membersOf(walk: PythonChains, node: SyntaxNode, scope: Scope): Member[] {
	const { draft } = walk;
	const owner = walk.classes.get(node);
	const inner = new Scope("class", scope, owner);
	const members = new Map<string, Mutable<Member>>();
	const add = (
		id: SyntaxNode,
		make: () => Omit<Member, "name" | "static" | "at">,
		definition?: SyntaxNode,
	) => {
		const name = draft.text(id);
		const known = members.get(name);
		if (known) {
			if (definition || known.symbol !== "property" || make().symbol !== "property") {
				known.alsoAt = [...(known.alsoAt ?? []), draft.at(id.start)];
			}
		} else members.set(name, { name, static: false, at: draft.at(id.start), ...make() });
		if (!definition) return;
		const same = getOrAdd(defined, name, () => []);
		same.push(definition);
		const found = members.get(name);
		if (
			found &&
			same.length > 1 &&
			found.at[0] === draft.line((child(same[0] as SyntaxNode, "name") ?? id).start)
		) {
			found.endLine = Math.max(found.endLine, draft.line(endTogether(walk, same)));
		}
	};
	const defined = new Map<string, SyntaxNode[]>();
	const body = child(node, "body")?.children ?? [];
	noteDecorated(walk, body);
	const { targets, definitions } = namesBoundIn(body, walk.source);
	for (const { id, value, by } of targets) {
		const type = value.annotation ? annotated(walk, value.annotation, inner).type : undefined;
		add(id, () => ({
			symbol: "property",
			endLine: draft.line(by.end),
			signature: draft.signature(by.start, by.end - by.start <= 80 ? by.end : id.end),
			...(type && { type }),
		}));
	}
	for (const definition of definitions) {
		const id = child(definition, "name");
		if (id) add(id, () => describeMember(walk, definition, inner), definition);
	}
	for (const definition of definitions) {
		if (definition.type !== "function_definition") continue;
		for (const { id, by, type } of selfAttributes(walk, definition, inner)) {
			add(id, () => ({
				symbol: "property",
				endLine: draft.line(by.end),
				signature: draft.signature(by.start, by.end - by.start <= 80 ? by.end : id.end),
				...(type && { type }),
			}));
		}
	}
	return [...members.values()].sort(
		(one, other) => one.at[0] - other.at[0] || one.at[1] - other.at[1],
	);
}

function describeMember(
	walk: PythonChains,
	node: SyntaxNode,
	scope: Scope,
): Omit<Member, "name" | "static" | "at"> {
	const doc = docOf(walk, node);
	const common = {
		...startLine(walk, node),
		endLine: walk.draft.line(node.end),
		signature: signatureOf(walk, node),
		...(doc !== undefined && { doc }),
	};
	if (node.type === "class_definition") {
		const members = membersOf(walk, node, scope);
		return { symbol: "class", ...common, ...(members.length > 0 && { members }) };
	}
	const type = resultOf(walk, node, scope);
	const isProperty = walk
		.decoratorsOf(node)
		.some((name) => /(?:^|\.)(?:cached_)?property$|\.(?:setter|getter|deleter)$/.test(name));
	return { symbol: isProperty ? "property" : "method", ...common, ...(type && { type }) };
}

/** Attributes that a method assigns: `self.name = value`. */
function selfAttributes(walk: PythonChains, method: SyntaxNode, scope: Scope) {
	const { draft } = walk;
	const found: { id: SyntaxNode; by: SyntaxNode; type: TypeName | undefined }[] = [];
	const [parameters, body] = fields(method, "parameters", "body");
	const [first] = parameters?.children ?? [];
	if (!first || !body || walk.methodKind(method) !== "instance") return found;
	const self = draft.text(first);
	const visit = (node: SyntaxNode): void => {
		if (node.type === "class_definition") return;
		if (node.type === "assignment") {
			const [left, right, annotation] = fields(node, "left", "right", "type");
			for (const target of left ? [left, ...left.children] : []) {
				if (target.type !== "attribute") continue;
				const [object, id] = fields(target, "object", "attribute");
				if (!object || !id || object.type !== "identifier" || draft.text(object) !== self) continue;
				const isWhole = target === left;
				const type = annotation
					? annotated(walk, annotation, scope).type
					: isWhole && right
						? valueType(walk, right, parameters, scope)
						: undefined;
				found.push({ id, by: node, type });
			}
		}
		for (const inner of node.children) visit(inner);
	};
	visit(body);
	// An attribute that is assigned values of different types has none that is certain.
	const byName = Map.groupBy(found, ({ id }) => draft.text(id));
	return found
		.filter((one) => byName.get(draft.text(one.id))?.[0] === one)
		.map((one) => {
			const all = byName.get(draft.text(one.id)) ?? [];
			const types = new Set(
				all
					.filter(({ by }) => !/=\s*None$/.test(draft.text(by)))
					.map(({ type }) => JSON.stringify(type)),
			);
			const typed = all.find(({ type }) => type);
			return { ...one, type: types.size === 1 ? typed?.type : undefined };
		});
}

/** Of `Foo()`, a name of the module, or a parameter with an annotation. */
function valueType(
	walk: PythonChains,
	value: SyntaxNode,
	parameters: SyntaxNode | undefined,
	scope: Scope,
): TypeName | undefined {
	const parameter = (name: string) =>
		parameters?.children.find((one) => {
			const id = one.type === "identifier" ? one : one.children[0];
			return id && walk.draft.text(id) === name;
		});
	if (value.type === "identifier") {
		const found = parameter(walk.draft.text(value));
		const annotation = found && child(found, "type");
		if (found) return annotation && annotated(walk, annotation, scope).type;
		return undefined;
	}
	if (value.type !== "call") return undefined;
	const root = /^[\p{L}_][\w]*/u.exec(walk.draft.text(value))?.[0] ?? "";
	return parameter(root) ? undefined : typeOf(walk.chain(value, walk.module));
}

const KEEPS_RESULT =
	/^(?:staticmethod|classmethod|property|(?:functools\.)?(?:cached_property|wraps|lru_cache|cache)|(?:abc\.)?abstractmethod|(?:typing\.|t\.)?(?:overload|final|override|no_type_check)|\w+\.setter|\w+\.getter)$/;

function resultOf(walk: PythonChains, node: SyntaxNode, scope: Scope): TypeName | undefined {
	const annotation = child(node, "return_type");
	if (!annotation || !walk.decoratorsOf(node).every((name) => KEEPS_RESULT.test(name)))
		return undefined;
	return annotated(walk, annotation, scope).type;
}

function noteDecorated(walk: PythonChains, nodes: readonly SyntaxNode[]): void {
	for (const node of nodes) {
		if (node.type === "decorated_definition") walk.noteDecorators(node);
		else if (/_statement$|_clause$|^block$/.test(node.type)) noteDecorated(walk, node.children);
	}
}

function signatureOf(walk: PythonChains, node: SyntaxNode): string {
	const body = child(node, "body");
	return walk.draft.signature(node.start, body?.start ?? node.end);
}

function docOf(walk: PythonChains, node: SyntaxNode): string | undefined {
	const first = child(node, "body")?.children[0];
	const string = first?.type === "expression_statement" ? first.children[0] : undefined;
	if (string?.type !== "string") return undefined;
	const text = string.children
		.filter(({ type }) => type === "string_content")
		.map((one) => walk.draft.text(one));
	return firstSentence(text.join(""));
}
