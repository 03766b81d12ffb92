import { estimateTokens } from "../core/tokens.ts";
import { Clearing, clearingStepOf } from "../economy/clearing.ts";
import { rulesFor } from "../economy/rules.ts";
import type { Piece } from "../wire/index.ts";
import type { Book } from "./book.ts";
import { latestRequests } from "./book-rows.ts";
import { modelFor } from "./diagnose.ts";
import type { TracePiece } from "./trace.ts";

/** What driven clearing would have saved in a conversation, by estimate. */
interface ClearingShadow {
	readonly results: number;
	/** In plain input tokens, four bytes each: with clearing, and without. */
	readonly cost: number;
	readonly costOfAgent: number;
}

/** Longer conversations are not computed: each request has all the pieces of those before it. */
const MAX_REQUESTS = 1_000;

/**
 * `undefined` where clearing is not documented, or where the agent drives it itself. Nothing is asked of the provider:
 * the proxy has no way to give a model its cleared texts back.
 */
export function clearingShadow(book: Book, id: number, keep?: number): ClearingShadow | undefined {
	const conversation = book.conversation(id);
	if (conversation?.format !== "anthropic" || conversation.requests > MAX_REQUESTS)
		return undefined;
	const booked = latestRequests(book.requests(id), MAX_REQUESTS).filter(
		({ request }) => request.tokens && request.step !== "partial",
	);
	if (booked.some(({ request }) => request.cleared)) return undefined;
	const clearing = new Clearing(keep === undefined ? {} : { keep });
	const heads = book.heads(id);
	const cleared = new Set<string>();
	let sentMs = Number.NEGATIVE_INFINITY;
	for (const { request, messages } of booked) {
		const { model: name, startedMs: atMs, ttl = "5m", head } = request;
		const rules = rulesFor(modelFor(conversation.upstream, [name]));
		if (rules.family !== "anthropic") return undefined;
		const pieces = piecesOf([...(heads.get(head)?.pieces ?? []), ...messages], ttl);
		const results = pieces.filter(({ kind }) => kind === "result").map(({ hash }) => hash);
		const kept = results.findIndex((hash) => !cleared.has(hash));
		const decision = clearing.next(
			clearingStepOf(pieces, {
				model: { name, rules },
				...{ atMs, ttl, cold: atMs - sentMs > rules.ttlMs[ttl], tokensOf: estimateTokens },
				cleared: kept < 0 ? results.length : kept,
			}),
		);
		for (const hash of results.slice(0, decision.cleared)) cleared.add(hash);
		sentMs = atMs;
	}
	const { own, agent } = clearing.costs;
	return { results: cleared.size, cost: own, costOfAgent: agent };
}

/** Breakpoints are not in the book: agents set one behind the system prompt and one at the end. */
function piecesOf(pieces: readonly TracePiece[], ttl: "5m" | "1h"): Piece[] {
	const system = pieces.findLastIndex(({ part }) => part === "system");
	return pieces.map(({ bytes, ...piece }, at) => ({
		...piece,
		...{ size: bytes, range: { start: 0, end: bytes } },
		...((at === system || at === pieces.length - 1) && { breakpoint: ttl }),
	}));
}
