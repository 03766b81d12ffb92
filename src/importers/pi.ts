import type { PromptTokens } from "../core/bill.ts";
import { SHOWN_EDITS_ENTRY } from "../core/entry-types.ts";
import { isRecord, property } from "../core/property.ts";
import {
	type BlockKind,
	contentHash,
	type Entry,
	type ModelName,
	nameOr,
	type SourceBlock,
	systemChangeOf,
} from "../economy/replay/index.ts";
import { plainText } from "../text/one-line.ts";
import { BlockMaker, callTokens, IMAGE_TOKENS, type Part, textTokens } from "./block-maker.ts";
import type { EntryContent } from "./entry-list.ts";
import { countOf, MAX_ID_LENGTH, textOr, timeOf } from "./fields.ts";
import type { Detail, LineOutcome, SessionFormat, SessionParser } from "./session-format.ts";

/** Session files of pi, formats 1 to 3, and of agents that write the same format. */
export const pi: SessionFormat = {
	agent: "pi",
	recognizes: (line) => property(line, "type") === "session" && !("payload" in Object(line)),
	parser: (header, file, detail) => new PiParser(versionOf(header, file), { detail }),
};

/** Transcripts that pi-subagents keeps of its runs: pi's messages in a line, without a header. */
export const piTranscript: SessionFormat = {
	agent: "pi",
	recognizes: (line) =>
		typeof property(line, "recordType") === "string" && typeof property(line, "runId") === "string",
	*lines(line) {
		const message = property(line, "message");
		const timestamp = property(line, "timestamp");
		if (isRecord(message)) yield { type: "message", timestamp, message };
	},
	parser: (first, _file, detail) =>
		new PiParser(1, { subagent: nameOr(property(first, "runId"), ""), detail }),
};

type Version = 1 | 2 | 3;

function versionOf(header: unknown, file: string): Version {
	const version = property(header, "version") ?? 1;
	if (version === 1 || version === 2 || version === 3) return version;
	const isPlain = typeof version === "number" || typeof version === "string";
	const named = isPlain ? plainText(JSON.stringify(version), 40) : "of another kind";
	throw new Error(`${file} has session format ${named}; only formats 1 to 3 are supported`);
}

interface PiOptions {
	readonly subagent?: string;
	readonly detail?: Detail;
}

export class PiParser implements SessionParser {
	readonly entries: Entry[] = [];
	readonly #version: Version;
	/** Newest position by id. Holds only earlier entries, so parents cannot form a cycle. */
	readonly #positions = new Map<string, number>();
	readonly #blocks: BlockMaker;
	/** Hashes of recorded edits that are not stored yet, by target. */
	readonly #recorded = new Map<string, string>();
	/** Number of content blocks, tools and system-prompt pieces in all entries. */
	blockCount = 0;
	#cwd: string | undefined;
	#session: string | undefined;
	#subagent: string | undefined;
	#lastMs = 0;

	constructor(version: Version, { subagent, detail = "contents" }: PiOptions = {}) {
		this.#version = version;
		this.#subagent = subagent;
		this.#blocks = new BlockMaker(detail);
	}

	get entryCount(): number {
		return this.entries.length;
	}

