import type { Declared, Member } from "../../src/codeindex/facts.ts";
import type { FileId, IndexReader } from "../../src/codeindex/index-reader.ts";
import { linkerOf } from "../../src/codeindex/link/linker.ts";
import type { MemberEntity } from "../../src/codeindex/link/modules.ts";
import {
	type MemberUsages,
	type UsageSite,
	usagesOfMembers,
	usagesOfSymbol,
} from "../../src/codeindex/link/usages.ts";
import { askTypeScript, type Oracle, type Surroundings } from "./language-service.ts";
import { indexProject, type ProjectFiles } from "./memory-project.ts";

/** Where the index and TypeScript differ about a project. Places are `path:line:column`. */
export interface Comparison {
	/** Of things at the top level: how many were compared. */
	readonly compared: number;
	/** How many references there are, and those only one of the two knows. */
	readonly references: number;
	readonly missing: readonly string[];
	readonly extra: readonly string[];
	/** Missing references that an answer does not count as possible in their file, and that no relative has. */
	readonly uncounted: readonly string[];
	/** Where TypeScript's type checker says otherwise than its search for references, and agrees with the index. */
	readonly disputed: readonly string[];
	/** The same of members. */
	readonly members: Pick<
		Comparison,
		"compared" | "references" | "missing" | "extra" | "uncounted" | "disputed"
	>;
	/** Imports that lead elsewhere than TypeScript thinks. */
	readonly imports: number;
	readonly wrongImports: readonly string[];
	readonly mistakes: readonly string[];
}

export interface CompareOptions {
	readonly links?: Readonly<Record<string, string>>;
	readonly outside?: Surroundings;
	/** Which symbols and members to compare. Default: all. */
	readonly isChosen?: (of: "symbols" | "members") => boolean;
}

/** Asks both for the references of everything that is declared, and for the target of every import. */
export function compareWithTypeScript(
	files: ProjectFiles,
	{ links = {}, outside, isChosen = () => true }: CompareOptions = {},
): Comparison {
	const reader = indexProject(files);
	const oracle = askTypeScript(files, links, outside);
	const symbols = new Tally(reader, oracle, "symbols");
	const members = new Tally(reader, oracle, "members");
	const linker = linkerOf(reader);
	const memberUsages = new Map<string, MemberUsages>();
	for (const file of reader.files.keys()) {
		for (const [binding, declared] of reader.bindings(file).entries()) {
			if (declared.kind !== "declared") continue;
			const entity = { kind: "declared", file, binding } as const;
			if (isChosen("symbols")) {
				symbols.add(file, declared.name, declared, usagesOfSymbol(linker, entity).all());
			}
			for (const { member, facts } of membersOf(entity, declared)) {
				if (!isChosen("members")) continue;
				// To TypeScript it is the same as the variable, whose references are compared already.
				if (oracle.isShorthand(`${reader.files.get(file)?.path}:${facts.at.join(":")}`)) continue;
				const usages = memberUsages.get(facts.name) ?? usagesOfMembers(linker, facts.name);
				memberUsages.set(facts.name, usages);
				const places = usages.forMember(member).all();
				const family = usages.familyOf(member).above.flatMap((one) => usages.forMember(one).all());
				const name = `${declared.name}.${facts.name}`;
				members.add(file, name, facts, places, { family, possible: usages.unclear });
			}
		}
	}
	return {
		...symbols.result(),
		members: members.result(),
		...compareImports(reader, oracle),
		mistakes: oracle.mistakes(),
	};
}

/** What an answer names besides usages: those of related members, and possible ones by file. */
interface Named {
	readonly family: readonly UsageSite[];
	readonly possible: ReadonlyMap<FileId, number>;
}

class Tally {
	readonly #missing: string[] = [];
	readonly #extra: string[] = [];
	readonly #disputed: string[] = [];
	readonly #uncounted: string[] = [];
	#compared = 0;
	#references = 0;
	readonly #reader: IndexReader;
	readonly #oracle: Oracle;

	readonly #of: "symbols" | "members";

