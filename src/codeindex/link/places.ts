import type { Position, UsageKind } from "../facts.ts";
import type { FileId } from "../reader.ts";

/** A use of something, by its place. */
export interface Place {
	readonly file: FileId;
	readonly at: Position;
	readonly kind: UsageKind;
}

/** Gathers places, each once. */
export interface Places {
	add(file: FileId, at: Position, kind: UsageKind): void;
	/** File by file; within a file by line and column. */
	all(): readonly Place[];
}

/** An empty collection. */
export function createPlaces(): Places {
	const byFile = new Map<FileId, Place[]>();
	// Places come file by file for the most part, and in order: there can be tens of thousands.
	let file: FileId | undefined;
	let current: Place[] = [];
	const unsorted = new Set<Place[]>();
	return {
		add(of, at, kind) {
			if (of !== file) {
				file = of;
				current = byFile.get(of) ?? [];
				if (current.length === 0) byFile.set(of, current);
			}
			const place = { file: of, at, kind };
			const before = current[current.length - 1];
			if (before && byPosition(before, place) > 0) unsorted.add(current);
			current.push(place);
		},
		all() {
			for (const places of unsorted) places.sort(byPosition);
			unsorted.clear();
			const all: Place[] = [];
			let before: Place | undefined;
			for (const places of byFile.values()) {
				for (const place of places) {
					const isSame = before?.file === place.file && byPosition(before, place) === 0;
					if (!isSame) all.push(place);
					// `export default a` is both a reading and an export: the word that tells more stays.
					else if (before?.kind === "read") all[all.length - 1] = place;
					else continue;
					before = place;
				}
			}
			return all;
		},
	};
}

function byPosition(a: Place, b: Place): number {
	return a.at[0] - b.at[0] || a.at[1] - b.at[1];
}
