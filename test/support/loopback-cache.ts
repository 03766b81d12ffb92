/**
 * A prompt cache as Anthropic describes it, over the bytes of a request. It checks what the product
 * claims about caching, so it shares no code with the product: nothing here imports from `src/`.
 *
 * Deliberately small: tokens are UTF-8 bytes / 4, an entry appears the moment a request is accepted,
 * and a change of `thinking`, `tool_choice` or images does not by itself invalidate the messages.
 */
import { createHash } from "node:crypto";

/** A content block, tool or system block as sent. */
export type LoopbackBlock = { type?: string; cache_control?: unknown; [field: string]: unknown };

/** A message as sent. */
export type LoopbackMessage = {
	role: string;
	content: string | LoopbackBlock[];
	[field: string]: unknown;
};

/** The body of a `/v1/messages` request. */
export type LoopbackBody = {
	model: string;
	messages: LoopbackMessage[];
	tools?: LoopbackBlock[];
	system?: string | LoopbackBlock[];
	[field: string]: unknown;
};

/** Prompt tokens of one request, under pi's names. `input` excludes what was read or written. */
export type LoopbackPromptUsage = {
	input: number;
	cacheRead: number;
	/** All tokens written, those for an hour included. */
	cacheWrite: number;
	cacheWrite1h: number;
};

export type LoopbackCacheOptions = {
	/** Shortest prefix that is cached, in tokens. Default 1024. */
	minTokens?: number;
	/** How many positions are searched for an entry, the marked block's first. Default 20. */
	lookback?: number;
	/** Tokens of a block as JSON. Default: {@link loopbackTokens}. */
	tokensOf?: (json: string) => number;
};

/** Holds the entries of all models; one instance plays one provider account. */
export type LoopbackCache = {
	/**
	 * Reads, refreshes and writes entries for one accepted request.
	 * @throws LoopbackApiError when the breakpoints break the API's rules; no entry changes then.
	 */
	bill(body: LoopbackBody): LoopbackPromptUsage;
};

/** A refusal in the API's terms; the server sends it as the error body. */
export class LoopbackApiError extends Error {
	readonly status: number;
	readonly type: string;

	constructor(status: number, type: string, message: string) {
		super(message);
		this.status = status;
		this.type = type;
	}
}

/** The refusal of a malformed request: status 400. */
export function invalidRequest(message: string): LoopbackApiError {
	return new LoopbackApiError(400, "invalid_request_error", message);
}

/** Tokens the loopback counts for a text: UTF-8 bytes / 4, rounded up. */
export function loopbackTokens(text: string): number {
	return Math.ceil(Buffer.byteLength(text) / 4);
}

/**
 * Rules of an entry: it belongs to one model and one exact prefix, is found from a marked block
 * within `lookback` positions, and is dead at the instant its TTL has passed. A hit and every entry
 * at a marked block start their TTL again.
 */
export function createLoopbackCache(
	options: LoopbackCacheOptions & { now?: () => number } = {},
): LoopbackCache {
	const { minTokens = 1024, lookback = 20, now = Date.now, tokensOf = loopbackTokens } = options;
	const entries = new Map<string, { ttl: Ttl; expires: number }>();

	return {
		bill(body) {
			checkMarkers(body);
			const at = now();
			const live = (prefix: Prefix) => {
				const entry = entries.get(prefix.id);
				return entry !== undefined && at < entry.expires ? entry : undefined;
			};
			const keep = (prefix: Prefix, ttl: Ttl) =>
				entries.set(prefix.id, { ttl, expires: at + TTL_MS[ttl] });

			const prefixes = prefixesOf(body, tokensOf);
			const marked = prefixes.filter(
				(prefix): prefix is MarkedPrefix =>
					prefix.marker !== undefined && prefix.tokens >= minTokens,
			);
			const hit = marked
				.flatMap(({ index, position }) =>
					prefixes.slice(0, index + 1).filter((found) => position - found.position < lookback),
				)
				.filter(live)
				.sort((a, b) => a.index - b.index)
				.at(-1);
			const paid = hit && live(hit)?.ttl;

			if (hit && paid) keep(hit, paid);
			for (const prefix of marked) {
				// A new entry inside the read prefix is not billed, so it may not outlive the TTL that was paid for.
				const read = hit !== undefined && prefix.index < hit.index;
				const ttl = read && paid === "5m" ? "5m" : prefix.marker;
				keep(prefix, live(prefix)?.ttl ?? ttl);
			}

			const total = prefixes.at(-1)?.tokens ?? 0;
			const read = hit?.tokens ?? 0;
			const lastMarked = marked.at(-1)?.tokens ?? 0;
			const last1h = marked.findLast((prefix) => prefix.marker === "1h")?.tokens ?? 0;
			return {
				input: total - Math.max(read, lastMarked),
				cacheRead: read,
				cacheWrite: Math.max(0, lastMarked - read),
				cacheWrite1h: Math.max(0, last1h - read),
			};
		},
	};
}

