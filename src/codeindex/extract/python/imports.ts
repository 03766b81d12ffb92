import { child, type FactsDraft, imported } from "../tree-sitter/facts-draft.ts";
import type { SyntaxNode } from "../tree-sitter/syntax-tree.ts";
import type { Scope } from "./scope.ts";

/** Modules that dotted imports load, by the name that they bind: `import a.b` binds `a`. */
export type LoadedModules = Map<string, Set<string>>;

export interface ImportPlace {
	readonly draft: FactsDraft;
	readonly scope: Scope;
	readonly loaded: LoadedModules;
	/** Bindings of modules whose names are all imported: `from x import *`. */
	readonly stars: number[];
	/** Submodules that a package's own relative imports add to it as attributes. */
	readonly submodules?: Map<string, number>;
}

export function declareImport(place: ImportPlace, node: SyntaxNode): void {
	if (node.type === "import_statement") declareModules(place, node);
	else declareNames(place, node);
}

function declareModules({ draft, scope, loaded }: ImportPlace, node: SyntaxNode): void {
	for (const name of node.children) {
		const alias = child(name, "alias");
		const path = dotted(draft, alias ? (child(name, "name") ?? name) : name);
		const request = draft.request(path, name.start, "value");
		const [top = path] = path.split(".", 1);
		if (!alias && top !== path) {
			const known = loaded.get(top) ?? new Set();
			loaded.set(top, known.add(path));
			scope.add(top);
			continue;
		}
		const local = alias ? draft.text(alias) : path;
		const at = draft.at((alias ?? name).start);
		const binding = draft.declare(imported({ name: local, request, imported: "*", at }));
		scope.add(local).bindings.push(binding);
		if (!alias) loaded.set(top, (loaded.get(top) ?? new Set()).add(path));
	}
}

/** An imported name is an attribute of the module or, if it has none of that name, its submodule. */
function declareNames(place: ImportPlace, node: SyntaxNode): void {
	const { draft, scope, stars, submodules } = place;
	const module = child(node, "module_name");
	if (!module) return;
	const from = dotted(draft, module);
	const request = draft.request(from, module.start, "value");
	const [, direct] = /^\.(\w+)/.exec(from) ?? [];
	if (direct !== undefined && submodules && !submodules.has(direct)) {
		const inner = draft.request(`.${direct}`, module.start, "value");
		submodules.set(direct, draft.namespace(inner, module.start));
	}
	for (const part of node.children) {
		if (part.type === "wildcard_import") {
			draft.exports.push({ kind: "star", request, typeOnly: false });
			stars.push(draft.namespace(request, part.start));
		}
		if (part.field !== "name") continue;
		const alias = child(part, "alias");
		const id = alias ? (child(part, "name") ?? part) : part;
		const name = dotted(draft, id);
		const local = alias ? draft.text(alias) : name;
		const at = draft.at((alias ?? id).start);
		const names = scope.add(local).bindings;
		names.push(
			draft.declare(
				imported({
					name: local,
					request,
					imported: name,
					at,
					...(alias && { importedAt: draft.at(id.start) }),
				}),
			),
		);
		const submodule = draft.request(`${from}?${name}`, id.start, "value");
		draft.declare(imported({ name: local, request: submodule, imported: "*", at, fallback: true }));
	}
}

/** Dotted names may contain spaces and comments. */
function dotted(draft: FactsDraft, node: SyntaxNode): string {
	if (node.type === "identifier" || node.type === "import_prefix") {
		return draft.text(node).replace(/\s+/g, "");
	}
	const separator = node.type === "dotted_name" ? "." : "";
	return node.children.map((part) => dotted(draft, part)).join(separator);
}
