import type { Declared, Member, Reference, Step, TypeName } from "../facts.ts";
import { getOrAdd } from "../get-or-add.ts";
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

/** Follows names across the files of an index, forwards: from a use to what it means. */
export type Linker = ReturnType<typeof createLinker>;

/** The linker of a reader: there is one, since it caches what it has followed. */
export function linkerOf(reader: IndexReader): Linker {
	return getOrAdd(linkers, reader, () => createLinker(reader));
}

const linkers = new WeakMap<IndexReader, Linker>();

function createLinker(reader: IndexReader) {
	// Exports need members (`module.exports = thing`), and members need exports (`namespace.thing`).
	const chains = createExportChains(reader, (entity, name): Entity | undefined =>
		members.memberOf({ entity, side: "value" }, name),
	);
	const members = createMemberLookup(reader, chains);
	return {
		...chains,
		reader,
		overridden: members.overridden,
		/** What the JavaScript beside a declaration file has in the place of something that is declared there. */
		implementation: (
			entity: DeclaredEntity | MemberEntity,
		): DeclaredEntity | MemberEntity | undefined =>
			entity.kind === "declared" ? chains.implementation(entity) : members.implementation(entity),
		/** The members of a name inside something declared. */
		membersAt({ file, binding }: BindingRef, name: string): readonly MemberEntity[] {
			const holder = members.holderOf({ kind: "declared", file, binding });
			const paths = holder ? [...pathsTo(holder, name)] : [];
			return paths.map((path) => ({ kind: "member", file, binding, path }));
		},
		memberAt: (member: MemberEntity) => members.holderOf(member) as Member | undefined,
		/** What each step of a reference leads to, up to the first that is not known. */
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

/** Follows dots: what a name after a dot stands for, as far as declarations and written types tell. */
function createMemberLookup(reader: IndexReader, names: ReturnType<typeof createExportChains>) {
	/** What `name` is on something; undefined if nothing of that name is known there. */
	function memberOf(held: Held, name: string): Entity | undefined {
		return find(held, name, new Set());
	}

	/** `seen` ends cycles: classes that extend each other, aliases of aliases. */
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

	/** What the facts say of something declared, or of a member of it. */
	function holderOf(entity: DeclaredEntity): Declared | undefined;
	function holderOf(entity: DeclaredEntity | MemberEntity): Declared | Member | undefined;
	function holderOf(entity: DeclaredEntity | MemberEntity): Declared | Member | undefined {
		const binding = reader.bindings(entity.file)[entity.binding];
		if (binding?.kind !== "declared") return undefined;
		let holder: Declared | Member | undefined = binding;
		if (entity.kind === "member") for (const at of entity.path) holder = holder?.members?.[at];
		return holder;
	}

	/** Where else members can come from: what is inherited, or the type that is written there. */
	function* elsewhere(
		entity: Entity & { file: FileId },
		holder: Declared | Member,
		side: Held["side"],
	): Generator<Held> {
		for (const parent of ("heritage" in holder && holder.heritage) || []) {
			// An interface has no static side; a class hands its own down.
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

	/** What each of the steps leads to, up to the first that is not known. */
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

	/** The members of the same name that a member overrides, implements or declares the types of, near ones first. */
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

	/** The member of the JavaScript beside a declaration file that a member declared there describes. */
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
		// A type alias is made of other types, and overrides nothing of them.
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

/** Whether the type noted with a declaration is that of its value or that of what calling it gives. */
function isOfItsType(symbol: Declared["symbol"] | Member["symbol"], side: Held["side"]): boolean {
	const needed = symbol === "function" || symbol === "method" || symbol === "type";
	return side === (needed ? "instance" : "value");
}