/**
 * Refuses what the API refuses about `cache_control`: more than four, a 1h marker after a 5m one,
 * an unknown form. Forms this model does not follow (inside a tool result, on the request itself)
 * are refused too, so that no test passes on wrong numbers.
 */
export function checkMarkers(body: LoopbackBody): void {
	if (body.cache_control !== undefined) {
		throw invalidRequest("cache_control: the loopback does not model the automatic marker");
	}
	const markers: Ttl[] = [];
	for (const { block, where } of blocksOf(body)) {
		if (Array.isArray(block.content) && block.content.some((inner) => inner?.cache_control)) {
			throw invalidRequest(`${where}: the loopback models no cache_control inside tool results`);
		}
		const marker = markerOf(block, where);
		if (marker === "1h" && markers.includes("5m")) {
			throw invalidRequest(
				`${where}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block`,
			);
		}
		if (marker) markers.push(marker);
	}
	if (markers.length > 4) {
		throw invalidRequest(
			`A maximum of 4 blocks with cache_control may be provided. Found ${markers.length}.`,
		);
	}
}

type Ttl = "5m" | "1h";
const TTL_MS: Record<Ttl, number> = { "5m": 5 * 60_000, "1h": 60 * 60_000 };

/** The request up to and including one block. */
type Prefix = {
	index: number;
	/** A run of calls is one position, and so is a run of results. */
	position: number;
	id: string;
	tokens: number;
	marker: Ttl | undefined;
};
type MarkedPrefix = Prefix & { marker: Ttl };

function prefixesOf(body: LoopbackBody, tokensOf: (json: string) => number): Prefix[] {
	let id = body.model;
	let tokens = 0;
	let position = 0;
	let before: unknown;
	return blocksOf(body).map(({ block, role, where }, index) => {
		const isRun = block.type === "tool_use" || block.type === "tool_result";
		if (!isRun || block.type !== before) position++;
		before = block.type;
		const { cache_control: _, ...content } = block;
		// Key order stays as sent: reordered tool input is other text to the model, hence another prefix.
		const text = `${role ? `${role} ` : ""}${JSON.stringify(content)}`;
		id = createHash("sha256").update(`${id}\n${text}`).digest("hex");
		tokens += tokensOf(text);
		return { index, position, id, tokens, marker: markerOf(block, where) };
	});
}

type PlacedBlock = { block: LoopbackBlock; role?: string; where: string };

/** All blocks in the order the API caches them: tools, system, messages. */
function blocksOf(body: LoopbackBody): PlacedBlock[] {
	// A deferred tool is not part of the prompt until a message adds it.
	const tools = (body.tools ?? []).flatMap((block, i) =>
		block.defer_loading === true ? [] : [{ block, where: `tools.${i}` }],
	);
	const system = asBlocks(body.system ?? []).map((block, i) => ({ block, where: `system.${i}` }));
	const messages = body.messages.flatMap(({ role, content, ...settings }, m): PlacedBlock[] => [
		// Effort and the like, which pi sends as a system message without content.
		...(Object.keys(settings).length > 0
			? [{ block: settings, role, where: `messages.${m}` }]
			: []),
		...asBlocks(content).map((block, i) => ({ block, role, where: `messages.${m}.content.${i}` })),
	]);
	return [...tools, ...system, ...messages];
}

/** The API takes a plain string for one text block; both forms are the same prefix. */
function asBlocks(content: string | LoopbackBlock[]): LoopbackBlock[] {
	return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function markerOf(block: LoopbackBlock, where: string): Ttl | undefined {
	const marker = block.cache_control as { type?: unknown; ttl?: unknown } | null | undefined;
	if (marker === undefined || marker === null) return undefined;
	const { type, ttl = "5m" } = marker;
	if (type !== "ephemeral" || (ttl !== "5m" && ttl !== "1h")) {
		throw invalidRequest(
			`${where}.cache_control: expected {"type":"ephemeral"} with ttl "5m" or "1h", got ${JSON.stringify(marker)}`,
		);
	}
	return ttl;
}
