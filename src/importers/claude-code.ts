import { getOrAdd } from "../core/get-or-add.ts";
import { isRecord, property } from "../core/property.ts";
import { type Entry, type ModelName, nameOr, type SourceBlock } from "../economy/replay/index.ts";
import { FORMATS } from "../wire/index.ts";
import {
	BlockMaker,
	callTokens,
	counted,
	IMAGE_TOKENS,
	type Part,
	textTokens,
} from "./block-maker.ts";
import { MAX_ID_LENGTH, textOr, timeOf } from "./fields.ts";
import type {
	Detail,
	LineOutcome,
	ParsedSession,
	SessionFormat,
	SessionParser,
} from "./session-format.ts";

/** Transcripts of Claude Code. The system prompt and the tools are not in them. */
export const claudeCode: SessionFormat = {
	agent: "claude-code",
	recognizes: (line) =>
		typeof property(line, "uuid") === "string" &&
		typeof property(line, "sessionId") === "string" &&
		property(line, "parentUuid") !== undefined,
	parser: (_line, _file, detail) => new ClaudeParser(detail),
};

/** A line in the conversation tree. `passage`: not sent, but a step on the way to the root. */
interface Line {
	readonly uuid: string;
	/** `null` for a root. */
	readonly parent: string | null;
	readonly atMs: number;
	readonly content:
		| { readonly kind: "passage" }
		| { readonly kind: "sent"; readonly blocks: readonly SourceBlock[] }
		| { readonly kind: "results"; readonly results: readonly Result[] }
		| { readonly kind: "answer"; readonly answer: Answer }
		| {
				readonly kind: "summary";
				readonly blocks: readonly SourceBlock[];
				readonly keptFrom?: string;
		  }
		| {
				readonly kind: "cleared";
				readonly callIds: readonly string[];
				readonly block: SourceBlock;
		  };
}

interface Result {
	readonly callId: string;
	readonly block: SourceBlock;
}

/** One response: its blocks come in lines of their own, with results of early calls in between. */
interface Answer {
	readonly id: string;
	readonly blocks: SourceBlock[];
	readonly callIds: string[];
	/** Of the last line: its output is the whole. */
	message: unknown;
	effort: string | undefined;
}

/** The main conversation, or one sub-agent. Each has a prompt cache of its own. */
interface Thread {
	readonly lines: Line[];
	readonly blocks: BlockMaker;
	readonly answers: Map<string, Answer>;
	/** Set between a compaction's boundary and its summary. */
	keptFrom: string | undefined;
}

class ClaudeParser implements SessionParser {
	entryCount = 0;
	blockCount = 0;
	readonly #threads = new Map<string, Thread>();
	/** The thread of every line, by its uuid. */
	readonly #threadOf = new Map<string, string>();
	#session: string | undefined;
	#cwd: string | undefined;
	#version: string | undefined;
	#lastMs = 0;
	readonly #detail: Detail;

	constructor(detail: Detail) {
		this.#detail = detail;
	}

