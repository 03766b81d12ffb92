import type { PromptTokens } from "../core/bill.ts";
import { isRecord, property } from "../core/property.ts";
import { estimateTokens } from "../core/tokens.ts";
import {
	type BlockKind,
	contentHash,
	nameOr,
	type SourceBlock,
	systemChangeOf,
} from "../economy/replay/index.ts";
import { BlockMaker, callTokens, IMAGE_TOKENS, type Part, textTokens } from "./block-maker.ts";
import { type EntryContent, EntryList } from "./entry-list.ts";
import { countOf, textOr, tierOf, timeOf } from "./fields.ts";
import type {
	Detail,
	LineOutcome,
	ParsedSession,
	SessionFormat,
	SessionParser,
} from "./session-format.ts";

/** Rollout files of Codex: one line `{timestamp, type, payload}` an item or event. */
export const codex: SessionFormat = {
	agent: "codex",
	recognizes: (line) =>
		property(line, "type") === "session_meta" && isRecord(property(line, "payload")),
	// Contents are hashed for bills too.
	parser: (_line, _file, detail) => new CodexParser(detail === "texts" ? "texts" : "contents"),
};

/** One billed request, as a file states it. */
interface Usage {
	readonly billed: PromptTokens;
	readonly output: number;
	readonly reasoning: number;
}

/** An answer whose bill has not come yet, and what the agent wrote after its first item. */
interface OpenAnswer {
	readonly parts: Part[];
	readonly after: { readonly content: EntryContent; readonly isTurn: boolean }[];
	readonly sentMs: number;
}

class CodexParser implements SessionParser {
	readonly #list = new EntryList();
	readonly #blocks: BlockMaker;
	#open: OpenAnswer | undefined;
	#lastMs = 0;
	/** The leaf before each message of the user, for rollbacks. */
	#turns: number[] = [];
	#model = "";
	#provider = "openai";
	#effort = "";
	#own: { id: string; cwd: string; version: string; subagent?: string } | undefined;
	/** Whose requests follow: a fork begins with the header and the lines of another thread. */
	#thread = "";
	/** Lines with a smaller ordinal are copied from the parent. */
	#ownFrom = 0;
	/** Hash of the base instructions. Newer versions also write them as a message. */
	#instructions = "";
	#total: Counts | undefined;
	#hasRecords = false;
	/** Records without a response's id, by thread. */
	readonly #nameless = new Map<string, number>();
	/** The last bill by `token_count`, until the next item of the model. */
	#counted: { readonly key: string; readonly position: number } | undefined;
	#tier: string | undefined;

	constructor(detail: Detail) {
		this.#blocks = new BlockMaker(detail);
	}

	get entryCount(): number {
		return this.#list.entries.length + (this.#open?.after.length ?? 0);
	}

	get blockCount(): number {
		return this.#list.blockCount + (this.#open?.parts.length ?? 0);
	}

	skip(): void {
		// The line's item is missing from later requests; nothing refers to it.
	}

	end(): readonly ParsedSession[] {
		this.#close();
		const { id, cwd, version, subagent } = this.#own ?? {};
		return [
			{
				entries: this.#list.entries,
				...(subagent !== undefined && { subagent }),
				...(version && { version }),
				...(id && { session: id }),
				...(cwd && { cwd }),
			},
		];
	}

	add(line: unknown): LineOutcome {
		const payload = property(line, "payload");
		if (typeof property(line, "type") !== "string" || !isRecord(payload)) return "damaged";
		this.#lastMs = timeOf(property(line, "timestamp")) ?? this.#lastMs;
		try {
			return this.#take(line, payload) ? "added" : "ignored";
		} catch (error) {
			// Deeply nested values parse, but cannot be serialized for hashing.
			if (error instanceof RangeError) return "damaged";
			throw error;
		}
	}

