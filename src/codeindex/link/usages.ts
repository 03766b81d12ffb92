import type { Position, Reference, UsageKind } from "../facts.ts";
import { getOrAdd } from "../get-or-add.ts";
import type { FileId } from "../reader.ts";
import { type DeclaredEntity, type Entity, keyOf, type MemberEntity } from "./export-chains.ts";
import type { Linker } from "./linker.ts";
import { type ExportRef, visitWays } from "./ways.ts";

/** Every use of something declared at the top level, further merged declarations included. */
export function usagesOfSymbol(linker: Linker, symbol: DeclaredEntity): Places {
	const declared = linker.reader.bindings(symbol.file)[symbol.binding];
	if (declared?.kind !== "declared") return new Places();
	const places = new Places({ file: symbol.file, at: declared.at });
	for (const at of declared.alsoAt ?? []) places.add(symbol.file, at, "declaration");
	addUsages(linker, symbol, places);
	return places;
}

/** Every use of a name that a file exports or passes on, by those that ask this file for it. */
export function usagesOfExport(linker: Linker, file: FileId, name: string): Places {
	const places = new Places();
	addUsages(linker, { kind: "export", file, name }, places);
	return places;
}

/** The other files that import a symbol, or name it in a namespace that they import. Quick for plain imports. */
export function importersOfSymbol(linker: Linker, symbol: DeclaredEntity): ReadonlySet<FileId> {
	const importers = new Set<FileId>();
	visitWays(linker, symbol, {
		bindings(all, path, references = []) {
			for (const [index, at] of all.entries()) {
				const isImporter =
					path.length === 0 ? "as" in at : references[index]?.some((one) => leadsAlong(one, path));
				if (isImporter) importers.add(at.file);
			}
		},
		exported() {},
		counterpart() {},
	});
	importers.delete(symbol.file);
	return importers;
}

function addUsages(linker: Linker, start: DeclaredEntity | ExportRef, places: Places): void {
	const { reader } = linker;
	visitWays(linker, start, {
		bindings(all, path, known) {
			const references = known ?? reader.referencesOfAll(all);
			for (const [index, at] of all.entries()) {
				// An import without a name, such as `require("x")` in an expression, names nothing.
				if (path.length === 0 && "as" in at && at.as.name !== "") {
					places.add(at.file, at.as.at, "import");
					if (at.as.importedAt) places.add(at.file, at.as.importedAt, "import");
				}
				for (const one of references[index] ?? []) addReference(places, at.file, one, path);
			}
		},
		exported(file, all) {
			for (const at of all) places.add(file, at, "re-export");
		},
		counterpart({ file, binding }) {
			const declared = reader.bindings(file)[binding];
			if (declared?.kind !== "declared") return;
			for (const at of [declared.at, ...(declared.alsoAt ?? [])]) {
				places.add(file, at, "declaration");
			}
		},
	});
}

function addReference(
	places: Places,
	file: FileId,
	reference: Reference,
	path: readonly string[],
): void {
	if (!leadsAlong(reference, path)) return;
	const { usage, steps = [] } = reference;
	const at = path.length === 0 ? reference.at : steps[path.length - 1]?.at;
	if (at) places.add(file, at, steps.length === path.length ? usage : "read");
}

/** Whether the names of `path` come right after the binding, with nothing called in between. */
function leadsAlong({ side, steps = [] }: Reference, path: readonly string[]): boolean {
	if (path.length === 0) return true;
	return (
		side !== "instance" &&
		path.every((name, index) => {
			const step = steps[index];
			return step?.name === name && (index === path.length - 1 || !step.called);
		})
	);
}

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

/** A use of something, by its place. */
export interface Place {
	readonly file: FileId;
	readonly at: Position;
	readonly kind: UsageKind;
}

/** Collects places, each once, in columns. Most come in order; only files with places out of order are sorted. */
class Places {
	readonly #ats: Position[] = [];
	readonly #kinds: UsageKind[] = [];
	/** Stretches of places in one file: where each begins, and its file. */
	readonly #starts: number[] = [];
	readonly #files: FileId[] = [];
	readonly #definition: Pick<Place, "file" | "at"> | undefined;

	/** The place of the definition is no use of it. */
	constructor(definition?: Pick<Place, "file" | "at">) {
		this.#definition = definition;
	}

	add(file: FileId, at: Position, kind: UsageKind): void {
		if (file === this.#definition?.file && compare(at, this.#definition.at) === 0) return;
		if (this.#files.at(-1) !== file) {
			this.#files.push(file);
			this.#starts.push(this.#ats.length);
		}
		this.#ats.push(at);
		this.#kinds.push(kind);
	}

	/** Tells of every place: file by file, within a file by line and column. */
	each(visit: (file: FileId, at: Position, kind: UsageKind) => void): void {
		const stretches = new Map<FileId, number | number[]>();
		this.#files.forEach((file, stretch) => {
			const known = stretches.get(file);
			if (known === undefined) stretches.set(file, stretch);
			else if (typeof known === "number") stretches.set(file, [known, stretch]);
			else known.push(stretch);
		});
		for (const [file, own] of stretches) {
			if (typeof own === "number" && this.#isInOrder(own)) {
				for (let place = this.#start(own); place < this.#start(own + 1); place++) {
					visit(file, this.#at(place), this.#kinds[place] as UsageKind);
				}
			} else this.#eachSorted([own].flat(), (at, kind) => visit(file, at, kind));
		}
	}

	/** All that {@link each} tells of. */
	all(): readonly Place[] {
		const all: Place[] = [];
		this.each((file, at, kind) => all.push({ file, at, kind }));
		return all;
	}

	/** Whether each place of a stretch comes after the one before. */
	#isInOrder(stretch: number): boolean {
		for (let place = this.#start(stretch) + 1; place < this.#start(stretch + 1); place++) {
			if (compare(this.#at(place - 1), this.#at(place)) >= 0) return false;
		}
		return true;
	}

	#eachSorted(stretches: number[], visit: (at: Position, kind: UsageKind) => void): void {
		const places = stretches.flatMap((stretch) => {
			const start = this.#start(stretch);
			return Array.from({ length: this.#start(stretch + 1) - start }, (_, index) => start + index);
		});
		places.sort((one, other) => compare(this.#at(one), this.#at(other)));
		for (let index = 0; index < places.length; index++) {
			const at = this.#at(places[index] as number);
			let kind = this.#kinds[places[index] as number] as UsageKind;
			for (let next = places[index + 1]; next !== undefined; next = places[index + 1]) {
				if (compare(at, this.#at(next)) !== 0) break;
				// `export default a` is both a reading and an export: the word that tells more stays.
				if (kind === "read") kind = this.#kinds[next] as UsageKind;
				index++;
			}
			visit(at, kind);
		}
	}

	#start(stretch: number): number {
		return this.#starts[stretch] ?? this.#ats.length;
	}

	#at(place: number): Position {
		return this.#ats[place] as Position;
	}
}

function compare(one: Position, other: Position): number {
	return one[0] - other[0] || one[1] - other[1];
}
