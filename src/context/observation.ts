import { textOf } from "./message-text.ts";

/** The request that was last seen on its way to the model. */
export interface Observation {
	sessionId: string;
	/** The text of every result sent under this call id, in request order. Providers may use an id more than once. */
	textsOf(toolCallId: string): (string | undefined)[];
	/** Whether the results stood in the request in the same order as in this list of call ids; strangers are passed over. */
	isInOrder(callIds: readonly string[]): boolean;
}

/**
 * Remembers a request. The messages are looked into only when somebody asks, and one call id at a time: most requests
 * are never asked about, and indexing thousands of messages for one question costs more than a scan.
 */
export function createObservation(sessionId: string, messages: readonly unknown[]): Observation {
	const texts = new Map<string, (string | undefined)[]>();
	let inOrder: boolean | undefined;
	return {
		sessionId,
		textsOf(toolCallId) {
			let found = texts.get(toolCallId);
			if (!found) {
				found = messages.filter((message) => callOf(message) === toolCallId).map(contentText);
				texts.set(toolCallId, found);
			}
			return found;
		},
		isInOrder(callIds) {
			// Once is enough: what is new since the request was not in it.
			inOrder ??= areInOrder(messages.map(callOf), callIds);
			return inOrder;
		},
	};
}

function callOf(message: unknown): string | undefined {
	return (message as { toolCallId?: string } | null)?.toolCallId;
}

function contentText(message: unknown): string | undefined {
	return textOf((message as { content?: unknown }).content);
}

/** Strangers are rare, and looking for them takes longer than all the rest: only if there seems to be one. */
function areInOrder(sent: (string | undefined)[], known: readonly string[]): boolean {
	return isSubsequence(sent, known) || isSubsequence(withoutStrangers(sent, known), known);
}

function withoutStrangers(sent: (string | undefined)[], known: readonly string[]) {
	const ours = new Set<string | undefined>(known);
	return sent.filter((id) => ours.has(id));
}

function isSubsequence(sent: (string | undefined)[], known: readonly string[]): boolean {
	let at = 0;
	for (const id of sent) {
		if (id === undefined) continue;
		while (at < known.length && known[at] !== id) at++;
		if (at++ === known.length) return false;
	}
	return true;
}
