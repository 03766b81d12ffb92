import { nameOf } from "../../../core/project-path.ts";
import type { Declared, Member, SymbolKind, TypeName } from "../../facts.ts";
import { commentBefore } from "../tree-sitter/doc-text.ts";
import { child, type FactsDraft, imported } from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";
import { declareMethods, embeddedName, member, typeParameters } from "./methods.ts";
import type { Block, FileNames } from "./scope.ts";
import { resultKnown, typeKnown } from "./types.ts";

/** Names of a file while they are declared. */
interface NewNames extends FileNames {
	readonly declared: Map<string, number>;
	readonly imports: Map<string, number>;
	readonly dots: number[];
	readonly containers: Set<string>;
}

/** Declares imports and the names at the top level. The first request names the file's package. */
export function declareFile(draft: FactsDraft, path: string, root: SyntaxNode): FileNames {
	const clause = root.children.find(({ type }) => type === "package_clause");
	const id = clause?.children[0];
	const own = draft.request(packageName(draft, path, clause), id?.start ?? 0);
	const names: NewNames = {
		package: draft.namespace(own, id?.start ?? 0),
		declared: new Map(),
		imports: new Map(),
		dots: [],
		containers: new Set(),
	};
	for (const node of root.children) {
		if (node.type === "import_declaration") declareImports(draft, names, node);
	}
	const pass: Pass = { draft, names, later: [] };
	for (const node of root.children) declareTop(pass, node);
	for (const describe of pass.later) describe();
	declareMethods(draft, names, root);
	return names;
}

/** A file that no build includes is a program of its own. */
function packageName(draft: FactsDraft, path: string, clause: SyntaxNode | undefined): string {
	const name = clause?.children[0] ? draft.text(clause.children[0]) : "";
	const head = draft.source.slice(0, clause?.start ?? 0);
	const isIgnored = /^\/\/(?:go:build|\s*\+build)\s+ignore\b/m.test(head);
	return isIgnored ? `package ${name} of ${nameOf(path)}` : `package ${name}`;
}

function declareImports(draft: FactsDraft, names: NewNames, node: SyntaxNode): void {
	for (const spec of node.children.flatMap((one) =>
		one.type === "import_spec" ? one : one.children,
	)) {
		const path = child(spec, "path");
		if (!path) continue;
		const specifier = draft.text(path).slice(1, -1);
		const alias = child(spec, "name");
		const isBlank = alias?.type === "blank_identifier";
		const request = draft.request(specifier, path.start, isBlank ? "side-effect" : "value");
		if (isBlank) continue;
		if (alias?.type === "dot") {
			names.dots.push(draft.namespace(request, path.start));
			continue;
		}
		if (alias) {
			const name = draft.text(alias);
			const at = draft.at(alias.start);
			names.imports.set(name, draft.declare(imported({ name, request, imported: "*", at })));
			continue;
		}
		const name = localName(draft, names, specifier);
		const at = draft.at(path.start);
		names.imports.set(name, draft.declare(imported({ name, request, imported: "*", at })));
	}
}

/** The imported package's name, which its path suggests: `gopkg.in/yaml.v3` is `yaml`, `x/go-isatty` is `isatty`. */
function localName(draft: FactsDraft, names: NewNames, specifier: string): string {
	const parts = specifier.split("/");
	if (parts.length > 1 && /^v\d+$/.test(parts.at(-1) ?? "")) parts.pop();
	const last = (parts.at(-1) ?? specifier).replace(/\.v\d+$/, "");
	const plain = last.replace(/^go[-.]|[-.]go$/g, "");
	const candidates = [
		last,
		plain,
		last.replace(/[-.]/g, ""),
		last.replace(/[-.]/g, "_"),
		...last.split(/[-.]/).reverse(),
	];
	const isUsed = (name: string) =>
		/^\w+$/.test(name) && !names.imports.has(name) && draft.source.includes(`${name}.`);
	return candidates.find(isUsed) ?? last;
}

