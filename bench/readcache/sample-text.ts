/** Texts for benchmarks, the same in every run. */

/** A number from 0 up to, but not including, 1. */
export type Random = () => number;

/** A small seeded generator (mulberry32). */
export function createRandom(seed: number): Random {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
	};
}

/** Lines like those of source code, 44 bytes on average: most occur once, closing braces and empty lines often. */
export function sourceLines(count: number, random: Random): string[] {
	return Array.from({ length: count }, (_, i) => {
		if (i % 9 === 8) return "";
		if (i % 9 === 7) return "\t}";
		return `\tconst value${i} = compute(input, ${Math.floor(random() * 1000)}); // step ${i}`;
	});
}

/** Changes about the given share of lines: half replaced, a quarter removed, a quarter with one inserted. */
export function edited(lines: readonly string[], share: number, random: Random): string[] {
	return lines.flatMap((line, i) => {
		if (random() >= share) return [line];
		const kind = random();
		if (kind < 0.5) return [`${line} // changed ${i}`];
		return kind < 0.75 ? [] : [line, `added after ${i}`];
	});
}

/** Replaces lines spread evenly over the file. */
export function replaced(lines: readonly string[], count: number): string[] {
	const every = Math.floor(lines.length / count);
	return lines.map((line, i) => (i % every === every >> 1 ? `${line} // replaced` : line));
}

/** The lines as a file: every one ends with a newline. */
export function fileOf(lines: readonly string[]): string {
	return `${lines.join("\n")}\n`;
}
