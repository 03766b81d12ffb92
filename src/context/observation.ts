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
 * Remembers a request. The messages are looked into only when somebody asks, since most requests are never asked
 * about; and they are gone through once, without an index, which would cost more than the few questions that come.
 */
export function createObservation(sessionId: string, messages: readonly unknown[]): Observation {
	const texts = new Map<string, (string | undefined)[]>();
	let callIds: (string | undefined)[] | undefined;
	let inOrder: boolean | undefined;
	return {
		sessionId,
		textsOf(toolCallId) {
			let found = texts.get(toolCallId);
			if (!found) {
				callIds ??= callsOf(messages);
				found = placesOf(toolCallId, callIds).map((place) => contentText(messages[place]));
				texts.set(toolCallId, found);
			}
			return found;
		},
		isInOrder(known) {
			callIds ??= callsOf(messages);
			// Once is enough: what is new since the request was not in it.
			inOrder ??= areInOrder(callIds, known);
			return inOrder;
		},
	};
}

/** For each message the call whose result it is. */
function callsOf(messages: readonly unknown[]): (string | undefined)[] {
	const callIds: (string | undefined)[] = [];
	for (const message of messages as ({ toolCallId?: string } | null)[]) {
		callIds.push(message?.toolCallId);
	}
	return callIds;
}

function placesOf(callId: string, callIds: (string | undefined)[]): number[] {
	const places: number[] = [];
	for (let at = callIds.indexOf(callId); at !== -1; at = callIds.indexOf(callId, at + 1)) {
		places.push(at);
	}
	return places;
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
