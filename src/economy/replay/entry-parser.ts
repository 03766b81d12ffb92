import type { PromptTokens } from "../../core/bill.ts";
import { property } from "../../core/property.ts";
import { systemChangeOf } from "./conversation.ts";
import type { Entry, ModelName } from "./entry.ts";
import { BlockParser, nameOr } from "./message-blocks.ts";

/** Parses the lines of one session file, in order, into `entries`. */
export class EntryParser {
	readonly entries: Entry[] = [];
	readonly #version: 1 | 2 | 3;
	/** Newest position by id. Holds only earlier entries, so parents cannot form a cycle. */
	readonly #positions = new Map<string, number>();
	readonly #blocks = new BlockParser();
	/** Number of content blocks, tools and system-prompt pieces in all entries. */
	blockCount = 0;
	#lastMs = 0;

	constructor(version: 1 | 2 | 3) {
		this.#version = version;
	}

	/** `relinked`: the parent is unknown, so the entry is attached to the line above. */
	add(line: unknown): "added" | "relinked" | "damaged" {
		const type = property(line, "type");
		const id = this.#version === 1 ? String(this.entries.length) : property(line, "id");
		if (typeof type !== "string" || typeof id !== "string") return "damaged";
		if (id.length > MAX_ID_LENGTH) return "damaged";
		const content = this.#readableContent(type, line);
		if (!content) return "damaged";
		const parent = this.#parentOf(line);
		this.#lastMs = timeOf(property(line, "timestamp")) ?? this.#lastMs;
		const base = { id, parent: parent ?? this.entries.length - 1, atMs: this.#lastMs };
		this.#positions.set(id, this.entries.length);
		this.entries.push({ ...base, ...content });
		this.blockCount += blocksIn(content);
		return parent === undefined ? "relinked" : "added";
	}

	/** Reserves a position for an unread line, since format 1 refers to entries by position. */
	skip(): void {
		if (this.#version !== 1) return; // the line's children will be attached to the line above
		const { length } = this.entries;
		this.entries.push({
			id: String(length),
			parent: length - 1,
			atMs: this.#lastMs,
			type: "other",
		});
	}

	#parentOf(line: unknown): number | undefined {
		if (this.#version === 1) return this.entries.length - 1;
		const parentId = property(line, "parentId");
		if (parentId === null) return -1;
		return typeof parentId === "string" ? this.#positions.get(parentId) : undefined;
	}

	#readableContent(type: string, line: unknown): EntryContent | undefined {
		try {
			return this.#contentOf(type, line);
		} catch (error) {
			// Deeply nested values parse, but cannot be serialized for hashing.
			if (error instanceof RangeError) return undefined;
			throw error;
		}
	}

	#contentOf(type: string, line: unknown): EntryContent {
		switch (type) {
			case "message":
				return this.#messageContent(property(line, "message"));
			case "custom_message":
				return this.#sent("note", property(line, "content"), "message of an extension");
			case "branch_summary":
				return this.#sent("summary", property(line, "summary"), "summary of a branch");
			case "compaction": {
				const summary = property(line, "summary");
				const system = property(line, "systemMessage");
				return {
					type: "compaction",
					blocks: this.#blocks.blocksOf("summary", summary, "summary of a compaction"),
					firstKeptId: firstKeptId(line),
					change: system ? systemChangeOf(system) : undefined,
				};
			}
			case "context_edit": {
				const content = property(property(line, "replacement"), "content");
				return {
					type: "edit",
					targetId: nameOr(property(line, "targetId"), ""),
					blocks: this.#blocks.blocksOf("note", content, "replaced content"),
				};
			}
			case "thinking_level_change":
				return { type: "thinking", level: nameOr(property(line, "thinkingLevel"), "") };
			case "usage":
				return { type: "warming", model: modelOf(line), billed: billedIn(line) };
			default:
				return { type: "other" };
		}
	}

	#messageContent(message: unknown): EntryContent {
		const content = property(message, "content");
		switch (property(message, "role")) {
			case "system":
				return { type: "system", change: systemChangeOf(message) };
			case "user":
				return this.#sent("user", content, "user message");
			case "assistant": {
				const output = countOf(property(property(message, "usage"), "output"));
				const stopped = property(message, "stopReason");
				const startedMs = timeOf(property(message, "timestamp"));
				return {
					type: "assistant",
					blocks: this.#blocks.answerBlocks(content, output),
					model: modelOf(message),
					billed: billedIn(message),
					sentMs: startedMs === undefined ? this.#lastMs : Math.min(startedMs, this.#lastMs),
					isKept: stopped !== "error" && stopped !== "aborted",
				};
			}
			case "toolResult":
				return { type: "message", blocks: [this.#blocks.resultBlock(message)] };
			case "bashExecution": {
				const text = `${property(message, "command")}\n${property(message, "output")}`;
				const isSent = property(message, "excludeFromContext") !== true;
				return this.#sent("note", isSent ? text : undefined, "command of the user");
			}
			case "custom":
			case "hookMessage": // format 2 and older
				return this.#sent("note", content, "message of an extension");
			default:
				return { type: "other" };
		}
	}

	#sent(...content: Parameters<BlockParser["blocksOf"]>): EntryContent {
		return { type: "message", blocks: this.#blocks.blocksOf(...content) };
	}
}

type WithoutBase<T> = T extends unknown ? Omit<T, "id" | "parent" | "atMs"> : never;
type EntryContent = WithoutBase<Entry>;

/** Pi's ids have 8 to 36 characters. An untrusted file must not fill memory with longer ones. */
const MAX_ID_LENGTH = 256;

function firstKeptId(line: unknown): string | undefined {
	const id = property(line, "firstKeptEntryId");
	if (typeof id === "string") return id;
	// Format 1 counts lines, including the header.
	const index = property(line, "firstKeptEntryIndex");
	return typeof index === "number" ? String(index - 1) : undefined;
}

function blocksIn(content: EntryContent): number {
	if ("blocks" in content) return content.blocks.length;
	if (content.type !== "system") return 0;
	const { sections, toolsAdded, toolsRemoved } = content.change;
	return sections.size + toolsAdded.size + toolsRemoved.length;
}

function billedIn(message: unknown): PromptTokens {
	const usage = property(message, "usage");
	const write = countOf(property(usage, "cacheWrite"));
	return {
		input: countOf(property(usage, "input")),
		read: countOf(property(usage, "cacheRead")),
		write,
		writeOneHour: Math.min(write, countOf(property(usage, "cacheWrite1h"))),
	};
}

function modelOf(message: unknown): ModelName {
	return {
		provider: nameOr(property(message, "provider"), ""),
		id: nameOr(property(message, "model"), ""),
	};
}

/** No context has this many tokens. A larger figure is invalid and would dwarf all others. */
const MAX_COUNT = 1e9;

function countOf(value: unknown): number {
	return typeof value === "number" && value >= 0 && value <= MAX_COUNT ? Math.round(value) : 0;
}

function timeOf(value: unknown): number | undefined {
	const ms = typeof value === "string" ? Date.parse(value) : value;
	return typeof ms === "number" && Number.isFinite(ms) ? ms : undefined;
}