	#take(line: unknown, payload: Record<string, unknown>): boolean {
		switch (property(line, "type")) {
			case "session_meta":
				return this.#header(payload);
			case "turn_context":
				return this.#settings(payload.model, payload.effort, payload.service_tier);
			case "response_item":
				return this.#item(payload);
			case "compacted":
				return this.#compaction(payload);
			case "token_usage_record":
				return this.#record(payload, property(line, "ordinal"));
			case "event_msg":
				return this.#event(payload, property(line, "ordinal"));
			default:
				return false;
		}
	}

	#header(payload: Record<string, unknown>): boolean {
		const id = nameOr(payload.id ?? payload.session_id, "");
		// Another thread has a total of its own. A fork goes on with that of its parent.
		if (this.#own && id !== this.#thread) this.#total = undefined;
		this.#thread = id;
		if (this.#own) return false; // the file's own header is the first
		const source = property(payload.source, "subagent");
		this.#own = {
			id,
			cwd: nameOr(payload.cwd, ""),
			version: nameOr(payload.cli_version, ""),
			...((source !== undefined || typeof payload.parent_thread_id === "string") && {
				subagent: id,
			}),
		};
		this.#thread = nameOr(payload.forked_from_id, id);
		this.#ownFrom = Number(payload.subagent_history_start_ordinal) || 0;
		this.#provider = nameOr(payload.model_provider, this.#provider);
		const instructions = payload.base_instructions;
		const text = isRecord(instructions) ? instructions.text : instructions;
		if (typeof text !== "string" || text === "") return false;
		this.#instructions = hashed(text);
		const change = systemChangeOf({ content: text, replace: true });
		this.#add({ type: "system", change: { ...change, hidesTools: true } });
		return true;
	}

	#settings(model: unknown, effort: unknown, tier: unknown): boolean {
		this.#model = nameOr(model, this.#model);
		if (tier !== undefined) this.#tier = tierOf(tier);
		const level = nameOr(effort, "");
		if (level === "" || level === this.#effort) return false;
		this.#effort = level;
		this.#add({ type: "thinking", level });
		return true;
	}

	#event(payload: Record<string, unknown>, ordinal: unknown): boolean {
		switch (payload.type) {
			case "token_count":
				return this.#count(payload.info, ordinal);
			case "thread_settings_applied": {
				const settings = payload.thread_settings;
				return this.#settings(
					property(settings, "model"),
					property(settings, "reasoning_effort"),
					property(settings, "service_tier"),
				);
			}
			case "task_started":
				this.#close();
				return false;
			case "thread_rolled_back": {
				this.#close();
				const turns = countOf(payload.num_turns);
				const start = this.#turns[Math.max(0, this.#turns.length - turns)];
				if (turns === 0 || start === undefined) return false;
				this.#turns = this.#turns.slice(0, -turns);
				this.#list.leaf = start;
				return true;
			}
			default:
				return false;
		}
	}

	/** Adds what the model made to the open answer, and everything else behind it. */
	#item(item: Record<string, unknown>): boolean {
		if (isMade(item)) {
			this.#counted = undefined;
			this.#open ??= {
				parts: [],
				after: [],
				sentMs: this.#list.leafMs ?? this.#lastMs,
			};
			this.#open.parts.push(answerPart(item));
			this.#blocks.noteCall({ id: item.call_id, name: toolOf(item), input: item.arguments });
			return true;
		}
		const blocks = this.#inputBlocks(item);
		if (blocks.length > 0) this.#add({ type: "message", blocks }, isOfUser(item));
		return blocks.length > 0;
	}

	#inputBlocks(item: Record<string, unknown>): SourceBlock[] {
		const type = textOr(item.type, "message");
		if (type.endsWith("_output")) return [this.#result(item)];
		if (type === "compaction" || type === "context_compaction") {
			const tokens = textTokens(item.encrypted_content);
			return [
				this.#part({ kind: "summary", label: "summary of a compaction", content: item, tokens }),
			];
		}
		if (isMade(item)) return [this.#part(answerPart(item))];
		if (type === "additional_tools") {
			const { tools } = item;
			const tokens = textTokens(JSON.stringify(tools));
			return [this.#part({ kind: "note", label: "tools", content: tools, tokens })];
		}
		if (type !== "message" && type !== "agent_message") return [];
		if (this.#isInstructions(item)) return [];
		const isUser = item.role === "user";
		const kind: BlockKind = isUser ? "user" : "note";
		const label = isUser ? "user message" : "message of the agent";
		return partsOf(item.content).map((part) =>
			this.#part({ kind, label, content: property(part, "text") ?? part, tokens: tokensOf(part) }),
		);
	}

	#isInstructions({ role, content }: Record<string, unknown>): boolean {
		const [first, ...more] = partsOf(content);
		const text = property(first, "text");
		return role === "developer" && more.length === 0 && hashed(text) === this.#instructions;
	}

	#part(part: Part): SourceBlock {
		return this.#blocks.block(part);
	}

	#result(item: Record<string, unknown>): SourceBlock {
		const given = item.output ?? item.tools;
		const inner = property(given, "content") ?? given;
		const parts = typeof inner === "string" ? [inner] : partsOf(inner);
		const texts = parts.map((part) =>
			typeof part === "string" ? part : textOr(property(part, "text"), ""),
		);
		const isPlain = texts.some((text) => text !== "") || parts.length === 0;
		const images = parts.filter((part) => property(part, "type") === "input_image").length;
		return this.#blocks.result({
			callId: item.call_id,
			content: given,
			text: isPlain || images > 0 ? texts.join("\n") : JSON.stringify(inner),
			images,
			isError: property(given, "success") === false,
		});
	}

	#compaction(payload: Record<string, unknown>): boolean {
		this.#close();
		const history = payload.replacement_history;
		const items = Array.isArray(history)
			? history.filter(isRecord)
			: [{ type: "message", role: "user", content: [{ text: textOr(payload.message, "") }] }];
		const blocks = items.flatMap((item) => this.#inputBlocks(item));
		this.#turns = [];
		this.#add({ type: "compaction", blocks, firstKeptId: undefined, change: undefined });
		return true;
	}

	#record(payload: Record<string, unknown>, ordinal: unknown): boolean {
		this.#hasRecords = true;
		const usage = payload.usage;
		if (!isRecord(usage)) return false;
		const counts = countsIn(usage);
		const requestId = nameOr(payload.response_id, "") || this.#namelessId(counts);
		const counted = this.#counted;
		this.#counted = undefined;
		const answer = counted && this.#list.entries[counted.position];
		if (answer?.type === "assistant" && counted?.key === keyOf(counts)) {
			// Its `token_count` came first. Only the record has the writes.
			this.#list.entries[counted.position] = {
				...answer,
				billed: usageOf(counts).billed,
				requestId,
			};
			return false;
		}
		this.#bill(usageOf(counts), ordinal, requestId);
		return true;
	}

	/** Copies of a thread have its records in the same order. */
	#namelessId(counts: Counts): string {
		const count = (this.#nameless.get(this.#thread) ?? 0) + 1;
		this.#nameless.set(this.#thread, count);
		return hashed([this.#thread, count, counts]);
	}

	/** A request is a change of the total; `token_count` is also repeated without one. */
	#count(info: unknown, ordinal: unknown): boolean {
		const given = property(info, "total_token_usage");
		if (!isRecord(given)) return false;
		const total = countsIn(given);
		const before = this.#total;
		if (before?.join() === total.join()) return false;
		this.#total = total;
		if (this.#hasRecords) return false;
		const stated = property(info, "last_token_usage");
		const last = isRecord(stated) ? countsIn(stated) : total;
		// A total that falls back is that of another thread.
		const isNext = before?.every((count, at) => count <= (total[at] as number)) === true;
		const counts = isNext ? total.map((count, at) => count - (before[at] as number)) : last;
		const thread = this.#isInherited(ordinal) || this.#ownFrom === 0 ? this.#thread : this.#own?.id;
		const position = this.#bill(usageOf(counts), ordinal, hashed([thread, total, last]));
		this.#counted = { key: keyOf(counts), position };
		return true;
	}

	/** Returns the position of the answer. */
	#bill({ billed, output, reasoning }: Usage, ordinal: unknown, requestId: string): number {
		const open = this.#open;
		this.#open = undefined;
		const position = this.#list.entries.length;
		this.#add({
			type: "assistant",
			blocks: this.#blocks.answer(weighted(open?.parts ?? [], output, reasoning), output),
			model: { provider: this.#provider, id: this.#model },
			billed,
			sentMs: open?.sentMs ?? this.#list.leafMs ?? this.#lastMs,
			isKept: true,
			output,
			requestId,
			...(this.#tier !== undefined && { tier: this.#tier }),
			...(this.#isInherited(ordinal) && { isCopy: true }),
		});
		for (const { content, isTurn } of open?.after ?? []) this.#add(content, isTurn);
		return position;
	}

	/** Whether a sub-agent's file copied the line from its parent. */
	#isInherited(ordinal: unknown): boolean {
		return typeof ordinal === "number" && ordinal < this.#ownFrom;
	}

	/** An answer without a bill, such as an aborted one, is in later requests all the same. */
	#close(): void {
		const open = this.#open;
		if (!open) return;
		this.#open = undefined;
		const blocks = open.parts.map((part) => this.#part(part));
		this.#add({ type: "message", blocks });
		for (const { content, isTurn } of open.after) this.#add(content, isTurn);
	}

	#add(content: EntryContent, isTurn = false): void {
		if (this.#open) {
			this.#open.after.push({ content, isTurn });
			return;
		}
		if (isTurn) this.#turns.push(this.#list.leaf);
		this.#list.add(content, this.#lastMs);
	}
}

