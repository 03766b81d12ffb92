import { getOrAdd } from "../../core/get-or-add.ts";
import type { Declared, Member, Position, Reference, Step, TypeName } from "../facts.ts";
import type { BindingRef, FileId, ImportOf, IndexReader } from "../index-reader.ts";
import {
	createExportChains,
	type DeclaredEntity,
	type Entity,
	keyOf,
	type MemberEntity,
	pairsOf,
	UNKNOWN,
} from "./modules.ts";

export type Linker = ReturnType<typeof createLinker>;

/** One per reader, since it caches results. */
export function linkerOf(reader: IndexReader): Linker {
	return getOrAdd(linkers, reader, () => createLinker(reader));
}

const linkers = new WeakMap<IndexReader, Linker>();

function createLinker(reader: IndexReader) {
	// Mutual recursion: exports need members (`module.exports = thing`), and vice versa.
	const chains = createExportChains(reader, (entity, name): Entity | undefined =>
		memberOf({ entity, side: "value" }, name),
	);
	return { ...chains, reader, declaredAt, implementation, memberAt, membersAt, overridden, steps };

	function membersAt({ file, binding }: BindingRef, name: string): readonly MemberEntity[] {
		const holder = declaredAt({ file, binding });
		const paths = holder ? [...pathsTo(holder, name)] : [];
		return paths.map((path) => ({ kind: "member", file, binding, path }));
	}

	function memberAt(member: MemberEntity): Member | undefined {
		return holderOf(member) as Member | undefined;
	}

	function steps(at: BindingRef, { side = "value", steps = [] }: Reference): readonly Entity[] {
		return walk({ entity: chains.bound(at), side }, steps);
	}

	/** `seen` guards against cycles: classes that extend each other, aliases of aliases. */
	function memberOf(
		{ entity, side }: Held,
		name: string,
		seen = new Set<string>(),
	): Entity | undefined {
		if (entity.kind === "external" || entity.kind === "unknown") return undefined;
		const key = `${side} ${keyOf(entity)}`;
		if (seen.has(key)) return undefined;
		seen.add(key);

		if (entity.kind === "namespace") return chains.exported(entity.file, name);
		const holder = holderOf(entity);
		if (!holder) return undefined;
		const members = holder.members ?? [];
		const index = members.findIndex(
			(member) => member.name === name && member.static === (side === "value"),
		);
		if (index >= 0) {
			const path = entity.kind === "member" ? [...entity.path, index] : [index];
			return { kind: "member", file: entity.file, binding: entity.binding, path };
		}
		for (const next of elsewhere(entity, holder, side)) {
			const inherited = memberOf(next, name, seen);
			if (inherited) return inherited;
		}
		return undefined;
	}

	function declaredAt({ file, binding }: BindingRef): Declared | undefined {
		const found = reader.bindings(file)[binding];
		return found?.kind === "declared" ? found : undefined;
	}

	function holderOf(entity: DeclaredEntity | MemberEntity): Declared | Member | undefined {
		let holder: Declared | Member | undefined = declaredAt(entity);
		if (entity.kind === "member") for (const at of entity.path) holder = holder?.members?.[at];
		return holder;
	}

	function* elsewhere(
		entity: Entity & { file: FileId },
		holder: Declared | Member,
		side: Held["side"],
	): Generator<Held> {
		for (const parent of ("heritage" in holder && holder.heritage) || []) {
			// Interfaces have no static side; classes inherit it.
			yield { entity: typed(entity.file, parent).entity, side };
		}
		if (!holder.type) return;
		const type = typed(entity.file, holder.type);
		if (isOfItsType(holder.symbol, side)) yield type;
		// `const Alias = Foo; new Alias()` is a Foo.
		else if (side === "instance" && type.side === "value") yield { ...type, side: "instance" };
	}

	function typed(file: FileId, { binding, side, path = [] }: TypeName): Held {
		const start = { entity: chains.bound({ file, binding }), side };
		const last = path.at(-1);
		if (!last) return start;
		const reached = walk(start, path);
		const entity = reached.length === path.length ? reached.at(-1) : undefined;
		return { entity: entity ?? UNKNOWN, side: sideAfter(last) };
	}

	function walk(start: Held, steps: readonly Step[]): readonly Entity[] {
		const reached: Entity[] = [];
		let held = start;
		for (const step of steps) {
			const entity = memberOf(held, step.name);
			if (!entity) break;
			reached.push(entity);
			held = { entity, side: sideAfter(step) };
		}
		return reached;
	}

	/** Members it overrides, implements or declares the types of, nearest first. */
	function overridden(member: MemberEntity): readonly MemberEntity[] {
		const found = new Map([[keyOf(member), member]]);
		for (const below of found.values()) {
			const described = implementation(below);
			if (described?.kind === "member") found.set(keyOf(described), described);
			for (const above of inherited(below)) found.set(keyOf(above), above);
		}
		found.delete(keyOf(member));
		return [...found.values()];
	}

	/** Of a pair: what a declaration, or a member of it, describes in the JavaScript. */
	function implementation(
		entity: DeclaredEntity | MemberEntity,
	): DeclaredEntity | MemberEntity | undefined {
		let holder: Declared | Member | undefined = declaredAt(entity);
		let found: Entity | undefined = chains.implementation(entity);
		for (const index of entity.kind === "member" ? entity.path : []) {
			const member: Member | undefined = holder?.members?.[index];
			if (!member || !found) return undefined;
			found = memberOf({ entity: found, side: member.static ? "value" : "instance" }, member.name);
			holder = member;
		}
		return found?.kind === entity.kind ? found : undefined;
	}

	function inherited(member: MemberEntity): readonly MemberEntity[] {
		const owner = declaredAt(member);
		const own = memberAt(member);
		if (!own || !owner?.heritage || member.path.length !== 1) return [];
		// A type alias overrides nothing.
		if (owner.symbol !== "class" && owner.symbol !== "interface") return [];
		const side = own.static ? "value" : "instance";
		return owner.heritage.flatMap((parent) => {
			const above = memberOf({ entity: typed(member.file, parent).entity, side }, own.name);
			return above?.kind === "member" ? [above] : [];
		});
	}
}

