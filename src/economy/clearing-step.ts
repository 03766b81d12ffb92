import type { Ttl } from "../core/bill.ts";
import type { ClearableResult, ClearingStep } from "./clearing.ts";
import type { Block, Breakpoint, ModelRequest } from "./model-request.ts";
import { requestOfPieces } from "./request-of-pieces.ts";

type Pieces = Parameters<typeof requestOfPieces>[0];

/** What a request does not say about itself. */
interface ClearingTerms
	extends Pick<ClearingStep, "model" | "contextWindow" | "cold" | "savedTokens"> {
	readonly atMs: number;
	/** How many of the first results were cleared before. */
	readonly cleared: number;
	readonly tokensOf: (bytes: number) => number;
	/** Of the breakpoints. Default: that of the last one, or 5m. */
	readonly ttl?: Ttl | undefined;
	readonly settings?: ModelRequest["settings"];
	/** The first result that the result at this index refers to; infinite for none. */
	firstBaseOf?(index: number): number;
	stays?(index: number): boolean;
}

/** The step of an observed request. Results of one message are cleared together or not at all. */
export function clearingStepOf(pieces: Pieces, terms: ClearingTerms): ClearingStep {
	const { blocks, breakpoints } = requestOfPieces(pieces, terms.tokensOf);
	const results: ClearableResult[] = [];
	let answered = 0;
	let group = 0;
	for (const [at, { kind }] of pieces.entries()) {
		if (kind === "result") {
			const index = results.length;
			if (pieces[at - 1]?.kind !== "result") group = index;
			const firstBase = Math.min(group, terms.firstBaseOf?.(index) ?? group);
			results.push({
				...{ at, firstBase },
				...(terms.stays?.(index) === true && { stays: true }),
			});
		} else if (kind === "text" || kind === "thinking" || kind === "call") answered = results.length;
	}
	const ttl = terms.ttl ?? breakpoints.at(-1)?.ttl ?? "5m";
	const { atMs, settings } = terms;
	const most = terms.model.rules.maxBreakpoints;
	return {
		...{ model: terms.model, contextWindow: terms.contextWindow, cold: terms.cold, ttl },
		...{ blocks, results, answered, cleared: terms.cleared, savedTokens: terms.savedTokens },
		place: (shown: readonly Block[], frontier?: number) => ({
			...{ atMs, blocks: shown, ...(settings && { settings }) },
			breakpoints: withFrontier(breakpoints, frontier, most),
		}),
	};
}

/** With one more breakpoint if there are some, and room for it. */
function withFrontier(
	breakpoints: readonly Breakpoint[],
	frontier: number | undefined,
	most: number,
): readonly Breakpoint[] {
	const last = breakpoints.at(-1);
	if (frontier === undefined || !last || breakpoints.length >= most) return breakpoints;
	if (frontier >= last.after || breakpoints.some(({ after }) => after === frontier)) {
		return breakpoints;
	}
	return [...breakpoints, { after: frontier, ttl: last.ttl }].sort((a, b) => a.after - b.after);
}
