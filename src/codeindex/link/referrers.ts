import type { Declared, Member, Position, Reference } from "../facts.ts";
import type { BindingRef, FileId, ImportOf } from "../index-reader.ts";
import type { Linker } from "./linker.ts";
import { type DeclaredEntity, keyOf, packagesOf, pairsOf } from "./modules.ts";

export interface ExportRef {
	readonly kind: "export";
	readonly file: FileId;
	readonly name: string;
}

interface ReferrerVisitor {
	/** `path` leads from each binding to the symbol. `references` is absent if `path` is empty. */
	bindings(
		all: readonly (BindingRef | ImportOf)[],
		path: readonly string[],
		references?: readonly (readonly Reference[])[],
	): void;
	exported?(file: FileId, at: readonly Position[]): void;
	/** The symbol's counterpart in the paired file. Its bindings are visited too. */
	counterpart?(declared: DeclaredEntity): void;
}

/** Walks from a symbol to all its imports and re-exports, through barrels, aliases and namespaces. */
export function visitReferrers(
	linker: Linker,
	start: DeclaredEntity | ExportRef,
	visitor: ReferrerVisitor,
): void {
	const { reader } = linker;
	const pairs = pairsOf(reader);
	const packages = packagesOf(reader);
	const visited = new Set<string>();
	const queue: ExportedPath[] = [];
	const copies: (BindingRef & Pick<ExportedPath, "path">)[] = [];

	if (start.kind === "export") enqueue({ file: start.file, name: start.name, path: [] });
	else reachDeclared(start);
	for (;;) {
		const exported = queue.pop();
		const copy = exported ? undefined : copies.pop();
		if (exported) throughExport(exported);
		else if (copy) reach([copy], copy.path);
		else break;
	}

	function enqueue(exported: ExportedPath): void {
		const key = `${exported.file} ${exported.name} ${exported.path.join(".")}`;
		if (visited.has(key) || exported.path.length > MAX_PATH) return;
		visited.add(key);
		queue.push(exported);
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
			// A module without a name may be the result of a function: `() => import("x")`.
			const isNameless = references !== undefined && "as" in at && at.as.name === "";
			const isCopied = references?.[index]?.some((one) => stopsWithin(one, path));
			if (isNameless || isCopied) throughCopies(at, path);
			if ("isExported" in at && !at.isExported) continue;
			for (const one of linker.ownExports(at.file).byBinding.get(at.binding) ?? []) {
				if (path.length === 0 && one.at) visitor.exported?.(at.file, one.at);
				const name = one.name.replace(/^\/(?=.)/, "");
				if (name === one.name || isImplicit(at, name)) enqueue({ file: at.file, name, path });
			}
		}
	}

	/** Whether a submodule is what its package exports under its name. */
	function isImplicit(at: BindingRef, name: string): boolean {
		const found = linker.resolveExport(at.file, name);
		return found !== undefined && keyOf(found) === keyOf(linker.resolveBinding(at));
	}

	/** Follows copies of a namespace: `const copy = namespace`, `const api = { namespace, ...other }`. */
	function throughCopies({ file, binding }: BindingRef, path: readonly string[]): void {
		for (const [index, holder] of reader.bindings(file).entries()) {
			if (holder.kind !== "declared") continue;
			for (const rest of pathsThroughCopies(holder, binding, path)) {
				const key = `${file}:${index} ${rest.join(".")}`;
				if (visited.has(key) || rest.length > MAX_PATH) continue;
				visited.add(key);
				copies.push({ file, binding: index, path: rest });
			}
		}
	}

	function throughExport({ file, name, path }: ExportedPath): void {
		if (path.length === 0 && start.kind === "declared") throughPair(file, name);
		reach(importsOf(file, name), path);
		if (name === "=") asWhole(file, path);
		else asPart(file, [name, ...path]);
		for (const { file: other, export: passed } of ofPair(file, (one) => reader.exportsFrom(one))) {
			if (passed.kind === "star") {
				if (passesOn(other, file, name)) enqueue({ file: other, name, path });
			} else if (passed.kind === "from") {
				const rest = pathAfterImport(passed.imported, { file, name, path });
				if (!rest) continue;
				if (rest.length === 0 && passed.imported !== "*") visitor.exported?.(other, passed.at);
				enqueue({ file: other, name: passed.name, path: rest });
			}
		}
	}

	function throughPair(file: FileId, name: string): void {
		const other = pairs.other(file);
		if (other === undefined) return;
		// Declaration files often declare a whole CommonJS module as `default`.
		const isDefault = name === "=" && !linker.ownExports(file).byName.has("default");
		for (const same of isDefault ? [name, "default"] : [name]) {
			const found = linker.resolveOwnExport(other, same);
			if (found?.kind !== "declared" || visited.has(keyOf(found))) continue;
			visitor.counterpart?.(found);
			reachDeclared(found);
		}
	}

	function importsOf(file: FileId, name: string): readonly ImportOf[] {
		const own = ofPair(file, (one) => reader.importsOf(one, name));
		// An import may lead to any file in the package's folder. A file's own package is not imported.
		const doors = packages.doors(file).flatMap((door) => {
			return reader.importsOf(door, name).filter((one) => one.file !== door);
		});
		const all = doors.length > 0 ? [...own, ...doors] : own;
		return all.some(({ as }) => as.fallback) ? all.flatMap(withoutFallback) : all;
	}

	/** References are stored with the binding for which a fallback stands. */
	function withoutFallback(one: ImportOf): readonly ImportOf[] {
		if (!one.as.fallback) return [one];
		return linker.isFallbackUsed(one) ? [{ ...one, binding: one.binding - 1 }] : [];
	}

	function ofPair<T>(file: FileId, read: (file: FileId) => readonly T[]): readonly T[] {
		const other = pairs.other(file);
		if (other !== undefined) return [...read(file), ...read(other)];
		const others = packages.others(file);
		return others.length === 0 ? read(file) : [file, ...others].flatMap(read);
	}

	function pathAfterImport(
		imported: string,
		{ file, name, path }: ExportedPath,
	): readonly string[] | undefined {
		if (imported === name) return path;
		if (name === "=") {
			const isWhole = imported === "default" && !linker.ownExports(file).byName.has("default");
			if (imported === "*" || isWhole) return path;
			return imported === path[0] ? path.slice(1) : undefined;
		}
		return imported === "*" || isAllOf(file, imported) ? [name, ...path] : undefined;
	}

	/** Follows imports of a module that exports a single value: `module.exports = thing`. */
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
		const whole = linker.resolveExport(file, name);
		if (whole?.kind !== "namespace") return false;
		return whole.file === file || whole.file === pairs.other(file);
	}

	/** Whether exports are properties of one value, as in CommonJS `exports = module.exports = thing`. */
	function isOnWhole(file: FileId, name: string): boolean {
		const { byName } = linker.ownExports(file);
		return byName.has("=") && (name === "=" || !byName.has("default"));
	}

	/** Returns false if the barrel's own export or an earlier `export *` takes precedence. */
	function passesOn(barrel: FileId, file: FileId, name: string): boolean {
		const through = linker.resolveExport(barrel, name);
		if (through === undefined) return false;
		return [file, pairs.other(file)].some((one) => {
			const here = one === undefined ? undefined : linker.resolveExport(one, name);
			return here !== undefined && keyOf(through) === keyOf(here);
		});
	}
}

