import { getOrAdd } from "../../core/get-or-add.ts";
import type { Position, Reference, UsageKind } from "../facts.ts";
import type { FileId } from "../index-reader.ts";
import { type ExportRef, type Linker, visitWays } from "./linker.ts";
import { type DeclaredEntity, type Entity, keyOf, type MemberEntity } from "./modules.ts";

export function usagesOfSymbol(linker: Linker, symbol: DeclaredEntity): Places {
	const declared = linker.declaredAt(symbol);
	if (!declared) return new Places();
	const places = new Places({ file: symbol.file, at: declared.at });
	for (const at of declared.alsoAt ?? []) places.add(symbol.file, at, "declaration");
	addUsages(linker, symbol, places);
	return places;
}

/** Covers a declared or re-exported name, by imports from this file. */
export function usagesOfExport(linker: Linker, file: FileId, name: string): Places {
	const places = new Places();
	addUsages(linker, { kind: "export", file, name }, places);
	return places;
}

/** Other files that import the symbol or access it through a namespace. Fast for plain imports. */
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
				// A nameless import, such as `require("x")` in an expression, names nothing.
				if (path.length === 0 && "as" in at && at.as.name !== "") {
					places.add(at.file, at.as.at, "import");
					if (at.as.importedAt) places.add(at.file, at.as.importedAt, "import");
				}
				for (const one of references[index] ?? []) {
					if (!leadsAlong(one, path)) continue;
					const { usage, steps = [] } = one;
					const written = path.length === 0 ? one.at : steps[path.length - 1]?.at;
					if (written) places.add(at.file, written, steps.length === path.length ? usage : "read");
				}
			}
		},
		exported(file, all) {
			for (const at of all) places.add(file, at, "re-export");
		},
		counterpart(symbol) {
			const declared = linker.declaredAt(symbol);
			for (const at of declared ? [declared.at, ...(declared.alsoAt ?? [])] : []) {
				places.add(symbol.file, at, "declaration");
			}
		},
	});
}

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

export type MemberUsages = ReturnType<typeof usagesOfMembers>;

/**
 * Types link a member to its uses, so all members of a name are resolved at once. Files not
 * `isWithin` are skipped: they cannot reach the declaration's type.
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
		/** Per file, accesses of the name on an unknown receiver. */
		unclear,
		/** Includes uses of members it overrides and of those that override it. */
		of(member: MemberEntity): readonly Place[] {
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

/** Above this (`id`, `name`), overriding members without an access are not searched. */
const MAX_BEARERS = 1000;

interface Uses {
	readonly member: MemberEntity;
	readonly above: ReadonlySet<string>;
	readonly places: Places;
}

function kindAt({ steps = [], usage }: Reference, index: number): Place["kind"] {
	if (index === steps.length - 1) return usage;
	return steps[index]?.called ? "call" : "read";
}

/** A package's members are not ours. */
function isOutside(index: number, reached: readonly Entity[], start: Entity): boolean {
	const last = reached[Math.min(index, reached.length) - 1] ?? start;
	return last.kind === "external";
}

export interface Place {
	readonly file: FileId;
	readonly at: Position;
	readonly kind: UsageKind;
}

/** Unique places, in columns. Most arrive in order; only unordered files are sorted. */
class Places {
	readonly #ats: Position[] = [];
	readonly #kinds: UsageKind[] = [];
	readonly #starts: number[] = [];
	readonly #files: FileId[] = [];
	readonly #definition: Pick<Place, "file" | "at"> | undefined;

	/** The definition itself is not a use. */
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

	/** By file, then line and column. */
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

	all(): readonly Place[] {
		const all: Place[] = [];
		this.each((file, at, kind) => all.push({ file, at, kind }));
		return all;
	}

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
				// `export default a` is both a read and an export: the more specific kind wins.
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