/** Input, cached, written, output, reasoning. */
type Counts = readonly number[];

function countsIn(usage: Record<string, unknown>): Counts {
	return [
		usage.input_tokens,
		usage.cached_input_tokens,
		usage.cache_write_input_tokens,
		usage.output_tokens,
		usage.reasoning_output_tokens,
	].map(totalOf);
}

/** Totals of long threads exceed the bound of a single count. */
function totalOf(value: unknown): number {
	return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0;
}

/** Input includes what was read and written; output includes reasoning. */
function usageOf(counts: Counts): Usage {
	const [input = 0, cached = 0, written = 0, output = 0, reasoning = 0] = counts.map(countOf);
	const read = Math.min(cached, input);
	const write = Math.min(written, input - read);
	return {
		billed: { input: input - read - write, read, write, writeOneHour: 0 },
		output,
		reasoning: Math.min(reasoning, output),
	};
}

/** `token_count` has no writes. */
function keyOf([input, cached, _written, output, reasoning]: Counts): string {
	return [input, cached, output, reasoning].join();
}

/** Whether the user wrote it. The agent also sends its instructions and the environment as the user. */
function isOfUser({ type = "message", role, content }: Record<string, unknown>): boolean {
	if (type !== "message" || role !== "user") return false;
	const text = textOr(property(partsOf(content)[0], "text"), "").trimStart();
	return !NOT_OF_USER.test(text);
}

