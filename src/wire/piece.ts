import type { Ttl } from "../core/bill.ts";
import { hashBytes } from "../core/hash.ts";
import { isRecord, property } from "../core/property.ts";
import { plainText } from "../text/one-line.ts";
import type { JsonSpan } from "./json-span.ts";

/** The parts of a prompt, in the order of prefix matching. */
export const PARTS = ["tools", "system", "messages"] as const;
export type Part = (typeof PARTS)[number];

export type PieceKind = "tool" | "system" | "user" | "text" | "thinking" | "call" | "result";

/** A tool, a text of the system prompt or a content block of a message. Has no text of its own. */
export interface Piece {
	readonly part: Part;
	readonly kind: PieceKind;
	/** For display: `tool read`, `result of toolu_01`, `user message 3`. Never the piece's text. */
	readonly label: string;
	/** Equal for pieces that a prompt cache takes for the same: markers do not count. */
	readonly hash: string;
	/** Bytes of what the hash covers: a measure of the piece's share of the prompt. */
	readonly size: number;
	/** Where the piece stands in the request's body. */
	readonly range: ByteRange;
	/** Set if a breakpoint follows the piece. */
	readonly breakpoint?: Ttl;
	/** Equal for a call and its result. */
	readonly callId?: string;
	/** Tool and file of a call or a result, if the request names them. */
	readonly tool?: string;
	readonly path?: string;
}

/** In bytes; `end` is exclusive. */
export interface ByteRange {
	readonly start: number;
	readonly end: number;
}

interface PieceDraft extends Omit<Piece, "hash" | "size" | "range" | "breakpoint"> {
	readonly span: JsonSpan;
	readonly value: unknown;
	/** The speaker: the same text by another speaker is another prefix. */
	readonly role?: string | undefined;
	readonly breakpoint?: Ttl | undefined;
}

export function pieceOf({ span, value, role, breakpoint, ...said }: PieceDraft): Piece {
	const { start, end } = span;
	const ttl = breakpoint ?? breakpointOf(value);
	const text = matchedText(role, value, span);
	return {
		...said,
		hash: hashBytes(text).slice(0, HASH_DIGITS),
		size: Buffer.byteLength(text),
		range: { start, end },
		...(ttl && { breakpoint: ttl }),
	};
}

/** Sixteen bytes make a collision within a conversation implausible. */
const HASH_DIGITS = 32;

/** Key order counts: other bytes are another prefix. A plain text equals a block of that text. */
function matchedText(role: string | undefined, value: unknown, span: JsonSpan): string {
	const content = typeof value === "string" ? { type: "text", text: value } : unmarked(value);
	return `${role === undefined ? "" : `${role}\0`}${jsonOf(content, span)}`;
}

function jsonOf(content: unknown, span: JsonSpan): string {
	try {
		return JSON.stringify(content);
	} catch (error) {
		// Values too deep to serialize are compared by their bytes.
		if (error instanceof RangeError) return span.text;
		throw error;
	}
}

/** Markers may also stand on the blocks of a result. A list of one plain text equals that text. */
function unmarked(value: unknown): unknown {
	if (!isRecord(value)) return value;
	const { cache_control: _, prompt_cache_breakpoint: __, ...bare } = value;
	if (!Array.isArray(bare.content)) return bare;
	const blocks = bare.content.map(unmarked);
	const [only] = blocks;
	const isText = blocks.length === 1 && isRecord(only) && Object.keys(only).length === 2;
	const text =
		isText && only.type === "text" && typeof only.text === "string" ? only.text : undefined;
	return { ...bare, content: text ?? blocks };
}

export function breakpointOf(value: unknown): Ttl | undefined {
	const control = property(value, "cache_control");
	if (isRecord(control)) return control.ttl === "1h" ? "1h" : "5m";
	if (isRecord(property(value, "prompt_cache_breakpoint"))) return "5m";
	const content = property(value, "content");
	const marked = Array.isArray(content) ? content.findLast((block) => isMarked(block)) : undefined;
	return marked && breakpointOf(marked);
}

function isMarked(block: unknown): boolean {
	return (
		isRecord(block) && (isRecord(block.cache_control) || isRecord(block.prompt_cache_breakpoint))
	);
}

/** Makes a name printable: names come from untrusted requests and go to the screen. */
export function nameOf(name: unknown): string | undefined {
	if (typeof name !== "string" || name === "") return undefined;
	return name.replace(/[^\w.:/@ -]/g, "?").slice(0, 60);
}

const MAX_PATH = 300;

/** No address, query or text: these may hold secrets, and paths are stored. */
function isFilePath(path: string): boolean {
	return path.length <= MAX_PATH && !/[\n\r?]|:\/\//.test(path);
}

/** The file that a call's input names. */
export function pathIn(input: unknown): string | undefined {
	for (const key of ["file_path", "filePath", "path", "notebook_path", "absolute_path"]) {
		const path = property(input, key);
		if (typeof path === "string" && isFilePath(path)) return plainText(path, MAX_PATH);
	}
	return undefined;
}