	add(line: unknown): LineOutcome {
		const uuid = property(line, "uuid");
		if (typeof uuid !== "string") return isRecord(line) ? "ignored" : "damaged";
		if (uuid.length > MAX_ID_LENGTH) return "damaged";
		if (this.#threadOf.has(uuid)) return "ignored"; // written twice
		const given = property(line, "parentUuid") ?? property(line, "logicalParentUuid") ?? null;
		const parent = typeof given === "string" && given.length <= MAX_ID_LENGTH ? given : null;
		const key = this.#threadKey(line, uuid, parent);
		const thread = this.#thread(key);
		this.#lastMs = timeOf(property(line, "timestamp")) ?? this.#lastMs;
		const content = contentOf(line, thread);
		if (!content) return "damaged";
		this.#noteSession(line);
		this.#threadOf.set(uuid, key);
		thread.lines.push({ uuid, parent, atMs: this.#lastMs, content });
		this.entryCount++;
		this.blockCount += blocksIn(content);
		const isKnown = parent === null || this.#threadOf.has(parent);
		return isKnown ? "added" : "relinked";
	}

	skip(): void {} // the line's children find no parent and follow the line above

	end(): readonly ParsedSession[] {
		const about = {
			...(this.#session && { session: this.#session }),
			...(this.#cwd && { cwd: this.#cwd }),
			...(this.#version && { version: this.#version }),
		};
		return Array.from(this.#threads, ([key, { lines, answers }]) => ({
			entries: new EntryWriter(answers).write(lines),
			...(key !== MAIN && { subagent: key }),
			...about,
		}));
	}

	/** Older versions give a sub-agent's lines no id: its first line then names it. */
	#threadKey(line: unknown, uuid: string, parent: string | null): string {
		if (property(line, "isSidechain") !== true) return MAIN;
		const agent = property(line, "agentId");
		if (typeof agent === "string" && agent !== "") return nameOr(agent, "");
		const before = parent === null ? undefined : this.#threadOf.get(parent);
		return before === undefined || before === MAIN ? uuid : before;
	}

	#thread(key: string): Thread {
		const known = this.#threads.get(key);
		if (known) return known;
		const thread: Thread = {
			lines: [],
			blocks: new BlockMaker(this.#detail),
			answers: new Map(),
			keptFrom: undefined,
		};
		this.#threads.set(key, thread);
		return thread;
	}

	#noteSession(line: unknown): void {
		this.#session ??= nameOr(property(line, "sessionId"), "") || undefined;
		this.#cwd ??= nameOr(property(line, "cwd"), "") || undefined;
		this.#version ??= nameOr(property(line, "version"), "") || undefined;
	}
}

const MAIN = "";

function blocksIn(content: Line["content"]): number {
	if (content.kind === "sent" || content.kind === "summary") return content.blocks.length;
	return content.kind === "results" ? content.results.length : 1;
}

/** `undefined` if the line is nested too deeply to be hashed. */
function contentOf(line: unknown, thread: Thread): Line["content"] | undefined {
	try {
		return readContent(line, thread);
	} catch (error) {
		if (error instanceof RangeError) return undefined;
		throw error;
	}
}

function readContent(line: unknown, thread: Thread): Line["content"] {
	switch (property(line, "type")) {
		case "user":
			return userContent(line, thread);
		case "assistant":
			return answerContent(line, thread);
		case "attachment": {
			const attachment = property(line, "attachment");
			const type = property(attachment, "type");
			if (!isRecord(attachment) || NOT_SENT.has(type)) return PASSAGE;
			const label = `attachment ${nameOr(type, "of another kind")}`;
			const tokens = textTokens(JSON.stringify(attachment));
			const part: Part = { kind: "note", label, content: attachment, tokens };
			return { kind: "sent", blocks: [thread.blocks.block(part)] };
		}
		case "system":
			return boundaryContent(line, thread);
		default:
			return PASSAGE;
	}
}

const PASSAGE: Line["content"] = { kind: "passage" };

/** Attachments that only the screen shows. */
const NOT_SENT: ReadonlySet<unknown> = new Set([
	"hook_success",
	"hook_system_message",
	"hook_non_blocking_error",
	"command_permissions",
]);

function userContent(line: unknown, thread: Thread): Line["content"] {
	const content = property(property(line, "message"), "content");
	const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
	if (!Array.isArray(parts)) return PASSAGE;
	const { blocks } = thread;
	if (property(line, "isCompactSummary") === true) {
		const { keptFrom } = thread;
		thread.keptFrom = undefined;
		const summary = parts.map((part) => blocks.block(partOf(part, "summary", SUMMARY)));
		return { kind: "summary", blocks: summary, ...(keptFrom && { keptFrom }) };
	}
	const results = parts.filter((part) => property(part, "type") === "tool_result");
	if (results.length === 0) {
		const kind = property(line, "isMeta") === true ? "note" : "user";
		return {
			kind: "sent",
			blocks: parts.map((part) => blocks.block(partOf(part, kind, "user message"))),
		};
	}
	return { kind: "results", results: results.map((part) => resultOf(part, blocks)) };
}

const SUMMARY = "summary of a compaction";

function resultOf(part: unknown, blocks: BlockMaker): Result {
	const callId = nameOr(property(part, "tool_use_id"), "");
	const content = property(part, "content");
	const pieces = Array.isArray(content) ? content : [{ type: "text", text: content }];
	const block = blocks.result({
		callId,
		content: [callId, content],
		text: pieces.map((piece) => textOr(property(piece, "text"), "")).join("\n"),
		images: pieces.filter((piece) => property(piece, "type") === "image").length,
		isError: property(part, "is_error") === true,
	});
	return { callId, block };
}

function answerContent(line: unknown, thread: Thread): Line["content"] {
	const message = property(line, "message");
	// Messages of the program itself, such as "API Error".
	if (property(message, "model") === "<synthetic>") return PASSAGE;
	const id = nameOr(property(message, "id"), "") || nameOr(property(line, "uuid"), "");
	let answer = thread.answers.get(id);
	if (!answer) {
		answer = { id, blocks: [], callIds: [], message, effort: undefined };
		thread.answers.set(id, answer);
	}
	// Only the bill of the message is read later: its texts need not stay in memory.
	const { content: _, ...bill } = isRecord(message) ? message : {};
	if (isRecord(bill.usage) || !isRecord(property(answer.message, "usage"))) answer.message = bill;
	answer.effort = nameOr(property(line, "effort"), "") || undefined;
	const content = property(message, "content");
	for (const part of Array.isArray(content) ? content.filter(isRecord) : []) {
		const { type, id: callId, name, input } = part as Record<string, unknown>;
		if (type === "tool_use" || type === "server_tool_use") {
			thread.blocks.noteCall({ id: callId, name, input });
			answer.callIds.push(nameOr(callId, ""));
		}
		answer.blocks.push(thread.blocks.block(partOf(part, "text", "answer")));
	}
	return { kind: "answer", answer };
}

function boundaryContent(line: unknown, thread: Thread): Line["content"] {
	const subtype = property(line, "subtype");
	if (subtype === "compact_boundary") {
		const metadata = property(line, "compactMetadata");
		const listed = property(property(metadata, "preservedMessages"), "uuids");
		const first = property(property(metadata, "preservedSegment"), "headUuid");
		const kept = first ?? (Array.isArray(listed) ? listed[0] : undefined);
		thread.keptFrom = nameOr(kept, "") || undefined;
	}
	if (subtype !== "microcompact_boundary") return PASSAGE;
	const ids = property(property(line, "microcompactMetadata"), "compactedToolIds");
	const callIds = (Array.isArray(ids) ? ids : []).map((id) => nameOr(id, ""));
	const stub: Part = { kind: "note", label: "cleared result", content: "cleared", tokens: 20 };
	// A cleared result is still sent as a result.
	return { kind: "cleared", callIds, block: { ...thread.blocks.block(stub), run: "results" } };
}

/** A block without its text; `kind` and `label` apply to texts and images. */
function partOf(value: unknown, kind: Part["kind"], label: string): Part {
	const block = isRecord(value) ? value : {};
	switch (block.type) {
		case "tool_use":
		case "server_tool_use": {
			const called = `call of ${nameOr(block.name, "a tool")}`;
			return {
				kind: "call",
				label: called,
				content: value,
				tokens: callTokens(block.name, block.input),
			};
		}
		case "thinking":
		case "redacted_thinking": {
			const tokens = textTokens(block.thinking ?? block.data);
			return { kind: "thinking", label: "thinking", content: value, tokens };
		}
		case "image":
			return { kind, label, content: value, tokens: IMAGE_TOKENS };
		case "text":
			return { kind, label, content: value, tokens: textTokens(block.text) };
		default:
			return { kind, label, content: value, tokens: textTokens(JSON.stringify(value)) };
	}
}

/**
 * Writes the lines of one thread as entries in request order: all blocks of an answer, then all its
 * results in the order of the calls. The lines mix them, since early calls end while others stream.
 */
class EntryWriter {
	readonly #answers: ReadonlyMap<string, Answer>;
	readonly #entries: Entry[] = [];
	/** By uuid: the position after which the line's children continue. */
	readonly #ends = new Map<string, number>();
	/** By call: the entry of its result. */
	readonly #resultIds = new Map<string, string>();
	/** By uuid: the id of the line's own first entry. */
	readonly #ids = new Map<string, string>();
	/** By answer: the position after its last result. */
	readonly #answered = new Map<string, number>();
	#effort: string | undefined;

	constructor(answers: ReadonlyMap<string, Answer>) {
		this.#answers = answers;
	}

	write(lines: readonly Line[]): Entry[] {
		const results = resultsByAnswer(lines, this.#answers);
		for (const line of lines) {
			if (this.#ends.has(line.uuid)) continue; // a result that stands behind its answer already
			this.#ends.set(line.uuid, this.#add(line, results));
		}
		return this.#entries;
	}

	/** Returns the position after which the line's children continue. */
	#add(line: Line, results: ReadonlyMap<string, readonly LineResult[]>): number {
		const { uuid, atMs, content } = line;
		const parent = this.#parentOf(line);
		switch (content.kind) {
			case "passage":
				return parent;
			case "sent":
				return this.#push(uuid, { parent, atMs, type: "message", blocks: content.blocks });
			case "results": {
				// Their call is unknown: a resumed session, or a damaged line.
				let at = parent;
				for (const [index, result] of content.results.entries()) {
					at = this.#pushResult(`${uuid}#${index}`, at, atMs, result);
				}
				return at;
			}
			case "summary": {
				const { blocks, keptFrom } = content;
				const firstKeptId = keptFrom === undefined ? undefined : this.#ids.get(keptFrom);
				return this.#push(uuid, {
					...{ parent, atMs, type: "compaction", blocks },
					...{ firstKeptId, change: undefined },
				});
			}
			case "cleared": {
				let at = parent;
				for (const [index, callId] of content.callIds.entries()) {
					const targetId = this.#resultIds.get(callId);
					if (targetId === undefined) continue;
					const blocks = [content.block];
					at = this.#push(`${uuid}#${index}`, { parent: at, atMs, type: "edit", targetId, blocks });
				}
				return at;
			}
			case "answer":
				return this.#addAnswer(line, content.answer, parent, results);
		}
	}

	#addAnswer(
		{ uuid, atMs }: Line,
		answer: Answer,
		given: number,
		results: ReadonlyMap<string, readonly LineResult[]>,
	): number {
		const known = this.#answered.get(answer.id);
		if (known !== undefined) return known;
		let parent = given;
		if (answer.effort !== undefined && answer.effort !== this.#effort) {
			this.#effort = answer.effort;
			const level = answer.effort;
			parent = this.#push(`${uuid}#effort`, { parent, atMs, type: "thinking", level });
		}
		// The file has no time of sending; the last line before it is not later.
		const sentMs = Math.min(atMs, this.#entries[parent]?.atMs ?? atMs);
		let at = this.#push(uuid, { parent, atMs, ...answerEntry(answer, sentMs) });
		for (const { line, index, result } of results.get(answer.id) ?? []) {
			at = this.#pushResult(`${line.uuid}#${index}`, at, line.atMs, result);
			this.#ids.set(line.uuid, `${line.uuid}#${index}`);
		}
		for (const { line } of results.get(answer.id) ?? []) this.#ends.set(line.uuid, at);
		this.#answered.set(answer.id, at);
		return at;
	}

	#pushResult(id: string, parent: number, atMs: number, { callId, block }: Result): number {
		this.#resultIds.set(callId, id);
		return this.#push(id, { parent, atMs, type: "message", blocks: [block] });
	}

