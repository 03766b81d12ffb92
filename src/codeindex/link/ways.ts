import type { Declared, Member, Position, Reference } from "../facts.ts";
import type { BindingRef, FileId, ImportOf } from "../reader.ts";
import { type DeclaredEntity, keyOf } from "./export-chains.ts";
import type { Linker } from "./linker.ts";
import { pairsOf } from "./module-pairs.ts";

export interface ExportRef {
	readonly kind: "export";
	readonly file: FileId;
	readonly name: string;
}

export interface WayVisitor {
	/** Bindings that, followed by `path`, are the symbol. With a path, `references` to each. */
	bindings(
		all: readonly (BindingRef | ImportOf)[],
		path: readonly string[],
		references?: readonly (readonly Reference[])[],
	): void;
	exported(file: FileId, at: readonly Position[]): void;
	/** The symbol's counterpart in the other file of a pair; its bindings are visited too. */
	counterpart(declared: DeclaredEntity): void;
}

/** Walks backwards to imports and re-exports, through barrels, aliases and namespaces. */
export function visitWays(
	linker: Linker,
	start: DeclaredEntity | ExportRef,
	visitor: WayVisitor,
): void {
	const { reader } = linker;
	const pairs = pairsOf(reader);
	const visited = new Set<string>();
	const queue: Carrier[] = [];
	const copies: Copy[] = [];

	if (start.kind === "export") enqueue({ file: start.file, name: start.name, path: [] });
	else reachDeclared(start);
	for (;;) {
		const carrier = queue.pop();
		const copy = carrier ? undefined : copies.pop();
		if (carrier) throughExport(carrier);
		else if (copy) reach([copy], copy.path);
		else break;
	}

	function enqueue(carrier: Carrier): void {
		const key = `${carrier.file} ${carrier.name} ${carrier.path.join(".")}`;
		if (visited.has(key) || carrier.path.length > MAX_PATH) return;
		visited.add(key);
		queue.push(carrier);
	}

	function reachDeclared(symbol: DeclaredEntity): void {
		visited.add(keyOf(symbol));
		reach([symbol], []);
	}

	function reach(bindings: readonly (BindingRef | ImportOf)[], path: readonly string[]): void {
		if (bindings.length === 0) return;
		const references = path.length > 0 ? reader.referencesOfAll(bindings) : undefined;
		visitor.bindings(bindings, path, references);
		for (const [index, at] of bindings.entries()) {
			if (references?.[index]?.some((one) => stopsWithin(one, path))) throughCopies(at, path);
			if ("isExported" in at && !at.isExported) continue;
			for (const one of linker.ownExports(at.file).byBinding.get(at.binding) ?? []) {
				if (path.length === 0 && one.at) visitor.exported(at.file, one.at);
				enqueue({ file: at.file, name: one.name, path });
			}
		}
	}

	/** `const copy = namespace`, `const api = { namespace }`. */
	function throughCopies({ file, binding }: BindingRef, path: readonly string[]): void {
		for (const [index, holder] of reader.bindings(file).entries()) {
			if (holder.kind !== "declared") continue;
			for (const way of waysWithin(holder, binding, path)) {
				const key = `${file}:${index} ${way.join(".")}`;
				if (visited.has(key) || way.length > MAX_PATH) continue;
				visited.add(key);
				copies.push({ file, binding: index, path: way });
			}
		}
	}

	function throughExport({ file, name, path }: Carrier): void {
		if (path.length === 0 && start.kind === "declared") throughPair(file, name);
		reach(importsOf(file, name), path);
		if (name === "=") asWhole(file, path);
		else asPart(file, [name, ...path]);
		for (const { file: other, export: passed } of exportsFrom(file)) {
			if (passed.kind === "star") {
				if (passesOn(other, file, name)) enqueue({ file: other, name, path });
			} else if (passed.kind === "from") {
				const way = pathBehind(passed.imported, { file, name, path });
				if (!way) continue;
				if (way.length === 0 && passed.imported !== "*") visitor.exported(other, passed.at);
				enqueue({ file: other, name: passed.name, path: way });
			}
		}
	}

	function throughPair(file: FileId, name: string): void {
		const other = pairs.other(file);
		if (other === undefined) return;
		// Declaration files often name a whole CommonJS module `default`.
		const isDefault = name === "=" && !linker.ownExports(file).byName.has("default");
		for (const same of isDefault ? [name, "default"] : [name]) {
			const found = linker.exportedHere(other, same);
			if (found?.kind !== "declared" || visited.has(keyOf(found))) continue;
			visitor.counterpart(found);
			reachDeclared(found);
		}
	}

	function importsOf(file: FileId, name: string): readonly ImportOf[] {
		const other = pairs.other(file);
		const imports = reader.importsOf(file, name);
		return other === undefined ? imports : [...imports, ...reader.importsOf(other, name)];
	}

	function exportsFrom(file: FileId): ReturnType<typeof reader.exportsFrom> {
		const other = pairs.other(file);
		const exports = reader.exportsFrom(file);
		return other === undefined ? exports : [...exports, ...reader.exportsFrom(other)];
	}

	function pathBehind(
		imported: string,
		{ file, name, path }: Carrier,
	): readonly string[] | undefined {
		if (imported === name) return path;
		if (name === "=") {
			const isWhole = imported === "default" && !linker.ownExports(file).byName.has("default");
			if (imported === "*" || isWhole) return path;
			return imported === path[0] ? path.slice(1) : undefined;
		}
		return imported === "*" || isAllOf(file, imported) ? [name, ...path] : undefined;
	}

	/** `module.exports = thing` */
	function asWhole(file: FileId, path: readonly string[]): void {
		const [first, ...rest] = path;
		if (first !== undefined) reach(importsOf(file, first), rest);
		reach(importsOf(file, "*"), path);
		if (!linker.ownExports(file).byName.has("default")) {
			reach(importsOf(file, "default"), path);
		}
	}

	function asPart(file: FileId, path: readonly string[]): void {
		reach(importsOf(file, "*"), path);
		for (const all of ["=", "default"]) {
			const imports = importsOf(file, all);
			if (imports.length > 0 && (isAllOf(file, all) || isOnWhole(file, all))) reach(imports, path);
		}
	}

	function isAllOf(file: FileId, name: string): boolean {
		if (name !== "=" && name !== "default") return false;
		const whole = linker.exported(file, name);
		if (whole?.kind !== "namespace") return false;
		return whole.file === file || whole.file === pairs.other(file);
	}

	/** CommonJS: `exports = module.exports = thing`, so names are properties of one thing. */
	function isOnWhole(file: FileId, name: string): boolean {
		const { byName } = linker.ownExports(file);
		return byName.has("=") && (name === "=" || !byName.has("default"));
	}

	/** Own names and earlier stars take precedence. */
	function passesOn(barrel: FileId, file: FileId, name: string): boolean {
		const through = linker.exported(barrel, name);
		if (through === undefined) return false;
		return [file, pairs.other(file)].some((one) => {
			const here = one === undefined ? undefined : linker.exported(one, name);
			return here !== undefined && keyOf(through) === keyOf(here);
		});
	}
}

/** `path` leads from the export to the symbol (`ns.inner.symbol`). */
interface Carrier {
	readonly file: FileId;
	readonly name: string;
	readonly path: readonly string[];
}

interface Copy extends BindingRef {
	readonly path: readonly string[];
}

function stopsWithin({ usage, steps = [] }: Reference, path: readonly string[]): boolean {
	if (usage !== "read" && usage !== "type") return false;
	return steps.length < path.length && steps.every(({ name }, index) => name === path[index]);
}

function* waysWithin(
	{ symbol, type, members = [] }: Declared | Member,
	binding: number,
	path: readonly string[],
): Generator<readonly string[]> {
	// A function's type is its result.
	const isHolder = symbol === "variable" || symbol === "property";
	if (isHolder && type?.binding === binding && type.side === "value") {
		const { path: steps = [] } = type;
		const leadsThere = steps.every(({ name, called }, index) => !called && name === path[index]);
		// A copy of the symbol itself is a separate thing.
		if (leadsThere && steps.length < path.length) yield path.slice(steps.length);
	}
	for (const member of members) {
		if (!member.static) continue;
		for (const way of waysWithin(member, binding, path)) yield [member.name, ...way];
	}
}

/** Equals the step limit of references. */
const MAX_PATH = 4;
