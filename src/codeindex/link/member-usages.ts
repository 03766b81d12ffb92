import type { Reference } from "../facts.ts";
import { getOrAdd } from "../get-or-add.ts";
import type { FileId } from "../reader.ts";
import { type Entity, keyOf, type MemberEntity } from "./entity.ts";
import type { Linker } from "./linker.ts";
import { type Place, Places } from "./places.ts";

/** The uses of all members of one name. */
export interface MemberUsages {
	/** The uses of one member: of itself, of what it overrides, and of what overrides it. */
	of(member: MemberEntity): readonly Place[];
	/** How often a file accesses a property of the name on something that could not be followed. */
	readonly unclear: ReadonlyMap<FileId, number>;
}

/**
 * Looks at every access and declaration of the name: types stand between a member and its uses, so all members of a
 * name are done at once. Accesses in files that are not `isWithin` are left out: a file that does not reach a
 * declaration cannot know its type.
 */
export function usagesOfMembers(
	linker: Linker,
	name: string,
	isWithin: (file: FileId) => boolean = () => true,
): MemberUsages {
	const { reader } = linker;
	const uses = new Map<string, Uses>();
	const unclear = new Map(reader.looseAccesses(name));

	const usesOf = (member: MemberEntity): Uses =>
		getOrAdd(uses, keyOf(member), () => {
			const above = new Set(linker.overridden(member).map(keyOf));
			return { member, above, places: new Places() };
		});
	for (const { file, binding, reference } of reader.accessing(name)) {
		if (!isWithin(file)) continue;
		const reached = linker.steps({ file, binding }, reference);
		const steps = reference.steps ?? [];
		for (const [index, step] of steps.entries()) {
			if (step.name !== name) continue;
			const entity = reached[index];
			if (entity?.kind === "member") {
				if (step.at) usesOf(entity).places.add(file, step.at, kindAt(reference, index));
			} else if (
				entity === undefined &&
				!isOutside(index, reached, linker.bound({ file, binding }))
			) {
				unclear.set(file, (unclear.get(file) ?? 0) + 1);
			}
		}
	}
	const bearers = reader.named(name).filter(({ isMember }) => isMember);
	if (bearers.length <= MAX_BEARERS) {
		for (const at of bearers) for (const member of linker.membersAt(at, name)) usesOf(member);
	}

	return {
		unclear,
		of(member) {
			const own = keyOf(member);
			const { above } = usesOf(member);
			const at = linker.memberAt(member)?.at;
			const places = new Places(at && { file: member.file, at });
			for (const [key, { member: other, above: aboveOther, places: found }] of uses) {
				if (key !== own && !above.has(key) && !aboveOther.has(own)) continue;
				const declared = linker.memberAt(other);
				for (const at of declared?.alsoAt ?? []) places.add(other.file, at, "declaration");
				if (key !== own && declared) places.add(other.file, declared.at, "declaration");
				found.each((file, at, kind) => places.add(file, at, kind));
			}
			return places.all();
		},
	};
}

/** A name that more things bear (`id`, `name`) is not looked for among what overrides it without being accessed. */
const MAX_BEARERS = 1000;

interface Uses {
	readonly member: MemberEntity;
	/** The keys of what it overrides. */
	readonly above: ReadonlySet<string>;
	readonly places: Places;
}

function kindAt({ steps = [], usage }: Reference, index: number): Place["kind"] {
	if (index === steps.length - 1) return usage;
	return steps[index]?.called ? "call" : "read";
}

/** Whether the step before the unknown one belongs to a package: then it is none of ours. */
function isOutside(index: number, reached: readonly Entity[], start: Entity): boolean {
	const last = reached[Math.min(index, reached.length) - 1] ?? start;
	return last.kind === "external";
}
