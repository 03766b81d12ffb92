import { isRecord, property } from "../core/property.ts";
import { contentHash, nameOr, type SourceBlock } from "../economy/replay/index.ts";
import { BlockMaker, callTokens, IMAGE_TOKENS, type Part, textTokens } from "./block-maker.ts";
import { listOf, textOr } from "./fields.ts";
import type { Detail } from "./session-format.ts";

/** A line in the conversation tree. */
export interface Line {
	readonly uuid: string;
	/** `null` for a root. */
	readonly parent: string | null;
	readonly atMs: number;
	readonly content: LineContent;
}

/** `passage`: not sent, but a step on the way to the root. */
export type LineContent =
	| { readonly kind: "passage" }
	| { readonly kind: "sent"; readonly blocks: readonly SourceBlock[] }
	| {
			readonly kind: "results";
			readonly results: readonly Result[];
			/** Texts beside the results. The program sends them behind all results. */
			readonly beside: readonly SourceBlock[];
	  }
	| { readonly kind: "answer"; readonly answer: Answer }
	| {
			readonly kind: "summary";
			readonly blocks: readonly SourceBlock[];
			readonly keptFrom?: string;
	  }
	| {
			readonly kind: "cleared";
			readonly callIds: readonly string[];
			/** What a cleared result is sent as. */
			readonly stub: SourceBlock;
			/** The uuids of attachments. */
			readonly attachments: readonly string[];
	  };

export interface Result {
	readonly callId: string;
	readonly block: SourceBlock;
}

/** One response: its blocks come in lines of their own, with results of early calls in between. */
export interface Answer {
	readonly id: string;
	readonly blocks: SourceBlock[];
	readonly callIds: string[];
	/** Of the last line: its output is the whole. */
	message: unknown;
	/** The level of thinking, if it is a setting of the request. */
	effort: string | undefined;
	/** The id of the recorded request. */
	request: string | undefined;
}

/** Reads the lines of one thread: a conversation, or one sub-agent. */
export class LineReader {
	readonly answers = new Map<string, Answer>();
	readonly #blocks: BlockMaker;
	/** By answer: its parts so far. A line may be copied under another uuid. */
	readonly #parts = new Map<Answer, Set<string>>();
	/** Set between a compaction's boundary and its summary. */
	#keptFrom: string | undefined;

	constructor(detail: Detail) {
		this.#blocks = new BlockMaker(detail);
	}

	/** Throws a RangeError if the line is nested too deeply to be hashed. */
	read(line: unknown): LineContent {
		switch (property(line, "type")) {
			case "user":
				return this.#userContent(line);
			case "assistant":
				return this.#answerContent(line);
			case "attachment":
				return this.#attachmentContent(line);
			case "system":
				return this.#boundaryContent(line);
			default:
				return PASSAGE;
		}
	}

	/** The blocks of a message as it was sent, settings in it first. */
	messageBlocks(message: unknown): SourceBlock[] {
		const settings = property(message, "output_config");
		const [kind, label] = ROLES.get(property(message, "role")) ?? ["user", LABELS.user];
		const blocks = partsOf(message).map((part) =>
			property(part, "type") === "tool_result"
				? this.#result(part).block
				: this.#blocks.block(partOf(part, kind, label)),
		);
		if (settings === undefined) return blocks;
		const tokens = textTokens(JSON.stringify(settings));
		const part: Part = {
			kind: "note",
			label: "settings in the messages",
			content: settings,
			tokens,
		};
		return [this.#blocks.block(part), ...blocks];
	}

	/** In place of a message that the file does not have. Its size shows in the bill. */
	lostMessage(hash: string): SourceBlock {
		const label = "a message that is not in the file";
		return { ...this.#blocks.block({ kind: "note", label, content: hash, tokens: 1 }), hash };
	}

	#userContent(line: unknown): LineContent {
		const message = property(line, "message");
		const parts = partsOf(message);
		if (parts.length === 0) return PASSAGE;
		const isSummary = property(line, "isCompactSummary") === true;
		const kind = isSummary ? "summary" : property(line, "isMeta") === true ? "note" : "user";
		const results: Result[] = [];
		const blocks: SourceBlock[] = [];
		for (const part of parts) {
			if (property(part, "type") === "tool_result") results.push(this.#result(part));
			else blocks.push(this.#blocks.block(partOf(part, kind, LABELS[kind])));
		}
		if (isSummary) {
			const keptFrom = this.#keptFrom;
			this.#keptFrom = undefined;
			return { kind: "summary", blocks, ...(keptFrom && { keptFrom }) };
		}
		return results.length > 0
			? { kind: "results", results, beside: blocks }
			: { kind: "sent", blocks };
	}

	#result(part: unknown): Result {
		const callId = nameOr(property(part, "tool_use_id"), "");
		const content = property(part, "content");
		const pieces = Array.isArray(content) ? content : [{ type: "text", text: content }];
		const block = this.#blocks.result({
			callId,
			content: [callId, content],
			text: pieces.map((piece) => textOr(property(piece, "text"), "")).join("\n"),
			images: pieces.filter((piece) => property(piece, "type") === "image").length,
			isError: property(part, "is_error") === true,
		});
		return { callId, block };
	}

