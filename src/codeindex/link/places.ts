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
	return {
		add(file, at, kind) {
			const others = byFile.get(file);
			if (others) others.push({ file, at, kind });
			else byFile.set(file, [{ file, at, kind }]);
		},
		all() {
			const all: Place[] = [];
			for (const places of byFile.values()) {
				if (places.length > 1) places.sort(byPosition);
				for (const place of places) {
					const before = all.at(-1);
					if (!before || before.file !== place.file || byPosition(before, place) !== 0)
						all.push(place);
					// `export default a` is both a reading and an export: the word that tells more stays.
					else if (before.kind === "read") all[all.length - 1] = place;
				}
			}
			return all;
		},
	};
}

function byPosition(a: Place, b: Place): number {
	return a.at[0] - b.at[0] || a.at[1] - b.at[1];
}
