import { getOrAdd } from "../../core/get-or-add.ts";
import type { Position, Reference, UsageKind } from "../facts.ts";
import type { FileId } from "../index-reader.ts";
import { languageOf } from "../languages.ts";
import type { Linker } from "./linker.ts";
import { type DeclaredEntity, type Entity, keyOf, type MemberEntity, pairsOf } from "./modules.ts";
import { CALL, type ExportRef, visitReferrers } from "./referrers.ts";

export function usagesOfSymbol(linker: Linker, symbol: DeclaredEntity): UsageSites {
	const declared = linker.declaredAt(symbol);
	if (!declared) return new UsageSites();
	const sites = new UsageSites({ file: symbol.file, at: declared.at });
	for (const at of declared.alsoAt ?? []) sites.add(symbol.file, at, "declaration");
	addUsages(linker, symbol, sites);
	return sites;
}

/** Usages in files that import the name from this file. The name may be a re-export. */
export function usagesOfExport(linker: Linker, file: FileId, name: string): UsageSites {
	const sites = new UsageSites();
	addUsages(linker, { kind: "export", file, name }, sites);
	return sites;
}

/** Other files that import the symbol or access it through a namespace. Fast for plain imports. */
export function importersOfSymbol(linker: Linker, symbol: DeclaredEntity): ReadonlySet<FileId> {
	const importers = new Set<FileId>();
	visitReferrers(linker, symbol, {
		bindings(all, path, references = []) {
			for (const [index, at] of all.entries()) {
				const isImporter =
					path.length === 0 ? "as" in at : references[index]?.some((one) => leadsAlong(one, path));
				if (isImporter) importers.add(at.file);
			}
		},
	});
	importers.delete(symbol.file);
	return importers;
}

function addUsages(linker: Linker, start: DeclaredEntity | ExportRef, sites: UsageSites): void {
	const { reader } = linker;
	visitReferrers(linker, start, {
		bindings(all, path, known) {
			const references = known ?? reader.referencesOfAll(all);
			for (const [index, at] of all.entries()) {
				// An import without a local name, such as `require("x")` in an expression, does not contain the name.
				if (path.length === 0 && "as" in at && at.as.name !== "") {
					sites.add(at.file, at.as.at, "import");
					if (at.as.importedAt) sites.add(at.file, at.as.importedAt, "import");
				}
				for (const one of references[index] ?? []) {
					if (!leadsAlong(one, path)) continue;
					const { usage, steps = [] } = one;
					const names = path.filter((name) => name !== CALL).length;
					const written = names === 0 ? one.at : steps[names - 1]?.at;
					if (written) sites.add(at.file, written, steps.length === names ? usage : "read");
				}
			}
		},
		exported(file, all) {
			for (const at of all) sites.add(file, at, "re-export");
		},
		counterpart(symbol) {
			const declared = linker.declaredAt(symbol);
			for (const at of declared ? [declared.at, ...(declared.alsoAt ?? [])] : []) {
				sites.add(symbol.file, at, "declaration");
			}
		},
	});
}

function leadsAlong({ side, steps = [] }: Reference, path: readonly string[]): boolean {
	let isCalled = path.length > 0 && side === "instance";
	let taken = 0;
	for (const name of path) {
		if (isCalled !== (name === CALL)) return false;
		isCalled = false;
		if (name === CALL) continue;
		const step = steps[taken++];
		if (step?.name !== name) return false;
		isCalled = step.called === true;
	}
	return true;
}

export type MemberUsages = ReturnType<typeof usagesOfMembers>;

/**
 * Finds uses of members through types. All members of one name are resolved at once. Files for which
 * `isWithin` returns false are skipped: they cannot reach the type that declares the member.
 */