	#answerContent(line: unknown): LineContent {
		const message = property(line, "message");
		// Messages of the program itself, such as "API Error".
		if (property(message, "model") === "<synthetic>") return PASSAGE;
		const answer = this.#answer(
			nameOr(property(message, "id"), "") || nameOr(property(line, "uuid"), ""),
		);
		// Only the bill of the message is read later: its texts need not stay in memory.
		const { content, ...bill } = isRecord(message) ? message : {};
		if (isRecord(bill.usage) || !isRecord(property(answer.message, "usage"))) answer.message = bill;
		// Newer versions send the level inside the messages, where it changes no setting.
		const isSetting = property(line, "perTurnEffort") === undefined;
		answer.effort = (isSetting && nameOr(property(line, "effort"), "")) || undefined;
		answer.request ??= nameOr(property(line, "requestRef"), "") || undefined;
		for (const part of listOf(content).filter(isRecord)) this.#addPart(answer, part);
		return { kind: "answer", answer };
	}

	#answer(id: string): Answer {
		const known = this.answers.get(id);
		if (known) return known;
		const empty = { message: undefined, effort: undefined, request: undefined };
		const answer: Answer = { id, blocks: [], callIds: [], ...empty };
		this.answers.set(id, answer);
		this.#parts.set(answer, new Set());
		return answer;
	}

	#addPart(answer: Answer, part: Record<string, unknown>): void {
		const key = contentHash("", part);
		const parts = this.#parts.get(answer);
		if (parts?.has(key)) return;
		parts?.add(key);
		const { type, id, name, input } = part;
		if (type === "tool_use" || type === "server_tool_use") {
			this.#blocks.noteCall({ id, name, input });
			answer.callIds.push(nameOr(id, ""));
		}
		answer.blocks.push(this.#blocks.block(partOf(part, "text", LABELS.text)));
	}

	#attachmentContent(line: unknown): LineContent {
		const attachment = property(line, "attachment");
		const type = property(attachment, "type");
		if (!isRecord(attachment) || NOT_SENT.has(type)) return PASSAGE;
		const label = `attachment ${nameOr(type, "of another kind")}`;
		// Newer versions also store the text that they send.
		const content = property(line, "rendered") ?? attachment;
		const part: Part = {
			kind: "note",
			label,
			content,
			tokens: textTokens(JSON.stringify(content)),
		};
		return { kind: "sent", blocks: [this.#blocks.block(part)] };
	}

	#boundaryContent(line: unknown): LineContent {
		const subtype = property(line, "subtype");
		if (subtype === "compact_boundary") {
			const metadata = property(line, "compactMetadata");
			const listed = property(property(metadata, "preservedMessages"), "uuids");
			const first = property(property(metadata, "preservedSegment"), "headUuid");
			this.#keptFrom = nameOr(first ?? listOf(listed)[0], "") || undefined;
		}
		if (subtype !== "microcompact_boundary") return PASSAGE;
		const metadata = property(line, "microcompactMetadata");
		const ids = (key: string) => listOf(property(metadata, key)).map((id) => nameOr(id, ""));
		const stub: Part = { kind: "note", label: "cleared result", content: "cleared", tokens: 20 };
		return {
			kind: "cleared",
			callIds: ids("compactedToolIds"),
			// A cleared result is still sent as a result.
			stub: { ...this.#blocks.block(stub), run: "results" },
			attachments: ids("clearedAttachmentUUIDs"),
		};
	}
}

const PASSAGE: LineContent = { kind: "passage" };

const LABELS = {
	user: "user message",
	note: "user message",
	summary: "summary of a compaction",
	text: "answer",
} as const;

/** By the role of a message: what its texts are. */
const ROLES: ReadonlyMap<unknown, readonly [Part["kind"], string]> = new Map([
	["assistant", ["text", LABELS.text]],
	["system", ["note", "system message"]],
] as const);

/** Attachments that only the screen shows. */
const NOT_SENT: ReadonlySet<unknown> = new Set([
	"hook_success",
	"hook_system_message",
	"hook_non_blocking_error",
	"command_permissions",
	"prompt_snapshot",
	"session_context",
]);

/** The parts of a message; a text is one part. */
export function partsOf(message: unknown): readonly unknown[] {
	const content = property(message, "content");
	return typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
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
