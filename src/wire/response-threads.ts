import type { WireAnswer, WireRequest } from "./format.ts";
import type { Piece } from "./piece.ts";

/** Above these the oldest is evicted. An agent continues its latest responses. */
const MAX_RESPONSES = 256;
/** Over all responses; without deltas each has pieces of its own. */
const MAX_PIECES = 50_000;

/** Joins a request that names an earlier response with what the server stores for it. */
export class ResponseThreads {
	/** By response id: the pieces of its prompt and output, oldest response first. */
	readonly #stored = new Map<string, readonly Piece[]>();
	#pieces = 0;

	/** `undefined` if the request continues a response that was not observed. */
	join(request: WireRequest): WireRequest | undefined {
		if (request.continues === undefined) return request;
		const before = this.#stored.get(request.continues);
		if (!before) return undefined;
		// Tools and instructions are sent again; only the messages continue.
		const isMessage = ({ part }: Piece) => part === "messages";
		const head = request.pieces.filter((piece) => !isMessage(piece));
		const messages = [...before, ...namedResults(request.pieces, before)].filter(isMessage);
		return { ...request, pieces: [...head, ...messages] };
	}

	/** `joined` is what `join` returned for the request. */
	add(joined: WireRequest, { id, output = [] }: WireAnswer): void {
		if (id === undefined) return;
		this.#evict(id);
		const pieces = [...joined.pieces, ...output];
		this.#stored.set(id, pieces);
		this.#pieces += pieces.length;
		for (const oldest of this.#stored.keys()) {
			const isWithin = this.#stored.size <= MAX_RESPONSES && this.#pieces <= MAX_PIECES;
			if (isWithin || oldest === id) return;
			this.#evict(oldest);
		}
	}

	#evict(id: string): void {
		this.#pieces -= this.#stored.get(id)?.length ?? 0;
		this.#stored.delete(id);
	}
}

/** The calls of new results are in the earlier response, and name their tools. */
function namedResults(pieces: readonly Piece[], before: readonly Piece[]): readonly Piece[] {
	const isOpen = ({ kind, tool }: Piece) => kind === "result" && tool === undefined;
	if (!pieces.some(isOpen)) return pieces;
	const calls = new Map(before.map((piece) => [piece.kind === "call" && piece.callId, piece]));
	return pieces.map((piece) => {
		const call = isOpen(piece) && piece.callId ? calls.get(piece.callId) : undefined;
		if (!call?.tool) return piece;
		return { ...piece, tool: call.tool, ...(call.path && { path: call.path }) };
	});
}
