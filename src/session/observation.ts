import { property } from "../core/property.ts";

/** The request that was last seen on its way to the model. */
export interface Observation {
	sessionId: string;
	/** The text of every result sent under this call id, in request order. Providers may use an id more than once. */
	textsOf(toolCallId: string): (string | undefined)[];
	/** Whether the results stood in the request in the same order as in this list of call ids; strangers are passed over. */
	isInOrder(callIds: readonly string[]): boolean;
	/** Does the work of answering ahead of the questions. The answers are the same without it, only later. */
	prepare(callIds: readonly string[]): void;
}

/**
 * Remembers a request. The messages are looked into only when somebody asks, since most requests are never asked
 * about; and they are gone through once, without an index, which would cost more than the few questions that come.
 */
export function createObservation(sessionId: string, messages: readonly unknown[]): Observation {
	const texts = new Map<string, (string | undefined)[]>();
	let results: SentResults | undefined;
	let inOrder: boolean | undefined;

	const sent = () => {
		results ??= resultsIn(messages);
		return results;
	};
	const isInOrder = (known: readonly string[]) => {
		// Once is enough: what is new since the request was not in it.
		inOrder ??= areInOrder(sent().callIds, known);
		return inOrder;
	};
	return {
		sessionId,
		isInOrder,
		prepare: isInOrder,
		textsOf(toolCallId) {
			let found = texts.get(toolCallId);
			if (!found) {
				const places = sent().places.get(toolCallId) ?? [];
				found = places.map((place) => contentText(messages[place]));
				texts.set(toolCallId, found);
			}
			return found;
		},
	};
}

interface SentResults {
	/** The calls whose results were sent, in the order of the request. */
	callIds: string[];
	/** Where in the request the results of a call stand. */
	places: Map<string, number[]>;
}

function resultsIn(messages: readonly unknown[]): SentResults {
	const results: SentResults = { callIds: [], places: new Map() };
	for (const [place, message] of messages.entries()) {
		const callId = sentId(message);
		if (callId === undefined) continue;
		results.callIds.push(callId);
		const earlier = results.places.get(callId);
		if (earlier) earlier.push(place);
		else results.places.set(callId, [place]);
	}
	return results;
}

/** What a result or a message of an extension is known by. */
export function sentId(message: unknown): string | undefined {
	const { toolCallId, role, details } = (message ?? {}) as Record<string, unknown>;
	if (typeof toolCallId === "string") return toolCallId;
	return role === "custom" ? messageId(details) : undefined;
}

function contentText(message: unknown): string | undefined {
	return textOf((message as { content?: unknown }).content);
}

/** Strangers are rare, and looking for them takes longer than all the rest: only if there seems to be one. */
function areInOrder(sent: readonly string[], known: readonly string[]): boolean {
	return isSubsequence(sent, known) || isSubsequence(withoutStrangers(sent, known), known);
}

function withoutStrangers(sent: readonly string[], known: readonly string[]) {
	const ours = new Set(known);
	return sent.filter((id) => ours.has(id));
}

function isSubsequence(sent: readonly string[], known: readonly string[]): boolean {
	let at = 0;
	for (const id of sent) {
		while (at < known.length && known[at] !== id) at++;
		if (at++ === known.length) return false;
	}
	return true;
}

/**
 * The text of a message's content: its text blocks joined by newlines. `undefined` when there is none or when
 * anything else (an image) stands beside it, since then the text is not all the model saw.
 */
export function textOf(content: unknown): string | undefined {
	if (typeof content === "string") return content;
	if (!Array.isArray(content) || content.length === 0) return undefined;
	if (!content.every(isTextBlock)) return undefined;
	const [only, ...more] = content;
	return more.length === 0 ? only?.text : content.map((block) => block.text).join("\n");
}

function isTextBlock(block: unknown): block is { type: "text"; text: string } {
	if (typeof block !== "object" || block === null) return false;
	const { type, text } = block as { type?: unknown; text?: unknown };
	return type === "text" && typeof text === "string";
}

/** The blocks of text of a message, each as it is; other blocks are left out. */
export function textBlocks(content: unknown): string[] {
	if (typeof content === "string") return [content];
	if (!Array.isArray(content)) return [];
	return content.flatMap((block) => {
		const text = property(block, "text");
		return property(block, "type") === "text" && typeof text === "string" ? [text] : [];
	});
}

/** What a message of an extension is known by, in the session and in a request; no call of a tool has such an id. */
export function messageId(details: unknown): string | undefined {
	const id = property(details, "id");
	return typeof id === "string" ? `message:${id}` : undefined;
}