/** The declarations of one file. */
interface Pass {
	readonly draft: FactsDraft;
	readonly names: NewNames;
	/** Runs when all names are declared. */
	readonly later: (() => void)[];
}

function declareTop(pass: Pass, node: SyntaxNode): void {
	const { draft, names } = pass;
	switch (node.type) {
		case "function_declaration": {
			const id = child(node, "name");
			if (!id) return;
			add(pass, {
				id,
				node,
				symbol: "function",
				start: node.start,
				end: child(node, "body")?.start ?? node.end,
				describe() {
					const block = typeParameters(draft, node);
					return typed(resultKnown(draft, names, child(node, "result"), block).type);
				},
			});
			return;
		}
		case "type_declaration":
			for (const spec of node.children) declareType(pass, spec, node);
			return;
		case "var_declaration":
		case "const_declaration":
			for (const spec of node.children.flatMap((one) =>
				one.type === "var_spec_list" ? one.children : one,
			)) {
				for (const id of spec.children) {
					if (id.field !== "name" || id.type !== "identifier") continue;
					const end = spec.end - spec.start <= 80 ? spec.end : id.end;
					const keyword = node.type === "var_declaration" ? "var " : "const ";
					const start =
						node.children.length === 1 && draft.source[spec.start - 1] === " "
							? node.start
							: spec.start;
					const prefix = start === node.start ? "" : keyword;
					const describe = () => typed(variableType(draft, names, spec, id));
					add(pass, { id, node: spec, symbol: "variable", start, end, prefix, describe });
				}
			}
	}
}

function typed(type: TypeName | undefined): Partial<Declared> {
	return type ? { type } : {};
}

/** The written type, or that of a literal: `T{}`, `&T{}`. Others are evaluated where they are used. */
function variableType(
	draft: FactsDraft,
	names: NewNames,
	spec: SyntaxNode,
	id: SyntaxNode,
): TypeName | undefined {
	const type = child(spec, "type");
	if (type) return typeKnown(draft, names, type).type;
	const ids = spec.children.filter(
		({ field, type: kind }) => field === "name" && kind === "identifier",
	);
	const value = child(spec, "value")?.children[ids.indexOf(id)];
	const literal = value?.type === "unary_expression" ? value.children[0] : value;
	if (literal?.type === "composite_literal")
		return typeKnown(draft, names, child(literal, "type")).type;
	if (literal?.type !== "call_expression") return undefined;
	return callType(draft, names, literal);
}

/** The type of `f()` and `module.f()` at the top level. */
function callType(draft: FactsDraft, names: NewNames, call: SyntaxNode): TypeName | undefined {
	const target = child(call, "function");
	if (target?.type === "identifier") {
		const name = draft.text(target);
		if (name === "new") return typeKnown(draft, names, child(call, "arguments")?.children[0]).type;
		const binding = names.declared.get(name);
		if (binding !== undefined) return { binding, side: "instance" };
		return { binding: names.package, side: "value", path: [{ name, called: true }] };
	}
	if (target?.type !== "selector_expression") return undefined;
	const [operand, field] = target.children;
	const binding =
		operand?.type === "identifier" ? names.imports.get(draft.text(operand)) : undefined;
	if (binding === undefined || !field) return undefined;
	return { binding, side: "value", path: [{ name: draft.text(field), called: true }] };
}

interface Declaration {
	readonly id: SyntaxNode;
	readonly node: SyntaxNode;
	readonly symbol: SymbolKind;
	/** The range of the signature, and what precedes it. */
	readonly start: number;
	readonly end: number;
	readonly prefix?: string;
	/** What is known once all names are declared. */
	describe(): Partial<Declared>;
}

