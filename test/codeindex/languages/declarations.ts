import type { Declared, Member } from "../../../src/codeindex/facts.ts";
import { linkerOf } from "../../../src/codeindex/link/linker.ts";
import {
	type UsageSite,
	usagesOfMembers,
	usagesOfSymbol,
} from "../../../src/codeindex/link/usages.ts";
import { indexProject } from "./language-project.ts";

type ProjectFiles = Readonly<Record<string, string>>;

/** A name of the top level or a member, with its usages. Places are `path:line:column`. */
export interface DeclaredUsages {
	readonly place: string;
	readonly name: string;
	readonly isMember: boolean;
	readonly usages: readonly string[];
	/** Of a member: accesses on values of unknown type, by file. */
	readonly possible: ReadonlyMap<string, number>;
}

/** Usages of everything at the top level, by the place of its declaration. */
export async function usagesIn(
	files: ProjectFiles,
): Promise<ReadonlyMap<string, readonly string[]>> {
	const all = await usagesOfAll(files);
	return new Map(
		all.flatMap(({ place, isMember, usages }) => (isMember ? [] : [[place, usages] as const])),
	);
}

/** Usages of everything at the top level and of its members. */
export async function usagesOfAll(files: ProjectFiles): Promise<readonly DeclaredUsages[]> {
	const reader = await indexProject(files);
	const linker = linkerOf(reader);
	const found: DeclaredUsages[] = [];
	const byName = new Map<string, ReturnType<typeof usagesOfMembers>>();
	const pathOf = (file: UsageSite["file"]) => reader.files.get(file)?.path ?? "";
	const placesOf = (sites: readonly UsageSite[]) =>
		[...new Set(sites.map(({ file, at }) => `${pathOf(file)}:${at.join(":")}`))].sort();
	for (const [file, { path }] of reader.files) {
		for (const [binding, declared] of reader.bindings(file).entries()) {
			if (declared.kind !== "declared") continue;
			const add = (facts: Declared | Member, more: Omit<DeclaredUsages, "place">) =>
				found.push({ place: `${path}:${facts.at.join(":")}`, ...more });
			if (!declared.partial) {
				const sites = usagesOfSymbol(linker, { kind: "declared", file, binding }).all();
				const { name } = declared;
				add(declared, { name, isMember: false, usages: placesOf(sites), possible: new Map() });
			}
			for (const [index, member] of (declared.members ?? []).entries()) {
				const { name } = member;
				const usages = byName.get(name) ?? usagesOfMembers(linker, name);
				byName.set(name, usages);
				const sites = usages.forMember({ kind: "member", file, binding, path: [index] }).all();
				const possible = new Map([...usages.unclear].map(([id, count]) => [pathOf(id), count]));
				const whole = `${declared.name}.${name}`;
				add(member, { name: whole, isMember: true, usages: placesOf(sites), possible });
			}
		}
	}
	return found;
}
