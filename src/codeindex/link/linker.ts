import type { Declared, Member, Reference } from "../facts.ts";
import type { BindingRef, FileId, IndexReader } from "../reader.ts";
import type { DeclaredEntity, Entity, MemberEntity } from "./entity.ts";
import { createExportChains, type OwnExports } from "./export-chains.ts";
import { createMemberLookup, memberAt, type NameLookup } from "./member-lookup.ts";

/** Follows names across the files of an index, forwards: from a use to what it means. */
export interface Linker {
	readonly reader: IndexReader;
	/** What a file exports under a name, `default` or `=`; undefined if it does not export it. */
	exported(file: FileId, name: string): Entity | undefined;
	/** The same of the file alone, where it is one of a pair: `exported` goes on to the other file. */
	exportedHere(file: FileId, name: string): Entity | undefined;
	/** What the JavaScript beside a declaration file has in the place of something that is declared there. */
	implementation(entity: DeclaredEntity | MemberEntity): DeclaredEntity | MemberEntity | undefined;
	/** Every name that a file exports, with what `export *` passes on. */
	exportedNames(file: FileId): ReadonlySet<string>;
	/** What a binding of a file stands for. */
	bound(at: BindingRef): Entity;
	/** The exports of a file by name and by binding, without what `export *` passes on. */
	ownExports(file: FileId): OwnExports;
	/** What each step of a reference leads to, up to the first that is not known. */
	steps(at: BindingRef, reference: Reference): readonly Entity[];
	/** The members that a member overrides or implements, or declares the types of. */
	overridden(member: MemberEntity): readonly MemberEntity[];
	/** The members of a name inside something declared. */
	membersAt(at: BindingRef, name: string): readonly MemberEntity[];
	/** What the facts say of a member. */
	memberAt(entity: MemberEntity): Member | undefined;
}

/** The linker of a reader: there is one, since it remembers what it has followed. */
export function linkerOf(reader: IndexReader): Linker {
	const known = linkers.get(reader);
	if (known) return known;
	const linker = createLinker(reader);
	linkers.set(reader, linker);
	return linker;
}

const linkers = new WeakMap<IndexReader, Linker>();

function createLinker(reader: IndexReader): Linker {
	// Exports need members (`module.exports = thing`), and members need exports (`namespace.thing`).
	const chains = createExportChains(reader, (entity, name) =>
		members.memberOf({ entity, side: "value" }, name),
	);
	const names: NameLookup = chains;
	const members = createMemberLookup(reader, names);

	return {
		reader,
		exported: chains.exported,
		exportedHere: chains.exportedHere,
		implementation: (entity) =>
			entity.kind === "declared" ? chains.implementation(entity) : members.implementation(entity),
		exportedNames: chains.exportedNames,
		bound: chains.bound,
		ownExports: chains.ownExports,
		overridden: members.overridden,
		membersAt({ file, binding }, name) {
			const declared = reader.bindings(file)[binding];
			if (declared?.kind !== "declared") return [];
			return [...pathsTo(declared, name)].map((path) => ({ kind: "member", file, binding, path }));
		},
		memberAt({ file, binding, path }) {
			const declared = reader.bindings(file)[binding];
			return declared?.kind === "declared" ? memberAt(declared, path) : undefined;
		},
		steps(at, { side = "value", steps = [] }) {
			return members.walk({ entity: chains.bound(at), side }, steps);
		},
	};
}

function* pathsTo(holder: Declared | Member, name: string): Generator<readonly number[]> {
	for (const [index, member] of (holder.members ?? []).entries()) {
		if (member.name === name) yield [index];
		for (const inner of pathsTo(member, name)) yield [index, ...inner];
	}
}
