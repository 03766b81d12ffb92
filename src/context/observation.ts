import { textOf } from "./message-text.ts";

/** A tool result as it stood in the observed request. */
export interface SentResult {
	/** Index of the message in the request. */
	position: number;
	text: string | undefined;
}

/** The request that was last seen on its way to the model. */
export interface Observation {
	sessionId: string;
	/** Every result sent under this call id, in request order. Providers may use an id more than once. */
	resultsOf(toolCallId: string): SentResult[];
}

/**
 * Remembers a request. The messages are looked into only when somebody asks, and one call id at a time: most requests
 * are never asked about, and indexing thousands of messages for one question costs more than a scan.
 */
export function createObservation(sessionId: string, messages: readonly unknown[]): Observation {
	const found = new Map<string, SentResult[]>();
	return {
		sessionId,
		resultsOf(toolCallId) {
			let results = found.get(toolCallId);
			if (!results) {
				results = scan(messages, toolCallId);
				found.set(toolCallId, results);
			}
			return results;
		},
	};
}

function scan(messages: readonly unknown[], toolCallId: string): SentResult[] {
	const results: SentResult[] = [];
	for (let position = 0; position < messages.length; position++) {
		const message = messages[position] as { toolCallId?: unknown; content?: unknown } | null;
		if (message?.toolCallId === toolCallId)
			results.push({ position, text: textOf(message.content) });
	}
	return results;
}