const NOT_OF_USER =
	/^(<(environment_context|user_instructions|user_shell_command|turn_aborted|subagent_notification|skill)>|# AGENTS\.md instructions)/;

function isMade({ type, role }: Record<string, unknown>): boolean {
	if (type === "message") return role === "assistant";
	return type === "reasoning" || (typeof type === "string" && type.endsWith("_call"));
}

function toolOf({ name, type }: Record<string, unknown>): string {
	return nameOr(name ?? type, "a tool");
}

function answerPart(item: Record<string, unknown>): Part {
	const { type } = item;
	if (type === "reasoning") {
		const tokens = textTokens(item.encrypted_content);
		return { kind: "thinking", label: "thinking", content: hashed(item), tokens };
	}
	if (type === "message") {
		const tokens = partsOf(item.content).reduce<number>((sum, part) => sum + tokensOf(part), 0);
		return { kind: "text", label: "answer", content: hashed(item.content), tokens };
	}
	const tokens = callTokens(item.name, item.arguments ?? item.input ?? item.action);
	return { kind: "call", label: `call of ${toolOf(item)}`, content: hashed(item), tokens };
}

/** Parts wait for their bill, so they hold a hash in place of their content. */
function hashed(content: unknown): string {
	return contentHash("codex", content);
}

/** The provider counts reasoning apart, and the file rarely shows its size. */
function weighted(parts: readonly Part[], output: number, reasoning: number): Part[] {
	const isThought = ({ kind }: Part) => kind === "thinking";
	const thoughts = parts.filter(isThought).length;
	const shown = parts
		.filter((part) => !isThought(part))
		.reduce((sum, { tokens }) => sum + tokens, 0);
	if (thoughts === 0 || shown === 0) return [...parts];
	const scale = (output - reasoning) / shown;
	return parts.map((part) => ({
		...part,
		tokens: isThought(part) ? reasoning / thoughts : part.tokens * scale,
	}));
}

function partsOf(content: unknown): readonly unknown[] {
	if (typeof content === "string") return [{ text: content }];
	return Array.isArray(content) ? content : [];
}

function tokensOf(part: unknown): number {
	const text = property(part, "text");
	if (typeof text === "string") return estimateTokens(text.length);
	return property(part, "type") === "input_image" ? IMAGE_TOKENS : textTokens(JSON.stringify(part));
}