	constructor(reader: IndexReader, oracle: Oracle, of: "symbols" | "members") {
		this.#reader = reader;
		this.#oracle = oracle;
		this.#of = of;
	}

	add(
		file: FileId,
		name: string,
		facts: Declared | Member,
		places: readonly UsageSite[],
		{ family, possible }: Named = { family: [], possible: new Map() },
	): void {
		const path = this.#pathOf(file);
		const declarations = [facts.at, ...(facts.alsoAt ?? [])];
		const own = declarations.map(([line, column]) => `${path}:${line}:${column}`);
		const counterparts = own.flatMap((place) => this.#oracle.counterparts(place));
		// TypeScript tells the type and the value of one name apart, which the index does not.
		const theirs = new Set(
			[...own, ...counterparts].flatMap((place) => {
				const [file = "", line, column] = place.split(":");
				return [...this.#oracle.references(file, Number(line), Number(column))];
			}),
		);
		const ours = new Set(places.map(({ file, at }) => `${this.#pathOf(file)}:${at.join(":")}`));
		// `this` in static methods is a reference to the class, in which its name is not written.
		for (const place of theirs) if (this.#oracle.isThis(place)) theirs.delete(place);
		for (const place of own) {
			theirs.delete(place);
			ours.delete(place);
		}
		this.#compared++;
		this.#references += theirs.size;
		const missing = new Map<string, string[]>();
		const named = new Set(family.map(({ file, at }) => `${this.#pathOf(file)}:${at.join(":")}`));
		const means = (place: string) =>
			[...own, ...counterparts].some((one) => this.#oracle.means(one, place));
		for (const place of theirs) {
			if (ours.has(place)) continue;
			// A member has relatives that are references to it and yet mean something else.
			const isMissing = this.#of === "members" || means(place);
			const text = `${place} (${name} of ${path})`;
			(isMissing ? this.#missing : this.#disputed).push(text);
			const [inFile = ""] = place.split(":");
			if (isMissing && !named.has(place))
				missing.set(inFile, [...(missing.get(inFile) ?? []), text]);
		}
		for (const [inFile, all] of missing) {
			const id = this.#reader.fileAt(inFile)?.id;
			const count = id === undefined ? 0 : (possible.get(id) ?? 0);
			this.#uncounted.push(...all.slice(count));
		}
		for (const place of ours) {
			if (theirs.has(place)) continue;
			(means(place) ? this.#disputed : this.#extra).push(`${place} (${name} of ${path})`);
		}
	}

	result(): Comparison["members"] {
		return {
			compared: this.#compared,
			references: this.#references,
			missing: this.#missing,
			extra: this.#extra,
			uncounted: this.#uncounted,
			disputed: this.#disputed,
		};
	}

	#pathOf(file: FileId): string {
		return this.#reader.files.get(file)?.path ?? "";
	}
}

function* membersOf(
	at: { readonly file: FileId; readonly binding: number },
	holder: Declared | Member,
	path: readonly number[] = [],
): Generator<{ member: MemberEntity; facts: Member }> {
	for (const [index, facts] of (holder.members ?? []).entries()) {
		const inner = [...path, index];
		const { file, binding } = at;
		yield { member: { kind: "member", file, binding, path: inner }, facts };
		yield* membersOf(at, facts, inner);
	}
}

function compareImports(
	reader: IndexReader,
	oracle: Oracle,
): Pick<Comparison, "imports" | "wrongImports"> {
	let imports = 0;
	const wrongImports: string[] = [];
	for (const { id, path } of reader.files.values()) {
		const resolutions = reader.resolutions(id);
		for (const [index, { specifier, kinds }] of reader.requests(id).entries()) {
			imports++;
			const target = resolutions[index];
			const ours = target?.kind === "file" ? reader.files.get(target.file)?.path : undefined;
			const theirs = oracle.resolve(path, specifier);
			if (ours !== theirs) {
				wrongImports.push(
					`${path}: ${specifier} (${kinds.join()}) leads to ${ours}, not ${theirs}`,
				);
			}
		}
	}
	return { imports, wrongImports };
}
