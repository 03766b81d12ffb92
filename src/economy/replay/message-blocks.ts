import { hashBytes } from "../../core/hash.ts";
import { property } from "../../core/property.ts";
import { foldReadInput } from "../../core/read-input.ts";
import { estimateTokens } from "../../core/tokens.ts";
import type { BlockKind, FileRead, SourceBlock, ToolResult } from "./entry.ts";

/** Turns messages into blocks without text. One per session: calls and results belong together. */
export interface BlockReader {
	/** The blocks of a message's content, which may be anything. */
	blocksOf(kind: BlockKind, content: unknown, label: string): SourceBlock[];
	/** The blocks of an answer; `outputTokens` is what the provider counted for it. */
	answerBlocks(content: unknown, outputTokens: number): SourceBlock[];
	/** The result of a tool, always one block. */
	resultBlock(message: unknown): SourceBlock;
}

/** What an image costs on average; pi reckons with the same figure. */
const IMAGE_TOKENS = 1200;

/** Sixteen bytes: enough for no two contents of a session to meet by chance. */
const HASH_DIGITS = 32;

/** One per session: it numbers the blocks, and remembers calls until their results come. */
export function createBlockReader(): BlockReader {
	let count = 0;
	/** Calls of `read` by their id, whose results are to come. */
	const reads = new Map<string, FileRead>();
	const linePrints = createLinePrints();

	return { blocksOf, answerBlocks, resultBlock };

	function blocksOf(kind: BlockKind, content: unknown, label: string): SourceBlock[] {
		const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
		if (!Array.isArray(parts)) return [];
		return parts.filter(isSent).map((part) => block(kind, [part], label));
	}

	function answerBlocks(content: unknown, outputTokens: number): SourceBlock[] {
		if (!Array.isArray(content)) return [];
		const parts = content.filter(isSent);
		const sizes = parts.map(tokensOf);
		const total = sizes.reduce((sum, size) => sum + size, 0);
		const share = outputTokens > 0 && total > 0 ? outputTokens / total : 1;
		return parts.map((part, index) => {
			const { kind, label } = describe(part);
			const estimate = Math.max(1, Math.round((sizes[index] as number) * share));
			if (kind === "call") noteCall(part);
			return { ...block(kind, [part], label), estimate, counted: outputTokens > 0 };
		});
	}

	function resultBlock(message: unknown): SourceBlock {
		const content = property(message, "content");
		const parts = Array.isArray(content) ? content : [];
		const tool = nameOr(property(message, "toolName"), "a tool");
		const read = reads.get(nameOr(property(message, "toolCallId"), ""));
		const hasImage = parts.some((part) => property(part, "type") === "image");
		const isError = property(message, "isError") === true;
		const result: ToolResult = {
			tool,
			...(isShort(property(message, "details")) && { isShort: true }),
			hasImage,
			isError,
			...(read && !hasImage && !isError && { read: withLines(read, parts) }),
		};
		const label = read ? `result of ${tool} ${read.path}` : `result of ${tool}`;
		return { ...block("result", parts, label), result };
	}

	function block(kind: BlockKind, parts: readonly unknown[], label: string): SourceBlock {
		return {
			id: count++,
			kind,
			hash: contentHash(kind, parts),
			estimate: Math.max(
				1,
				parts.reduce((sum: number, part) => sum + tokensOf(part), 0),
			),
			counted: false,
			label,
		};
	}

	function noteCall(part: unknown): void {
		const id = nameOr(property(part, "id"), "");
		const read = property(part, "name") === "read" ? readOf(part) : undefined;
		if (id !== "" && read) reads.set(id, read);
	}

	function withLines(read: FileRead, parts: readonly unknown[]): FileRead {
		const lines = linePrints.of(parts.map((part) => textOr(property(part, "text"), "")).join("\n"));
		return lines ? { ...read, lines } : read;
	}
}

/** Modes of the read cache that stand for text shown earlier. */
const SHORT_MODES: readonly unknown[] = ["unchanged", "unchanged_range", "diff"];

function isShort(details: unknown): boolean {
	return SHORT_MODES.includes(property(property(details, "readcache"), "mode"));
}