export function usagesOfMembers(
	linker: Linker,
	name: string,
	isWithin: (file: FileId) => boolean = () => true,
) {
	const { reader } = linker;
	const uses = new Map<string, Uses>();
	const unclear = new Map(reader.looseAccesses(name));

	const usesOf = (member: MemberEntity): Uses =>
		getOrAdd(uses, keyOf(member), () => {
			const above = new Set(linker.overridden(member).map(keyOf));
			return { member, above, sites: new UsageSites() };
		});
	for (const { file, binding, reference } of reader.accessing(name)) {
		if (!isWithin(file)) continue;
		const reached = linker.followSteps({ file, binding }, reference);
		const steps = reference.steps ?? [];
		for (const [index, step] of steps.entries()) {
			if (step.name !== name) continue;
			const entity = reached[index];
			if (entity?.kind === "member") {
				if (step.at) usesOf(entity).sites.add(file, step.at, kindAt(reference, index));
			} else if (
				entity === undefined &&
				!isOutside(index, reached, linker.resolveBinding({ file, binding }))
			) {
				unclear.set(file, (unclear.get(file) ?? 0) + 1);
			}
		}
	}
	const declarations = reader.named(name).filter(({ isMember }) => isMember);
	if (declarations.length <= MAX_DECLARATIONS) {
		for (const at of declarations) for (const member of linker.membersAt(at, name)) usesOf(member);
		for (const file of new Set(declarations.map((at) => at.file))) throughImports(file);
	}

	/** `const { name } = require("./whole")`, where the module is an object with this member. */
	function throughImports(file: FileId): void {
		const other = pairsOf(reader).other(file);
		const files = other === undefined ? [file] : [file, other];
		for (const at of files.flatMap((one) => reader.importsOf(one, name))) {
			if (!isWithin(at.file)) continue;
			const entity = linker.resolveBinding(at);
			if (entity.kind !== "member" || at.as.name === "") continue;
			const { sites } = usesOf(entity);
			sites.add(at.file, at.as.at, "import");
			if (at.as.importedAt) sites.add(at.file, at.as.importedAt, "import");
			for (const { at: written, usage, steps = [] } of reader.references(at)) {
				if (written) sites.add(at.file, written, steps.length === 0 ? usage : "read");
			}
		}
	}

	return {
		/** Per file, the number of accesses of the name on receivers of unknown type. */
		unclear,
		/** Members related by heritage. `beside` counts those that share one of `above`. */
		familyOf(member: MemberEntity) {
			const own = keyOf(member);
			const { above } = usesOf(member);
			const all = [...uses];
			const others = all.filter(([key]) => key !== own && !above.has(key));
			const isBelow = ({ above: aboveOther }: Uses) => aboveOther.has(own);
			return {
				above: linker.overridden(member),
				below: others.flatMap(([, one]) => (isBelow(one) ? [one.member] : [])),
				beside: others.filter(([, one]) => {
					return !isBelow(one) && [...one.above].some((key) => above.has(key));
				}).length,
			};
		},
		/** In some languages, includes uses of members that it overrides or that override it. */
		forMember(member: MemberEntity): Sites {
			const own = keyOf(member);
			const { above } = usesOf(member);
			const language = languageOf(reader.files.get(member.file)?.path ?? "");
			const countsRelatives = language?.countsRelatives === true;
			const at = linker.memberAt(member)?.at;
			const sites = new UsageSites(at && { file: member.file, at });
			for (const [key, { member: other, above: aboveOther, sites: found }] of uses) {
				const isRelated = countsRelatives && (above.has(key) || aboveOther.has(own));
				if (key !== own && !isRelated) continue;
				const declared = linker.memberAt(other);
				for (const at of declared?.alsoAt ?? []) sites.add(other.file, at, "declaration");
				if (key !== own && declared) sites.add(other.file, declared.at, "declaration");
				found.each((file, at, kind) => sites.add(file, at, kind));
			}
			return sites;
		},
	};
}

/** If more members than this share a name (as with `id`), related members that are never accessed are skipped. */
const MAX_DECLARATIONS = 1000;

