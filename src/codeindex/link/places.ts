import type { Position, UsageKind } from "../facts.ts";
import type { FileId } from "../reader.ts";

/** A use of something, by its place. */
export interface Place {
	readonly file: FileId;
	readonly at: Position;
	readonly kind: UsageKind;
}

/** Collects places, each once, in columns. Most come in order; only files with places out of order are sorted. */
export class Places {
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
