import type { Piece } from "../wire/index.ts";
import type { Block, Breakpoint } from "./model-request.ts";

/** Blocks and breakpoints of an observed request, for the simulator. `tokensOf` takes bytes. */
export function requestOfPieces(
	pieces: readonly Piece[],
	tokensOf: (bytes: number) => number,
): { blocks: Block[]; breakpoints: Breakpoint[] } {
	const blocks = pieces.map(({ part, label, hash, kind, size }): Block => {
		const block = { part, label, hash, tokens: tokensOf(size) };
		if (kind === "call") return { ...block, run: "calls" };
		return kind === "result" ? { ...block, run: "results" } : block;
	});
	const breakpoints = pieces.flatMap(({ breakpoint: ttl }, after) => (ttl ? [{ after, ttl }] : []));
	return { blocks, breakpoints };
}
