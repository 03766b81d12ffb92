import type { PromptTokens, Thinking, Ttl } from "../core/bill.ts";
import { hashBytes } from "../core/hash.ts";
import { plainText } from "../text/one-line.ts";
import { PARTS, type Piece, type Speaker, type WireRequest } from "../wire/index.ts";

/** What the book knows of a piece: its hash, names and size. Never its text. */
export interface TracePiece
	extends Pick<Piece, "part" | "kind" | "label" | "hash" | "tool" | "path"> {
	readonly bytes: number;
}

/** Tools and system prompt. Requests of one conversation share it, as do its sub-agents' requests. */
export interface Head {
	readonly hash: string;
	readonly pieces: readonly TracePiece[];
}

/**
 * Settings by name, as short hashes: a value may have text of the user, such as an output schema. The
 * upstream and the cache key are among them: requests that differ in one may not share a cache.
 */
export type SettingHashes = Readonly<Record<string, string>>;

/** A request as conversations see it. */
export interface TracedRequest {
	readonly format: WireRequest["format"];
	readonly model: string;
	readonly speaker: Speaker;
	/** A hash of the caller's name for requests that share a prefix. */
	readonly cacheKey?: string;
	readonly head: Head;
	readonly messages: readonly TracePiece[];
	readonly settings: SettingHashes;
	/** True if the request continues a response that was not observed: `messages` lacks the start. */
	readonly isPartial: boolean;
	readonly startedMs: number;
	/** When its prompt was in the provider's cache at the latest: at the answer's first byte. */
	readonly cachedMs: number;
	/** The prompt as it was first given to the model. Absent without a bill. */
	readonly tokens?: PromptTokens;
	/** The last prompt, if the provider called the model several times for one request. */
	readonly lastPrompt?: PromptTokens;
	/** How long its prompt is cached, if it says so. */
	readonly ttl?: Ttl;
	/** Tokens that the provider cleared from the prompt. */
	readonly cleared?: number;
	/** True if the provider itself compacted the history. */
	readonly isCompacted?: boolean;
	readonly misplaced?: Thinking;
}

type Said = Omit<WireRequest, "continues">;
type Observed = Omit<
	TracedRequest,
	"format" | "model" | "cacheKey" | "head" | "messages" | "settings" | "ttl"
>;

export function traceRequest(request: Said, upstream: string, observed: Observed): TracedRequest {
	const pieces = request.pieces.map(tracePiece);
	const { cacheKey } = request;
	const settings = { ...request.settings, upstream, ...(cacheKey && { cacheKey }) };
	const hashes = Object.entries(settings).map(([name, value]) => [
		name,
		hashBytes(value).slice(0, SETTING_DIGITS),
	]);
	const { ttl } = request;
	return {
		format: request.format,
		model: plainText(request.model, MAX_MODEL_NAME),
		// A client may put a user's name into its key.
		...(cacheKey && { cacheKey: hashBytes(cacheKey).slice(0, KEY_DIGITS) }),
		...(ttl && { ttl }),
		head: headOf(pieces.filter(({ part }) => part !== "messages")),
		messages: pieces.filter(({ part }) => part === "messages"),
		settings: Object.fromEntries(hashes),
		...observed,
	};
}

const SETTING_DIGITS = 8;
const KEY_DIGITS = 16;
const MAX_MODEL_NAME = 120;

function tracePiece({ part, kind, label, hash, tool, path, range }: Piece): TracePiece {
	const about = { ...(tool && { tool }), ...(path && { path }) };
	return { part, kind, label, hash, ...about, bytes: range.end - range.start };
}

export function headOf(pieces: readonly TracePiece[]): Head {
	const hash = hashBytes(pieces.map((piece) => `${piece.part} ${piece.hash}`).join("\n"));
	return { hash: hash.slice(0, CHAIN_DIGITS), pieces };
}

/** Sixteen bytes, as in a piece's own hash. */
const CHAIN_DIGITS = 32;

/** The hash of a prefix: that of the prefix without its last piece, and of this piece. */
export function chainHash(before: string, piece: TracePiece): string {
	const hash = hashBytes(`${before} ${piece.hash}`).slice(0, CHAIN_DIGITS);
	return Buffer.from(hash, "hex").toString("latin1"); // there are many: a quarter of the memory
}

/** Whether the model wrote the piece. Only one conversation has it. */
export function isByModel({ kind }: TracePiece): boolean {
	return kind === "text" || kind === "thinking" || kind === "call";
}

export function bytesIn(pieces: readonly TracePiece[]): number {
	return pieces.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The first piece in which a request departs from an earlier one; `undefined` if it extends it. */
export function firstChange(
	before: readonly TracePiece[],
	now: readonly TracePiece[],
): string | undefined {
	for (const [at, piece] of before.entries()) {
		const other = now[at];
		if (other && other.hash === piece.hash && other.part === piece.part) continue;
		// If the last tool is gone, the system prompt takes its place: the tool is what changed.
		const isGone = !other || PARTS.indexOf(piece.part) < PARTS.indexOf(other.part);
		return isGone ? `${piece.label} (gone)` : other.label;
	}
	return undefined;
}
