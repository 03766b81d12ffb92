import { hashBytes } from "../../core/hash.ts";
import { property } from "../../core/property.ts";
import { foldReadInput } from "../../core/read-input.ts";
import { estimateTokens } from "../../core/tokens.ts";
import type { BlockKind, FileRead, SourceBlock, ToolResult } from "./entry.ts";

/** Assumed size of every image: pi's own average. */
const IMAGE_TOKENS = 1200;

/** 32 digits (16 bytes) make a collision within a session implausible. */
const HASH_DIGITS = 32;

/** Parses untrusted message content. Create one per session, since it pairs calls with their results. */
export class BlockParser {
	#count = 0;
	readonly #reads = new Map<string, FileRead>();
	readonly #hashLines = createLineHasher();

	blocksOf(kind: BlockKind, content: unknown, label: string): SourceBlock[] {
		const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
		if (!Array.isArray(parts)) return [];
		return parts.filter(isSent).map((part) => this.#block(kind, [part], label));
	}

	/** `outputTokens` is the provider's count, 0 if unknown. */
	answerBlocks(content: unknown, outputTokens: number): SourceBlock[] {
		if (!Array.isArray(content)) return [];
		const parts = content.filter(isSent);
		const sizes = parts.map(tokensOf);
		const total = sizes.reduce((sum, size) => sum + size, 0);
		const share = outputTokens > 0 && total > 0 ? outputTokens / total : 1;
		return parts.map((part, index) => {
			const { kind, label } = describe(part);
			const estimate = Math.max(1, Math.round((sizes[index] as number) * share));
			if (kind === "call") this.#noteCall(part);
			return { ...this.#block(kind, [part], label), estimate, counted: outputTokens > 0 };
		});
	}

	resultBlock(message: unknown): SourceBlock {
		const content = property(message, "content");
		const parts = Array.isArray(content) ? content : [];
		const tool = nameOr(property(message, "toolName"), "a tool");
		const read = this.#reads.get(nameOr(property(message, "toolCallId"), ""));
		const hasImage = parts.some((part) => property(part, "type") === "image");
		const isError = property(message, "isError") === true;
		const result: ToolResult = {
			tool,
			...(isShort(property(message, "details")) && { isShort: true }),
			hasImage,
			isError,
			...(read && !hasImage && !isError && { read: this.#withLines(read, parts) }),
		};
		const label = read ? `result of ${tool} ${read.path}` : `result of ${tool}`;
		return { ...this.#block("result", parts, label), result };
	}

	#block(kind: BlockKind, parts: readonly unknown[], label: string): SourceBlock {
		const tokens = parts.reduce((sum: number, part) => sum + tokensOf(part), 0);
		return {
			id: this.#count++,
			kind,
			hash: contentHash(kind, parts),
			estimate: Math.max(1, tokens),
			counted: false,
			label,
		};
	}

	#noteCall(part: unknown): void {
		const id = nameOr(property(part, "id"), "");
		const read = property(part, "name") === "read" ? readOf(part) : undefined;
		if (id !== "" && read) this.#reads.set(id, read);
	}

	#withLines(read: FileRead, parts: readonly unknown[]): FileRead {
		const lines = this.#hashLines(
			parts.map((part) => textOr(property(part, "text"), "")).join("\n"),
		);
		return lines ? { ...read, lines } : read;
	}
}

/** Modes of the read cache that refer to text shown earlier. */
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
	const type = property(part, "type");
	if (type === "thinking") return { kind: "thinking", label: "thinking" };
	if (type !== "toolCall") return { kind: "text", label: "answer" };
	return { kind: "call", label: `call of ${nameOr(property(part, "name"), "a tool")}` };
}

/** Pi omits empty texts, which providers refuse. */
function isSent(part: unknown): boolean {
	const type = property(part, "type");
	if (type === "text") return textOr(property(part, "text"), "").trim() !== "";
	if (type !== "thinking") return type === "image" || type === "toolCall";
	return Boolean(property(part, "thinking") || property(part, "thinkingSignature"));
}

function tokensOf(part: unknown): number {
	const type = property(part, "type");
	if (type === "image") return IMAGE_TOKENS;
	if (type === "text" || type === "thinking") {
		return estimateTokens(textOr(property(part, type), "").length);
	}
	if (type !== "toolCall") return 0;
	const input = JSON.stringify(property(part, "arguments")) ?? "";
	return estimateTokens(textOr(property(part, "name"), "").length + input.length);
}

export function contentHash(kind: string, content: unknown): string {
	return hashBytes(`${kind}\0${JSON.stringify(content)}`).slice(0, HASH_DIGITS);
}

/** Bounds an untrusted name, path or id, which stays in memory. */
export function nameOr(value: unknown, otherwise: string): string {
	const name = textOr(value, otherwise);
	// Copied, since a slice would keep the whole text in memory.
	return name.length <= MAX_NAME_LENGTH
		? name
		: Buffer.from(name.slice(0, MAX_NAME_LENGTH)).toString();
}

const MAX_NAME_LENGTH = 1024;

function textOr(value: unknown, otherwise: string): string {
	return typeof value === "string" ? value : otherwise;
}

/** Maximum number of hashed lines per session: 16 MB of hashes. */
const MAX_LINES = 4_000_000;

/** The result hashes lines, ascending, to compare reads without their text; `undefined` after `maxLines`. */
export function createLineHasher(maxLines = MAX_LINES): (text: string) => Uint32Array | undefined {
	let left = maxLines;
	return (text) => {
		const lines = text.split("\n");
		if (lines.length > left) return undefined;
		left -= lines.length;
		return Uint32Array.from(lines, hashLine).sort();
	};
}

/** Counts lines of `text` not in `base`. Linear in `text`, since a file may be read in many pieces. */
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

function firstFrom(from: number, lines: Uint32Array, line: number): number {
	let [low, high] = [from, lines.length];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((lines[middle] as number) < line) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** FNV-1a. A collision only makes a changed line look unchanged in an estimate. */
function hashLine(line: string): number {
	let hash = 0x811c9dc5;
	for (let i = 0; i < line.length; i++) {
		hash = Math.imul(hash ^ line.charCodeAt(i), 0x01000193);
	}
	return hash >>> 0;
}
