import type { ContextKind, ContextMoment } from "../../../protocol/index.ts";
import { KINDS, totalOf } from "./bar.ts";

/** The course of a context, ready to be stacked: `byKind[i]` belongs to `kinds[i]` and has one value for each moment. */
export interface ContextCourse {
	readonly kinds: readonly ContextKind[];
	/** The number of each moment's request: of many requests only some are kept. */
	readonly requests: readonly number[];
	readonly atMs: readonly number[];
	readonly byKind: readonly (readonly number[])[];
}

/** What each request held of every kind that any of them held something of. */
export function courseOf(history: readonly ContextMoment[], most = 200): ContextCourse {
	const moments = thinned(history, most);
	const kinds = KINDS.filter((kind) => moments.some(({ byKind }) => (byKind[kind] ?? 0) > 0));
	return {
		kinds,
		requests: moments.map(({ request }) => request),
		atMs: moments.map(({ atMs }) => atMs),
		byKind: kinds.map((kind) => moments.map(({ byKind }) => byKind[kind] ?? 0)),
	};
}

/**
 * At most so many moments: of each stretch of neighbours the fullest stays, since that is what filled the window. The
 * first and the last always stay.
 */
export function thinned(history: readonly ContextMoment[], most: number): readonly ContextMoment[] {
	if (history.length <= most) return history;
	const first = history[0] as ContextMoment;
	const last = history.at(-1) as ContextMoment;
	const between = history.slice(1, -1);
	const stretches = Math.max(0, most - 2);
	// Bounds by multiplying: adding up a fraction would leave the last moments out.
	const bound = (index: number) => Math.floor((index * between.length) / stretches);
	const kept = Array.from({ length: stretches }, (_, index) =>
		between.slice(bound(index), bound(index + 1)).reduce(fuller),
	);
	return [first, ...kept, last];
}

function fuller(one: ContextMoment, other: ContextMoment): ContextMoment {
	return totalOf(other) > totalOf(one) ? other : one;
}