interface Uses {
	readonly member: MemberEntity;
	readonly above: ReadonlySet<string>;
	readonly sites: UsageSites;
}

function kindAt({ steps = [], usage }: Reference, index: number): UsageSite["kind"] {
	if (index === steps.length - 1) return usage;
	return steps[index]?.called ? "call" : "read";
}

/** Whether the member belongs to an external package. */
function isOutside(index: number, reached: readonly Entity[], start: Entity): boolean {
	const last = reached[Math.min(index, reached.length) - 1] ?? start;
	return last.kind === "external";
}

export interface UsageSite {
	readonly file: FileId;
	readonly at: Position;
	readonly kind: UsageKind;
}

export type Sites = Pick<UsageSites, "each" | "all">;

/** Unique sites, stored in columns: there may be tens of thousands. Most sites arrive in order, so only unordered files are sorted. */
export class UsageSites {
	readonly #ats: Position[] = [];
	readonly #kinds: UsageKind[] = [];
	readonly #starts: number[] = [];
	readonly #files: FileId[] = [];
	readonly #isInOrder: boolean[] = [];
	readonly #definition: Pick<UsageSite, "file" | "at"> | undefined;

	/** The definition itself does not count as a usage. */
	constructor(definition?: Pick<UsageSite, "file" | "at">) {
		this.#definition = definition;
	}

	add(file: FileId, at: Position, kind: UsageKind): void {
		if (file === this.#definition?.file && compare(at, this.#definition.at) === 0) return;
		const run = this.#files.length - 1;
		if (this.#files[run] !== file) {
			this.#files.push(file);
			this.#starts.push(this.#ats.length);
			this.#isInOrder.push(true);
		} else if (compare(this.#ats[this.#ats.length - 1] as Position, at) >= 0) {
			this.#isInOrder[run] = false;
		}
		this.#ats.push(at);
		this.#kinds.push(kind);
	}

	/** Visits the sites file by file, sorted by line and column within a file. */
	each(visit: (file: FileId, at: Position, kind: UsageKind) => void): void {
		const runs = new Map<FileId, number | number[]>();
		this.#files.forEach((file, run) => {
			const known = runs.get(file);
			if (known === undefined) runs.set(file, run);
			else if (typeof known === "number") runs.set(file, [known, run]);
			else known.push(run);
		});
		for (const [file, own] of runs) {
			if (typeof own === "number" && this.#isInOrder[own]) {
				const end = this.#start(own + 1);
				for (let site = this.#start(own); site < end; site++) {
					visit(file, this.#at(site), this.#kinds[site] as UsageKind);
				}
			} else this.#eachSorted([own].flat(), (at, kind) => visit(file, at, kind));
		}
	}

	all(): readonly UsageSite[] {
		const all: UsageSite[] = [];
		this.each((file, at, kind) => all.push({ file, at, kind }));
		return all;
	}

	#eachSorted(runs: number[], visit: (at: Position, kind: UsageKind) => void): void {
		const sites = runs.flatMap((run) => {
			const start = this.#start(run);
			return Array.from({ length: this.#start(run + 1) - start }, (_, index) => start + index);
		});
		sites.sort((one, other) => compare(this.#at(one), this.#at(other)));
		for (let index = 0; index < sites.length; index++) {
			const at = this.#at(sites[index] as number);
			let kind = this.#kinds[sites[index] as number] as UsageKind;
			for (let next = sites[index + 1]; next !== undefined; next = sites[index + 1]) {
				if (compare(at, this.#at(next)) !== 0) break;
				// `export default a` is both a read and an export. The more specific kind wins.
				if (kind === "read") kind = this.#kinds[next] as UsageKind;
				index++;
			}
			visit(at, kind);
		}
	}

	#start(run: number): number {
		return this.#starts[run] ?? this.#ats.length;
	}

	#at(site: number): Position {
		return this.#ats[site] as Position;
	}
}

function compare(one: Position, other: Position): number {
	return one[0] - other[0] || one[1] - other[1];
}
