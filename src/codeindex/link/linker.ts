import type { Declared, Member, Reference } from "../facts.ts";
import { getOrAdd } from "../get-or-add.ts";
import type { BindingRef, IndexReader } from "../reader.ts";
import type { DeclaredEntity, Entity, MemberEntity } from "./entity.ts";
import { createExportChains } from "./export-chains.ts";
import { createMemberLookup } from "./member-lookup.ts";

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