/** `instance`: the result of a call or construction, or a value of the type. `value`: itself. */
interface Held {
	readonly entity: Entity;
	readonly side: "instance" | "value";
}

function* pathsTo(holder: Declared | Member, name: string): Generator<readonly number[]> {
	for (const [index, member] of (holder.members ?? []).entries()) {
		if (member.name === name) yield [index];
		for (const inner of pathsTo(member, name)) yield [index, ...inner];
	}
}

function sideAfter(step: Step): Held["side"] {
	return step.called ? "instance" : "value";
}

function isOfItsType(symbol: Declared["symbol"] | Member["symbol"], side: Held["side"]): boolean {
	const needed = symbol === "function" || symbol === "method" || symbol === "type";
	return side === (needed ? "instance" : "value");
}

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
	exported?(file: FileId, at: readonly Position[]): void;
	/** The symbol's counterpart in the other file of a pair; its bindings are visited too. */
	counterpart?(declared: DeclaredEntity): void;
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
	const copies: (BindingRef & Pick<Carrier, "path">)[] = [];

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
				if (path.length === 0 && one.at) visitor.exported?.(at.file, one.at);
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
		for (const { file: other, export: passed } of ofPair(file, (one) => reader.exportsFrom(one))) {
			if (passed.kind === "star") {
				if (passesOn(other, file, name)) enqueue({ file: other, name, path });
			} else if (passed.kind === "from") {
				const way = pathBehind(passed.imported, { file, name, path });
				if (!way) continue;
				if (way.length === 0 && passed.imported !== "*") visitor.exported?.(other, passed.at);
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
			visitor.counterpart?.(found);
			reachDeclared(found);
		}
	}

	function importsOf(file: FileId, name: string): readonly ImportOf[] {
		return ofPair(file, (one) => reader.importsOf(one, name));
	}

	function ofPair<T>(file: FileId, read: (file: FileId) => readonly T[]): readonly T[] {
		const other = pairs.other(file);
		return other === undefined ? read(file) : [...read(file), ...read(other)];
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
