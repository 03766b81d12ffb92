import type { CandidateSettings } from "./candidates.ts";

/** The `prune` settings that decide what may go. */
export interface PruneSettings {
	readonly keepRecentTurns: number;
	readonly maxToolChars: number;
	readonly adaptive: boolean;
}

/** How full the window must be to prune more, and how empty to stop: far enough apart not to go back and forth. */
const TIGHTEN_ABOVE = 0.6;
const RELAX_BELOW = 0.45;

/**
 * Whether to prune more than usual, from how full the model's window is and whether we already do. It stays as it is
 * between the two marks, so that a prune, which empties the window, does not at once end itself.
 */
export function isTight(
	wasTight: boolean,
	{ contextTokens, contextWindow }: { contextTokens: number; contextWindow: number },
): boolean {
	if (contextWindow <= 0) return false;
	const fill = contextTokens / contextWindow;
	return fill > (wasTight ? RELAX_BELOW : TIGHTEN_ABOVE);
}

/** What may go, usually or when it is tight: one turn fewer is kept, shorter output goes, and of every tool. */
export function strictness(
	{ keepRecentTurns, maxToolChars }: Omit<PruneSettings, "adaptive">,
	tight: boolean,
): CandidateSettings {
	if (!tight) return { keepRecentTurns, maxToolChars, anyTool: false };
	return {
		keepRecentTurns: Math.min(keepRecentTurns, Math.max(1, keepRecentTurns - 1)),
		maxToolChars: Math.round((maxToolChars * 2) / 3),
		anyTool: true,
	};
}
