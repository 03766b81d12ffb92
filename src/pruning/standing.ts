import type { ToolResultItem } from "../context/index.ts";
import { estimateTokens } from "../core/tokens.ts";
import { isStub } from "./stub.ts";

/** The tokens that stubs keep out of a context. */
export function standingTokens(results: Iterable<ToolResultItem>): number {
	let freed = 0;
	for (const { text, returned, tokens } of results) {
		if (text === returned || !isStub(text)) continue;
		freed += Math.max(0, estimateTokens(returned?.length ?? 0) - tokens);
	}
	return freed;
}