	end() {
		return [
			{
				entries: this.entries,
				thinking: "off", // pi's default
				version: this.#version,
				...(this.#session && { session: this.#session }),
				...(this.#subagent && { subagent: this.#subagent }),
				...(this.#cwd && { cwd: this.#cwd }),
			},
		];
	}

	/** An entry without its parent follows the line above. */
	add(line: unknown): LineOutcome {
		if (this.#cwd === undefined && property(line, "type") === "session") {
			this.#cwd = nameOr(property(line, "cwd"), "");
			this.#session = nameOr(property(line, "id"), "");
			return "ignored";
		}
		const type = property(line, "type");
		const id = this.#version === 1 ? String(this.entries.length) : property(line, "id");
		if (typeof type !== "string" || typeof id !== "string") return "damaged";
		if (id.length > MAX_ID_LENGTH) return "damaged";
		const parent = this.#parentOf(line);
		// On another branch, nothing has shown the edits that were recorded.
		if (parent !== this.entries.length - 1) this.#recorded.clear();
		const contents = this.#readableContents(type, line);
		if (!contents) return "damaged";
		this.#lastMs = timeOf(property(line, "timestamp")) ?? this.#lastMs;
		let above = parent ?? this.entries.length - 1;
		for (const [index, content] of contents.entries()) {
			// The line's children are below its last entry, which has the line's id.
			const isLast = index === contents.length - 1;
			const base = { id: isLast ? id : `${id}#${index}`, parent: above, atMs: this.#lastMs };
			above = this.entries.length;
			if (isLast) this.#positions.set(id, above);
			this.entries.push({ ...base, ...content });
			this.blockCount += blocksIn(content);
		}
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

	/** One entry, or one for each edit that the line records. */
	#readableContents(type: string, line: unknown): readonly EntryContent[] | undefined {
		try {
			const recorded = type === "custom" ? this.#recordedEdits(line) : [];
			return recorded.length > 0 ? recorded : [this.#contentOf(type, line)];
		} catch (error) {
			// Deeply nested values parse, but cannot be serialized for hashing.
			if (error instanceof RangeError) return undefined;
			throw error;
		}
	}

	#contentOf(type: string, line: unknown): EntryContent {
		switch (type) {
			case "session_info": {
				const name = nameOr(property(line, "name"), "");
				if (name.startsWith(SUBAGENT)) this.#subagent = name;
				return { type: "other" };
			}
			case "message":
				return this.#messageContent(property(line, "message"), line);
			case "custom_message":
				return this.#sent("note", property(line, "content"), "message of an extension");
			case "branch_summary":
				return this.#sent("summary", property(line, "summary"), "summary of a branch");
			case "compaction": {
				const summary = property(line, "summary");
				const system = property(line, "systemMessage");
				return {
					type: "compaction",
					blocks: this.#blocksOf("summary", summary, "summary of a compaction"),
					firstKeptId: firstKeptId(line),
					change: system ? systemChangeOf(system) : undefined,
				};
			}
			case "context_edit": {
				const targetId = nameOr(property(line, "targetId"), "");
				const content = property(property(line, "replacement"), "content");
				const isRecorded = this.#recorded.get(targetId) === contentHash("edit", content);
				this.#recorded.delete(targetId);
				// Requests have shown it since its record.
				return isRecorded ? { type: "other" } : this.#edit(targetId, content);
			}
			case "thinking_level_change":
				return { type: "thinking", level: nameOr(property(line, "thinkingLevel"), "") };
			case "usage":
				return {
					type: "warming",
					model: modelOf(line),
					billed: billedIn(line),
					...this.#requestId(line, line),
				};
			default:
				return { type: "other" };
		}
	}

	/** Edits that a request showed before the file had them as entries of their own. */
	#recordedEdits(line: unknown): Edit[] {
		const edits = property(property(line, "data"), "edits");
		if (property(line, "customType") !== SHOWN_EDITS_ENTRY || !Array.isArray(edits)) return [];
		return edits.flatMap((one: unknown) => {
			const [targetId, content] = Array.isArray(one) ? one : [];
			if (typeof targetId !== "string" || targetId.length > MAX_ID_LENGTH) return [];
			if (content !== null && !Array.isArray(content)) return []; // null removes the message
			this.#recorded.set(targetId, contentHash("edit", content));
			return [this.#edit(targetId, content)];
		});
	}

	#edit(targetId: string, content: unknown): Edit {
		const target = this.entries[this.#positions.get(targetId) ?? -1];
		const before = target?.type === "message" ? target.blocks : [];
		const [first] = before;
		// A stub was undone: providers may still have the text in the cache.
		if (first?.result && contentHash("result", content) === first.hash) {
			return { type: "edit", targetId, blocks: before };
		}
		const replaced = this.#blocksOf("note", content, "replaced content");
		// A replaced result is still sent as a result.
		const run = first?.run;
		const blocks = run ? replaced.map((block) => ({ ...block, run })) : replaced;
		return { type: "edit", targetId, blocks };
	}

	#messageContent(message: unknown, line: unknown): EntryContent {
		const writtenMs = timeOf(property(line, "timestamp")) ?? this.#lastMs;
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
					blocks: this.#answerBlocks(content, output),
					model: modelOf(message),
					billed: billedIn(message),
					// If unstated: the entry above was written just before the request.
					sentMs: startedMs === undefined ? this.#lastMs : Math.min(startedMs, writtenMs),
					isKept: stopped !== "error" && stopped !== "aborted",
					output,
					...this.#requestId(message, line),
				};
			}
			case "toolResult":
				return { type: "message", blocks: [this.#resultBlock(message)] };
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

	/** Forks repeat entries as they are; transcripts of sub-agents only the messages, without ids. */
	#requestId(message: unknown, line: unknown): { requestId?: string } {
		const response = property(message, "responseId");
		if (typeof response === "string" && response !== "") {
			return { requestId: nameOr(response, "") };
		}
		const startedMs = timeOf(property(message, "timestamp"));
		const atMs = startedMs ?? timeOf(property(line, "timestamp"));
		if (atMs === undefined) return {};
		const { input, read, write } = billedIn(message);
		const bill = [atMs, modelOf(message).id, input, read, write].join();
		if (startedMs !== undefined) return { requestId: nameOr(bill, "") };
		const id = this.#version === 1 ? this.entries.length : property(line, "id");
		return { requestId: nameOr(`${id},${bill}`, "") };
	}

	#sent(kind: BlockKind, content: unknown, label: string): EntryContent {
		return { type: "message", blocks: this.#blocksOf(kind, content, label) };
	}

	#blocksOf(kind: BlockKind, content: unknown, label: string): SourceBlock[] {
		const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
		if (!Array.isArray(parts)) return [];
		return parts
			.filter(isSent)
			.map((part) => this.#blocks.block({ ...describe(part), kind, label }));
	}

	#answerBlocks(content: unknown, outputTokens: number): SourceBlock[] {
		if (!Array.isArray(content)) return [];
		const parts = content.filter(isSent);
		for (const part of parts) {
			const { type, id, name, arguments: input } = part as Record<string, unknown>;
			if (type === "toolCall") this.#blocks.noteCall({ id, name, input });
		}
		return this.#blocks.answer(parts.map(describe), outputTokens);
	}

	#resultBlock(message: unknown): SourceBlock {
		const content = property(message, "content");
		const parts = Array.isArray(content) ? content : [];
		return this.#blocks.result({
			callId: property(message, "toolCallId"),
			tool: property(message, "toolName"),
			content: parts,
			text: parts.map((part) => textOr(property(part, "text"), "")).join("\n"),
			images: parts.filter((part) => property(part, "type") === "image").length,
			isError: property(message, "isError") === true,
			isShort: isShort(property(message, "details")),
		});
	}
}

