import { getOrAdd } from "../../core/get-or-add.ts";
import type { Declared, Member, Reference, Step, TypeName } from "../facts.ts";
import type { BindingRef, FileId, IndexReader } from "../reader.ts";
import {
	createExportChains,
	type DeclaredEntity,
	type Entity,
	type Held,
	keyOf,
	type MemberEntity,
	UNKNOWN,
} from "./export-chains.ts";

export type Linker = ReturnType<typeof createLinker>;

/** One per reader, since it caches results. */
export function linkerOf(reader: IndexReader): Linker {
	return getOrAdd(linkers, reader, () => createLinker(reader));
}

const linkers = new WeakMap<IndexReader, Linker>();

function createLinker(reader: IndexReader) {
	// Mutual recursion: exports need members (`module.exports = thing`), and vice versa.
	const chains = createExportChains(reader, (entity, name): Entity | undefined =>
		members.memberOf({ entity, side: "value" }, name),
	);
	const members = createMemberLookup(reader, chains);
	return {
		...chains,
		reader,
		overridden: members.overridden,
		implementation: (
			entity: DeclaredEntity | MemberEntity,
		): DeclaredEntity | MemberEntity | undefined =>
			entity.kind === "declared" ? chains.implementation(entity) : members.implementation(entity),
		membersAt({ file, binding }: BindingRef, name: string): readonly MemberEntity[] {
			const holder = members.holderOf({ kind: "declared", file, binding });
			const paths = holder ? [...pathsTo(holder, name)] : [];
			return paths.map((path) => ({ kind: "member", file, binding, path }));
		},
		memberAt: (member: MemberEntity) => members.holderOf(member) as Member | undefined,
		steps: (at: BindingRef, { side = "value", steps = [] }: Reference) =>
			members.walk({ entity: chains.bound(at), side }, steps),
	};
}

function* pathsTo(holder: Declared | Member, name: string): Generator<readonly number[]> {
	for (const [index, member] of (holder.members ?? []).entries()) {
		if (member.name === name) yield [index];
		for (const inner of pathsTo(member, name)) yield [index, ...inner];
	}
}

function createMemberLookup(reader: IndexReader, names: ReturnType<typeof createExportChains>) {
	function memberOf(held: Held, name: string): Entity | undefined {
		return find(held, name, new Set());
	}

	/** `seen` guards against cycles: classes that extend each other, aliases of aliases. */
	function find(held: Held, name: string, seen: Set<string>): Entity | undefined {
		const { entity, side } = held;
		if (entity.kind === "external" || entity.kind === "unknown") return undefined;
		const key = `${side} ${keyOf(entity)}`;
		if (seen.has(key)) return undefined;
		seen.add(key);

		if (entity.kind === "namespace") {
			return names.exported(entity.file, name);
		}
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
			const inherited = find(next, name, seen);
			if (inherited) return inherited;
		}
		return undefined;
	}

	function holderOf(entity: DeclaredEntity): Declared | undefined;
	function holderOf(entity: DeclaredEntity | MemberEntity): Declared | Member | undefined;
	function holderOf(entity: DeclaredEntity | MemberEntity): Declared | Member | undefined {
		const binding = reader.bindings(entity.file)[entity.binding];
		if (binding?.kind !== "declared") return undefined;
		let holder: Declared | Member | undefined = binding;
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
		const start = { entity: names.bound({ file, binding }), side };
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
			if (described) found.set(keyOf(described), described);
			for (const above of inherited(below)) found.set(keyOf(above), above);
		}
		found.delete(keyOf(member));
		return [...found.values()];
	}

	/** Of a pair: the JavaScript member that a declared member describes. */
	function implementation({ file, binding, path }: MemberEntity): MemberEntity | undefined {
		let holder: Declared | Member | undefined = holderOf({ kind: "declared", file, binding });
		let found: Entity | undefined = names.implementation({ kind: "declared", file, binding });
		for (const index of path) {
			const member: Member | undefined = holder?.members?.[index];
			if (!member || !found) return undefined;
			found = memberOf({ entity: found, side: member.static ? "value" : "instance" }, member.name);
			holder = member;
		}
		return found?.kind === "member" ? found : undefined;
	}

	function inherited(member: MemberEntity): readonly MemberEntity[] {
		const owner = holderOf({ kind: "declared", file: member.file, binding: member.binding });
		const own = holderOf(member) as Member | undefined;
		if (!own || !owner?.heritage || member.path.length !== 1) return [];
		// A type alias overrides nothing.
		if (owner.symbol !== "class" && owner.symbol !== "interface") return [];
		const side = own.static ? "value" : "instance";
		return owner.heritage.flatMap((parent) => {
			const above = memberOf({ entity: typed(member.file, parent).entity, side }, own.name);
			return above?.kind === "member" ? [above] : [];
		});
	}

	return { memberOf, walk, overridden, implementation, holderOf };
}

function sideAfter(step: Step): Held["side"] {
	return step.called ? "instance" : "value";
}

function isOfItsType(symbol: Declared["symbol"] | Member["symbol"], side: Held["side"]): boolean {
	const needed = symbol === "function" || symbol === "method" || symbol === "type";
	return side === (needed ? "instance" : "value");
}