function readOf(call: unknown): FileRead | undefined {
	const input = foldReadInput(property(call, "arguments"));
	const path = property(input, "path") ?? property(input, "file_path");
	if (typeof path !== "string") return undefined;
	const offset = property(input, "offset") ?? "";
	const limit = property(input, "limit") ?? "";
	return {
		path: nameOr(path, ""),
		window: nameOr(`${offset}+${limit}`, ""),
		isWhole: (offset === "" || offset === 0 || offset === 1) && limit === "",
	};
}

function describe(part: unknown): { kind: BlockKind; label: string } {
	switch (property(part, "type")) {
		case "thinking":
			return { kind: "thinking", label: "thinking" };
		case "toolCall":
			return { kind: "call", label: `call of ${nameOr(property(part, "name"), "a tool")}` };
		default:
			return { kind: "text", label: "answer" };
	}
}

/** Providers refuse empty texts, so pi leaves them out. */
function isSent(part: unknown): boolean {
	switch (property(part, "type")) {
		case "text":
			return textOr(property(part, "text"), "").trim() !== "";
		case "thinking":
			return Boolean(property(part, "thinking") || property(part, "thinkingSignature"));
		case "image":
		case "toolCall":
			return true;
		default:
			return false;
	}
}

function tokensOf(part: unknown): number {
	switch (property(part, "type")) {
		case "text":
			return estimateTokens(textOr(property(part, "text"), "").length);
		case "thinking":
			return estimateTokens(textOr(property(part, "thinking"), "").length);
		case "toolCall": {
			const input = JSON.stringify(property(part, "arguments")) ?? "";
			return estimateTokens(textOr(property(part, "name"), "").length + input.length);
		}
		case "image":
			return IMAGE_TOKENS;
		default:
			return 0;
	}
}

/** A short hash of anything that came out of a session file. */
export function contentHash(kind: string, content: unknown): string {
	return hashBytes(`${kind}\0${JSON.stringify(content)}`).slice(0, HASH_DIGITS);
}

/** A name, path or id out of a session file, which is kept: no longer than those that tools and systems allow. */
export function nameOr(value: unknown, otherwise: string): string {
	const name = textOr(value, otherwise);
	// A slice would hold on to the whole text, so it is made anew.
	return name.length <= MAX_NAME_LENGTH
		? name
		: Buffer.from(name.slice(0, MAX_NAME_LENGTH)).toString();
}

const MAX_NAME_LENGTH = 1024;

function textOr(value: unknown, otherwise: string): string {
	return typeof value === "string" ? value : otherwise;
}

/** Short hashes of lines, so that two readings of a file can be compared after their text is gone. */
export interface LinePrints {
	/** One number a line, in ascending order; `undefined` when the session has had too many lines already. */
	of(text: string): Uint32Array | undefined;
}

/** Lines of all results of a session together: 16 MB of hashes. */
const MAX_LINES = 4_000_000;

/** One per session; `maxLines` bounds what all its texts take together. */
export function createLinePrints(maxLines = MAX_LINES): LinePrints {
	let left = maxLines;
	return {
		of(text) {
			const lines = text.split("\n");
			if (lines.length > left) return undefined;
			left -= lines.length;
			return Uint32Array.from(lines, print).sort();
		},
	};
}

/**
 * How many lines of `text` are not, or not as often, in `base`. Takes time by the length of `text`, however long `base`
 * is: a file may be read in thousands of small pieces after it was read as a whole.
 */
export function countNewLines(text: Uint32Array, base: Uint32Array): number {
	let fresh = 0;
	let next = 0; // lines of `base` before this one are smaller, or matched already
	for (const line of text) {
		next = firstFrom(next, base, line);
		if (base[next] === line) next++;
		else fresh++;
	}
	return fresh;
}

/** The first place at or behind `from` whose line is not smaller. */
function firstFrom(from: number, lines: Uint32Array, line: number): number {
	let [low, high] = [from, lines.length];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((lines[middle] as number) < line) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** FNV-1a over the UTF-16 units. A collision makes one changed line look unchanged in an estimate, no more. */
function print(line: string): number {
	let hash = 0x811c9dc5;
	for (let i = 0; i < line.length; i++) {
		hash = Math.imul(hash ^ line.charCodeAt(i), 0x01000193);
	}
	return hash >>> 0;
}