	#push(id: string, entry: WithoutId<Entry>): number {
		this.#ids.set(id, id);
		this.#entries.push({ ...entry, id });
		return this.#entries.length - 1;
	}

	/** A line without its parent follows the line above. */
	#parentOf({ parent }: Line): number {
		if (parent === null) return -1;
		return this.#ends.get(parent) ?? this.#entries.length - 1;
	}
}

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;

interface LineResult {
	readonly line: Line;
	readonly index: number;
	readonly result: Result;
}

/** By answer: its results in the order of its calls. */
function resultsByAnswer(
	lines: readonly Line[],
	answers: ReadonlyMap<string, Answer>,
): Map<string, LineResult[]> {
	const calls = new Map<string, { answer: string; place: number }>();
	for (const { id, callIds } of answers.values()) {
		for (const [place, callId] of callIds.entries()) calls.set(callId, { answer: id, place });
	}
	const found = new Map<string, LineResult[]>();
	for (const line of lines) {
		if (line.content.kind !== "results") continue;
		for (const [index, result] of line.content.results.entries()) {
			const call = calls.get(result.callId);
			if (call) getOrAdd(found, call.answer, () => []).push({ line, index, result });
		}
	}
	const placeOf = ({ result }: LineResult) => calls.get(result.callId)?.place ?? 0;
	for (const list of found.values()) list.sort((a, b) => placeOf(a) - placeOf(b));
	return found;
}

function answerEntry({ id, blocks, message }: Answer, sentMs: number) {
	const { output, reasoning: _, ...billed } = FORMATS.anthropic.usage(property(message, "usage"));
	const reason = property(property(message, "diagnostics"), "cache_miss_reason");
	const missReason = nameOr(property(reason, "type"), "");
	const model: ModelName = { provider: "anthropic", id: nameOr(property(message, "model"), "") };
	return {
		type: "assistant",
		blocks: counted(blocks, output),
		model,
		billed,
		sentMs,
		isKept: true,
		output,
		requestId: id,
		...(missReason && { missReason }),
	} as const;
}
