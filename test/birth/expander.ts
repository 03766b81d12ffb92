/**
 * Written from docs/birth.md alone: a line `[strata: lines A-B of the output of `NAME`… above, unchanged…]`
 * stands for lines A to B of the newest earlier result with that name, or of the one whose id follows.
 */
import type { CallResult, PlacedReference } from "../../src/birth/index.ts";

/** A result above, with the text that the model sees. */
export interface Earlier {
	readonly name: string;
	readonly id: string;
	readonly text: string | undefined;
}

/** The tool and its one argument: calls of the tests have no other names. */
export function nameByHand({ tool, input }: CallResult): string {
	return [tool, ...Object.values(input as Record<string, string>)].join(" ");
}

export function expandedByHand(shown: string, earlier: readonly Earlier[]): string {
	return shown
		.split("\n")
		.flatMap((line) => {
			const meant = meantBy(line, earlier);
			return meant ? meant.lines : [line];
		})
		.join("\n");
}

export function referencesByHand(shown: string, earlier: readonly Earlier[]): PlacedReference[] {
	return shown.split("\n").flatMap((line, at) => {
		const meant = meantBy(line, earlier);
		if (!meant) return [];
		return { line: at + 1, base: meant.id, first: meant.first, last: meant.last };
	});
}

/** `undefined` for a line that is no reference. */
function meantBy(line: string, earlier: readonly Earlier[]) {
	if (!line.startsWith("[strata: lines ")) return undefined;
	const words = line.split(" ");
	const [first, last] = (words[2] as string).split("-").map(Number) as [number, number];
	const [, name, rest = ""] = line.split("`");
	const id = rest.startsWith(" (") ? rest.slice(2, rest.indexOf(")")) : undefined;
	const meant = earlier.findLast(
		(result) => result.name === name && (id === undefined || result.id === id),
	);
	const base = meant?.text?.split("\n") ?? [];
	if (!meant || !(first >= 1 && first <= last && last <= base.length)) {
		throw new Error(`not backed: ${line}`);
	}
	return { id: meant.id, first, last, lines: base.slice(first - 1, last) };
}
