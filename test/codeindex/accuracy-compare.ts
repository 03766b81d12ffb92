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
import { askTypeScript, type Oracle } from "./language-service.ts";
import { indexProject, type ProjectFiles } from "./memory-project.ts";

/** Where the index and TypeScript differ about a project. Places are `path:line:column`. */
export interface Comparison {
	/** Of things at the top level: how many references there are, and those only one of the two knows. */
	readonly references: number;
	readonly missing: readonly string[];
	readonly extra: readonly string[];
	/** Where TypeScript's type checker says otherwise than its search for references, and agrees with the index. */
	readonly disputed: readonly string[];
	/** The same of members. */
	readonly members: Pick<Comparison, "references" | "missing" | "extra" | "disputed">;
	/** Imports that lead elsewhere than TypeScript thinks. */
	readonly imports: number;
	readonly wrongImports: readonly string[];
	readonly mistakes: readonly string[];
}

/** Asks both for the references of everything that is declared, and for the target of every import. */
export function compareWithTypeScript(
	files: ProjectFiles,
	links: Readonly<Record<string, string>> = {},
): Comparison {
	const reader = indexProject(files);
	const oracle = askTypeScript(files, links);
	const symbols = new Tally(reader, oracle, "symbols");
	const members = new Tally(reader, oracle, "members");
	const linker = linkerOf(reader);
	const memberUsages = new Map<string, MemberUsages>();
	for (const file of reader.files.keys()) {
		for (const [binding, declared] of reader.bindings(file).entries()) {
			if (declared.kind !== "declared") continue;
			const entity = { kind: "declared", file, binding } as const;
			symbols.add(file, declared.name, declared, usagesOfSymbol(linker, entity).all());
			for (const { member, facts } of membersOf(entity, declared)) {
				// To TypeScript it is the same as the variable, whose references are compared already.
				if (oracle.isShorthand(`${reader.files.get(file)?.path}:${facts.at.join(":")}`)) continue;
				const usages = memberUsages.get(facts.name) ?? usagesOfMembers(linker, facts.name);
				memberUsages.set(facts.name, usages);
				const places = usages.forMember(member);
				members.add(file, `${declared.name}.${facts.name}`, facts, places);
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

class Tally {
	readonly #missing: string[] = [];
	readonly #extra: string[] = [];
	readonly #disputed: string[] = [];
	#references = 0;
	readonly #reader: IndexReader;
	readonly #oracle: Oracle;

	readonly #of: "symbols" | "members";

	constructor(reader: IndexReader, oracle: Oracle, of: "symbols" | "members") {
		this.#reader = reader;
		this.#oracle = oracle;
		this.#of = of;
	}

	add(file: FileId, name: string, facts: Declared | Member, places: readonly UsageSite[]): void {
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
		for (const place of own) {
			theirs.delete(place);
			ours.delete(place);
		}
		this.#references += theirs.size;
		const means = (place: string) =>
			[...own, ...counterparts].some((one) => this.#oracle.means(one, place));
		for (const place of theirs) {
			if (ours.has(place)) continue;
			// A member has relatives that are references to it and yet mean something else.
			const isMissing = this.#of === "members" || means(place);
			(isMissing ? this.#missing : this.#disputed).push(`${place} (${name} of ${path})`);
		}
		for (const place of ours) {
			if (theirs.has(place)) continue;
			(means(place) ? this.#disputed : this.#extra).push(`${place} (${name} of ${path})`);
		}
	}

	result(): Comparison["members"] {
		return {
			references: this.#references,
			missing: this.#missing,
			extra: this.#extra,
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