function add({ draft, names, later }: Pass, declaration: Declaration): void {
	const { id, node, symbol, start, end, prefix = "" } = declaration;
	const name = draft.text(id);
	if (name === "_") return;
	const known = names.declared.get(name);
	if (known !== undefined) {
		// Every `init` is a function of its own, which nothing can name.
		if (name === "init") return;
		const before = draft.bindings[known] as Declared;
		draft.bindings[known] = { ...before, alsoAt: [...(before.alsoAt ?? []), draft.at(id.start)] };
		return;
	}
	const doc = commentBefore(draft.source, start, /^\/\/ ?/);
	const binding = draft.declare({
		kind: "declared",
		name,
		symbol,
		at: draft.at(id.start),
		endLine: draft.line(node.end),
		signature: prefix + draft.signature(start, end),
		...(doc !== undefined && { doc }),
	});
	names.declared.set(name, binding);
	draft.export(name, binding);
	later.push(() => {
		draft.bindings[binding] = {
			...(draft.bindings[binding] as Declared),
			...declaration.describe(),
		};
	});
}

function declareType(pass: Pass, spec: SyntaxNode, node: SyntaxNode): void {
	const { draft, names } = pass;
	const id = child(spec, "name");
	const type = child(spec, "type");
	if (!id || !type) return;
	if (/^(?:map|slice|array|implicit_length_array)_type$/.test(type.type))
		names.containers.add(draft.text(id));
	const isSingle = node.children.length === 1 && draft.source[spec.start - 1] === " ";
	const isOpen = type.type === "struct_type" || type.type === "interface_type";
	const end = isOpen ? type.start + (type.type === "struct_type" ? 6 : 9) : type.end;
	const symbol = type.type === "interface_type" ? "interface" : "type";
	const describe = (): Partial<Declared> => {
		const block = typeParameters(draft, spec);
		const heritage: TypeName[] = [];
		const members =
			type.type === "struct_type"
				? fieldsOf(draft, names, type, block, heritage)
				: type.type === "interface_type"
					? interfaceMembers(draft, names, type, block, heritage)
					: [];
		const alias =
			isOpen || spec.type !== "type_alias" ? undefined : typeKnown(draft, names, type, block).type;
		return {
			...(heritage.length > 0 && { heritage }),
			...typed(alias),
			...(members.length > 0 && { members }),
		};
	};
	const start = isSingle ? node.start : spec.start;
	add(pass, { id, node: spec, symbol, start, end, prefix: isSingle ? "" : "type ", describe });
}

function fieldsOf(
	draft: FactsDraft,
	names: NewNames,
	struct: SyntaxNode,
	block: Block,
	heritage: TypeName[],
): Member[] {
	const fields = struct.children[0]?.children ?? [];
	return fields.flatMap((field) => {
		if (field.type !== "field_declaration") return [];
		const type = child(field, "type");
		const known = typeKnown(draft, names, type, block);
		const ids = field.children.filter((one) => one.field === "name");
		if (ids.length === 0 && type) {
			if (known.type) heritage.push(known.type);
			const id = embeddedName(type);
			return id ? [member(draft, id, field, "property", known.type)] : [];
		}
		// An anonymous struct's fields are members of the field.
		const anonymous = type && anonymousStruct(type);
		const inner = anonymous ? fieldsOf(draft, names, anonymous, block, []) : [];
		return ids.map((id) => {
			const found = member(draft, id, field, "property", known.type);
			return inner.length > 0 ? { ...found, members: inner } : found;
		});
	});
}

function anonymousStruct(type: SyntaxNode): SyntaxNode | undefined {
	if (type.type === "struct_type") return type;
	return type.type === "pointer_type" && type.children[0]
		? anonymousStruct(type.children[0])
		: undefined;
}

function interfaceMembers(
	draft: FactsDraft,
	names: NewNames,
	type: SyntaxNode,
	block: Block,
	heritage: TypeName[],
): Member[] {
	return type.children.flatMap((part) => {
		const id = child(part, "name");
		if (part.type === "method_elem" && id) {
			return [
				member(
					draft,
					id,
					part,
					"method",
					resultKnown(draft, names, child(part, "result"), block).type,
				),
			];
		}
		const embedded =
			part.children.length === 1
				? typeKnown(draft, names, part.children[0], block).type
				: undefined;
		if (embedded) heritage.push(embedded);
		return [];
	});
}
