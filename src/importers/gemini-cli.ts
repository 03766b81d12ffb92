import type { PromptTokens } from "../core/bill.ts";
import { isRecord, property } from "../core/property.ts";
import { contentHash, nameOr, type SourceBlock } from "../economy/replay/index.ts";
import { BlockMaker, callTokens, IMAGE_TOKENS, type Part, textTokens } from "./block-maker.ts";
import { EntryList } from "./entry-list.ts";
import { countOf, listOf, MAX_ID_LENGTH, textOr, timeOf } from "./fields.ts";
import type { LineOutcome, ParsedSession, SessionFormat, SessionParser } from "./session-format.ts";

/** Chat files of Gemini CLI: one document with all messages, or since 2026 a line for each change. */
export const geminiCli: SessionFormat = {
	agent: "gemini-cli",
	recognizes: (value) =>
		typeof property(value, "sessionId") === "string" &&
		typeof property(value, "projectHash") === "string",
	*lines(value) {
		if (!isRecord(value) || !Array.isArray(value.messages) || value.$snapshot === true) {
			yield value;
			return;
		}
		const { messages, ...header } = value;
		yield header;
		yield* messages as unknown[];
	},
	parser: () => new GeminiParser(),
};

/** A message without its texts. */
interface Message {
	readonly atMs: number;
	/** What the user or the agent added; empty for an answer. */
	readonly blocks: readonly SourceBlock[];
	readonly answer?: Answer;
}

interface Answer {
	readonly parts: readonly Part[];
	readonly results: readonly { readonly callId: string; readonly block: SourceBlock }[];
	readonly model: string;
	readonly billed: PromptTokens;
	readonly output: number;
}

/** `snapshot`: only these messages remain. `rewind`: this message and all later ones are gone. */
type Change =
	| MessageChange
	| { readonly type: "snapshot"; readonly messages: readonly Message[] }
	| { readonly type: "rewind"; readonly id: string };

interface MessageChange {
	readonly type: "message";
	readonly id: string;
	/** Number of messages before it. */
	readonly place: number;
	message: Message;
}

/** A message is written again whenever it changes, so entries are made at the end. */
class GeminiParser implements SessionParser {
	/** Those that a later line may change. */
	readonly #messages = new Map<string, MessageChange>();
	/** Their ids. */
	readonly #order: string[] = [];
	readonly #changes: Change[] = [];
	readonly #blocks = new BlockMaker();
	/** Calls whose result is a message of its own, as newer versions write it. */
	readonly #answered = new Set<string>();
	#header: Record<string, unknown> = {};
	blockCount = 0;

	get entryCount(): number {
		return this.#changes.length;
	}

	skip(): void {
		// A message that is too long is missing from later requests; nothing refers to it.
	}

	add(line: unknown): LineOutcome {
		if (!isRecord(line)) return "damaged";
		try {
			return this.#take(line);
		} catch (error) {
			// Deeply nested values parse, but cannot be serialized for hashing.
			if (error instanceof RangeError) return "damaged";
			throw error;
		}
	}