/** `path` leads from the export to the symbol: `inner`, `symbol` in `ns.inner.symbol`. */
interface ExportedPath {
	readonly file: FileId;
	readonly name: string;
	readonly path: readonly string[];
}

function stopsWithin({ usage, steps = [] }: Reference, path: readonly string[]): boolean {
	if (usage !== "read" && usage !== "type") return false;
	return steps.length < path.length && steps.every(({ name }, index) => name === path[index]);
}

function* pathsThroughCopies(
	holder: Declared | Member,
	binding: number,
	path: readonly string[],
): Generator<readonly string[]> {
	const { symbol, type, members = [] } = holder;
	const isHolder = symbol === "variable" || symbol === "property";
	const spread = isHolder && "heritage" in holder ? (holder.heritage ?? []) : [];
	const types = type ? [type, ...spread] : spread;
	for (const { binding: copied, side, path: steps = [] } of types) {
		if (copied !== binding || side !== "value") continue;
		const leadsThere = steps.every(({ name, called }, index) => !called && name === path[index]);
		// A copy of the symbol itself is a different symbol.
		if (!leadsThere || steps.length >= path.length) continue;
		const rest = path.slice(steps.length);
		if (isHolder) yield rest;
		// The type of a function is that of its result.
		else if (symbol === "function" || symbol === "method") yield [CALL, ...rest];
	}
	for (const member of members) {
		if (!member.static) continue;
		for (const rest of pathsThroughCopies(member, binding, path)) yield [member.name, ...rest];
	}
}

/** In a path: what follows is looked up on the result of a call. */
export const CALL = "()";

/** Maximum number of names in a path, and of steps in a reference. */
const MAX_PATH = 4;