type Edit = EntryContent & { type: "edit" };

/** How pi-subagents names the sessions of its runs. */
const SUBAGENT = "subagent-";

/** Modes of the read cache that refer to text shown earlier. */
const SHORT_MODES: readonly unknown[] = ["unchanged", "unchanged_range", "diff"];

function isShort(details: unknown): boolean {
	return SHORT_MODES.includes(property(property(details, "readcache"), "mode"));
}

/** Pi omits empty texts, which providers refuse. */
function isSent(part: unknown): boolean {
	const type = property(part, "type");
	if (type === "text") return textOr(property(part, "text"), "").trim() !== "";
	if (type !== "thinking") return type === "image" || type === "toolCall";
	return Boolean(property(part, "thinking") || property(part, "thinkingSignature"));
}

function describe(content: unknown): Part {
	const part = isRecord(content) ? content : {};
	const { type, name } = part;
	if (type === "image") {
		return { kind: "text", label: "answer", content: [content], tokens: IMAGE_TOKENS };
	}
	if (type === "toolCall") {
		const label = `call of ${nameOr(name, "a tool")}`;
		return { kind: "call", label, content: [content], tokens: callTokens(name, part.arguments) };
	}
	if (type === "thinking") {
		const tokens = textTokens(part.thinking);
		return { kind: "thinking", label: "thinking", content: [content], tokens };
	}
	return { kind: "text", label: "answer", content: [content], tokens: textTokens(part.text) };
}

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