	#take(line: Record<string, unknown>): LineOutcome {
		if (line.$snapshot === true) {
			const messages = listOf(line.messages).filter(isRecord);
			this.#changes.push({
				type: "snapshot",
				messages: messages.map((message) => this.#digest(message, undefined)),
			});
			return "added";
		}
		if (typeof line.$rewindTo === "string") {
			this.#rewind(nameOr(line.$rewindTo, ""));
			return "added";
		}
		if (isRecord(line.$set) || typeof line.sessionId === "string") {
			const header = isRecord(line.$set) ? line.$set : line;
			this.#setHeader(header);
			for (const message of listOf(header.messages)) {
				if (isRecord(message)) this.#message(message);
			}
			return "ignored";
		}
		return this.#message(line);
	}

	#message(line: Record<string, unknown>): LineOutcome {
		const { id } = line;
		if (typeof id !== "string" || id.length > MAX_ID_LENGTH) return "damaged";
		const known = this.#messages.get(id);
		const message = this.#digest(line, known?.message);
		if (known) known.message = message;
		else {
			const change = { type: "message" as const, id, message, place: this.#order.push(id) - 1 };
			this.#messages.set(id, change);
			this.#changes.push(change);
		}
		return "added";
	}

	/** The ids that are gone may name other messages from now on. */
	#rewind(id: string): void {
		this.#changes.push({ type: "rewind", id });
		const left = this.#messages.get(id)?.place ?? 0;
		for (const gone of this.#order.splice(left)) this.#messages.delete(gone);
	}

	#setHeader({ sessionId, kind, directories }: Record<string, unknown>): void {
		const folder = listOf(directories)[0];
		this.#header = {
			...this.#header,
			...(typeof sessionId === "string" && { session: nameOr(sessionId, "") }),
			...(kind === "subagent" && { isSubagent: true }),
			...(typeof folder === "string" && { cwd: nameOr(folder, "") }),
		};
	}

	/** The newest form of a message counts. It may lack the bill, which `before` has. */
	#digest(message: Record<string, unknown>, before: Message | undefined): Message {
		const atMs = timeOf(message.timestamp) ?? before?.atMs ?? 0;
		const isUser = message.type === "user" || message.type === "user_shell";
		const answer = message.type === "gemini" ? this.#answer(message, before?.answer) : undefined;
		const blocks = isUser ? this.#userBlocks(message.content) : [];
		this.blockCount += blocks.length + (answer ? answer.parts.length + answer.results.length : 0);
		return { atMs, blocks, ...(answer && { answer }) };
	}

	#userBlocks(content: unknown): SourceBlock[] {
		return partsOf(content).map((part) => {
			const response = property(part, "functionResponse");
			if (!isRecord(response)) {
				const tokens = tokensOf(part);
				return this.#blocks.block({ kind: "user", label: "user message", content: part, tokens });
			}
			this.#answered.add(nameOr(response.id, ""));
			return this.#result({ ...response, result: [part] });
		});
	}

	#answer(message: Record<string, unknown>, before: Answer | undefined): Answer {
		const calls = listOf(message.toolCalls).filter(isRecord);
		for (const { id, name, args } of calls) this.#blocks.noteCall({ id, name, input: args });
		const texts = partsOf(message.content).map((part): Part => {
			return { kind: "text", label: "answer", content: hashed(part), tokens: tokensOf(part) };
		});
		const parts = calls.map(({ id, name, args }): Part => {
			const label = `call of ${nameOr(name, "a tool")}`;
			const content = hashed([id, name, args]);
			return { kind: "call", label, content, tokens: callTokens(name, args) };
		});
		const finished = calls.filter(({ result }) => result !== undefined && result !== null);
		const { tokens } = message;
		return {
			parts: [...texts, ...parts],
			results: finished.map((call) => ({
				callId: nameOr(call.id, ""),
				block: this.#result(call),
			})),
			model: nameOr(message.model, before?.model ?? ""),
			billed: isRecord(tokens) ? billedIn(tokens) : (before?.billed ?? NOTHING),
			output: isRecord(tokens) ? outputIn(tokens) : (before?.output ?? 0),
		};
	}

	/** A result is a list of `functionResponse` parts, as sent. */
	#result({ id, name, result, status }: Record<string, unknown>): SourceBlock {
		const texts = partsOf(result).map((part) => {
			const response = property(property(part, "functionResponse"), "response");
			const output = property(response, "output") ?? property(part, "text");
			return typeof output === "string" ? output : JSON.stringify(response ?? part);
		});
		return this.#blocks.result({
			callId: id,
			tool: name,
			content: result,
			text: texts.join("\n"),
			images: partsOf(result).filter((part) => isRecord(property(part, "inlineData"))).length,
			isError: status === "error",
		});
	}

	end(): readonly ParsedSession[] {
		const list = new EntryList();
		/** The leaf before each message. */
		const places = new Map<string, number>();
		for (const change of this.#changes) {
			if (change.type === "message") {
				places.set(change.id, list.leaf);
				this.#addMessage(list, change);
			} else if (change.type === "rewind") {
				list.leaf = places.get(change.id) ?? -1;
			} else {
				const blocks = change.messages.flatMap((message) => this.#blocksOf(message));
				const summary = { blocks, firstKeptId: undefined, change: undefined };
				list.add({ type: "compaction", ...summary }, list.leafMs ?? 0);
			}
		}
		const { session, isSubagent, cwd } = this.#header;
		const id = textOr(session, "");
		return [
			{
				entries: list.entries,
				session: id,
				...(isSubagent === true && { subagent: id }),
				...(typeof cwd === "string" && { cwd }),
			},
		];
	}

	#addMessage(list: EntryList, { id, message }: MessageChange): void {
		const { atMs, blocks, answer } = message;
		if (!answer) {
			if (blocks.length > 0) list.add({ type: "message", blocks }, atMs);
			return;
		}
		const { parts, model, billed, output } = answer;
		const results = this.#resultsOf(answer);
		list.add(
			{
				type: "assistant",
				blocks: this.#blocks.answer(parts, output),
				model: { provider: "google", id: model },
				billed,
				sentMs: Math.min(list.leafMs ?? atMs, atMs),
				isKept: true,
				output,
				requestId: contentHash("gemini-cli", [id, atMs]),
			},
			atMs,
		);
		if (results.length > 0) list.add({ type: "message", blocks: results }, atMs);
	}

	#blocksOf({ blocks, answer }: Message): SourceBlock[] {
		const made = answer?.parts.map((part) => this.#blocks.block(part)) ?? [];
		return [...blocks, ...made, ...(answer ? this.#resultsOf(answer) : [])];
	}

	#resultsOf({ results }: Answer): SourceBlock[] {
		return results.flatMap(({ callId, block }) => (this.#answered.has(callId) ? [] : [block]));
	}
}

const NOTHING: PromptTokens = { input: 0, read: 0, write: 0, writeOneHour: 0 };

/** `input` includes `cached`; `tool` is a prompt of its own, of tools that the provider runs. */
function billedIn(tokens: Record<string, unknown>): PromptTokens {
	const prompt = countOf(tokens.input);
	const read = Math.min(countOf(tokens.cached), prompt);
	return { ...NOTHING, input: prompt - read + countOf(tokens.tool), read };
}

function outputIn(tokens: Record<string, unknown>): number {
	return countOf(tokens.output) + countOf(tokens.thoughts);
}

/** Messages wait for the end of the file, so they hold a hash in place of their content. */
function hashed(content: unknown): string {
	return contentHash("gemini-cli", content);
}

function partsOf(content: unknown): readonly unknown[] {
	if (typeof content === "string") return content === "" ? [] : [{ text: content }];
	if (isRecord(content)) return [content];
	return listOf(content).map((part) => (typeof part === "string" ? { text: part } : part));
}

function tokensOf(part: unknown): number {
	if (isRecord(property(part, "inlineData"))) return IMAGE_TOKENS;
	const text = property(part, "text");
	return textTokens(typeof text === "string" ? text : JSON.stringify(part));
}
