import type { PromptTokens } from "../core/bill.ts";
import { compareText } from "../core/compare-text.ts";
import { isRecord, property } from "../core/property.ts";
import { contentHash, nameOr, type SourceBlock } from "../economy/replay/index.ts";
import { BlockMaker, callTokens, IMAGE_TOKENS, type Part, textTokens } from "./block-maker.ts";
import { EntryList } from "./entry-list.ts";
import { countOf, listOf, textOr, timeOf } from "./fields.ts";
import type { LineOutcome, ParsedSession, SessionFormat, SessionParser } from "./session-format.ts";

/** Exports of opencode: `{info, messages}` a session, one document or several in a row. */
export const opencode: SessionFormat = {
	agent: "opencode",
	recognizes: (value) =>
		isRecord(value) &&
		isHeader(value.info) &&
		(Array.isArray(value.messages) || Object.keys(value).length === 1),
	*lines(value) {
		const messages = property(value, "messages");
		yield messages === undefined ? value : { info: property(value, "info") };
		yield* listOf(messages);
	},
	parser: () => new OpencodeParser(),
};

function isHeader(info: unknown): boolean {
	return isRecord(info) && typeof info.id === "string" && info.role === undefined;
}

/**
 * Takes the header of a session, `{info}`, then its messages, `{info, parts}`. Each further header
 * begins another session.
 */
class OpencodeParser implements SessionParser {
	readonly #sessions: OpencodeSession[] = [];
	/** Of all sessions but the last. A session counts as an entry, too. */
	readonly #before = { entries: 0, blocks: 0 };

	get entryCount(): number {
		return this.#before.entries + (this.#sessions.at(-1)?.list.entries.length ?? 0);
	}

	get blockCount(): number {
		return this.#before.blocks + (this.#sessions.at(-1)?.list.blockCount ?? 0);
	}

	add(line: unknown): LineOutcome {
		const info = property(line, "info");
		if (!isRecord(info)) return "damaged";
		if (typeof info.role !== "string") {
			this.#before.entries = this.entryCount + 1;
			this.#before.blocks = this.blockCount;
			this.#sessions.push(new OpencodeSession(info));
			return "ignored";
		}
		try {
			return this.#sessions.at(-1)?.add(info, listOf(property(line, "parts"))) ?? "damaged";
		} catch (error) {
			// Deeply nested values parse, but cannot be serialized for hashing.
			if (error instanceof RangeError) return "damaged";
			throw error;
		}
	}

	skip(): void {
		// A message that is too long is missing from later requests; nothing refers to it.
	}

	end(): readonly ParsedSession[] {
		const isSubagent = ({ subagent }: ParsedSession) => Number(subagent !== undefined);
		// A fork comes after its original.
		return this.#sessions
			.sort((a, b) => a.createdMs - b.createdMs || compareText(a.id, b.id))
			.map((session) => session.end())
			.sort((a, b) => isSubagent(a) - isSubagent(b));
	}
}

/** A result that opencode replaced by a note, from some time on. */
interface Clearing {
	readonly atMs: number;
	readonly targetId: string;
	readonly block: SourceBlock;
}

class OpencodeSession {
	readonly list = new EntryList();
	readonly #blocks = new BlockMaker();
	readonly #info: Record<string, unknown>;
	#clearings: Clearing[] = [];
	#variant = "";

	constructor(info: Record<string, unknown>) {
		this.#info = info;
	}

	get id(): string {
		return nameOr(this.#info.id, "");
	}

	get createdMs(): number {
		return timeOf(property(this.#info.time, "created")) ?? 0;
	}

	end(): ParsedSession {
		const { id } = this;
		const cwd = nameOr(this.#info.directory, "");
		const version = nameOr(this.#info.version, "");
		return {
			entries: this.list.entries,
			thinking: "off", // each answer states its variant, if it has one
			session: id,
			...(typeof this.#info.parentID === "string" && { subagent: id }),
			...(version && { version }),
			...(cwd && { cwd }),
		};
	}

	add(info: Record<string, unknown>, parts: readonly unknown[]): LineOutcome {
		const atMs = timeOf(property(info.time, "created")) ?? this.list.leafMs ?? 0;
		if (info.role === "assistant") return this.#answer(info, parts, atMs);
		if (info.role !== "user") return "ignored";
		const blocks = parts.filter(isSent).map((part) => this.#blocks.block(userPart(part)));
		this.list.add({ type: "message", blocks }, atMs);
		return "added";
	}

	/** One message is one request: a step of the agent. */
	#answer(info: Record<string, unknown>, parts: readonly unknown[], atMs: number): LineOutcome {
		this.#clear(atMs);
		const variant = nameOr(info.variant, "");
		if (variant !== this.#variant) {
			this.#variant = variant;
			this.list.add({ type: "thinking", level: variant || "off" }, atMs);
		}
		const sent = parts.filter(isSent);
		const calls = sent.filter((part) => property(part, "type") === "tool");
		for (const call of calls) {
			const input = property(property(call, "state"), "input");
			this.#blocks.noteCall({ id: property(call, "callID"), name: property(call, "tool"), input });
		}
		const output = outputIn(info.tokens);
		const model = { provider: nameOr(info.providerID, ""), id: nameOr(info.modelID, "") };
		this.list.add(
			{
				type: "assistant",
				blocks: this.#blocks.answer(sent.map(answerPart), output),
				model,
				billed: billedIn(info.tokens),
				sentMs: atMs,
				isKept: !isRecord(info.error) || sent.length > 0,
				output,
				// A fork gets new ids, and keeps times and bills.
				requestId: contentHash("opencode", [model, info.time, info.tokens]),
			},
			timeOf(property(info.time, "completed")) ?? atMs,
		);
		for (const call of calls) this.#result(call, atMs);
		if (info.summary === true) this.#compaction(sent, atMs);
		return "added";
	}

	#result(call: unknown, atMs: number): void {
		const state = property(call, "state");
		const isError = property(state, "status") === "error";
		const text = textOr(isError ? property(state, "error") : property(state, "output"), "");
		const callId = property(call, "callID");
		const attachments = listOf(property(state, "attachments"));
		const images = attachments.filter(isImage).length;
		const endMs = timeOf(property(property(state, "time"), "end")) ?? atMs;
		const whole = this.#blocks.result({
			callId,
			content: attachments.length > 0 ? [callId, text, attachments] : `${callId}\n${text}`,
			text,
			images,
			isError,
		});
		const targetId = this.list.add({ type: "message", blocks: [whole] }, endMs);
		const clearedMs = timeOf(property(property(state, "time"), "compacted"));
		if (clearedMs === undefined) return;
		const content = [callId, CLEARED];
		const block = this.#blocks.result({ callId, content, text: CLEARED, images: 0, isError });
		this.#clearings.push({ atMs: clearedMs, targetId, block });
	}

	/** Opencode clears old results between requests. The next request shows them as edits. */
	#clear(beforeMs: number): void {
		for (const { atMs, targetId, block } of this.#clearings) {
			if (atMs > beforeMs) continue;
			this.list.add({ type: "edit", targetId, blocks: [block] }, atMs);
		}
		this.#clearings = this.#clearings.filter(({ atMs }) => atMs > beforeMs);
	}

	/** The answer of a summarizing request takes the place of everything before. */
	#compaction(sent: readonly unknown[], atMs: number): void {
		const blocks = sent.map((part) =>
			this.#blocks.block({
				...answerPart(part),
				kind: "summary",
				label: "summary of a compaction",
			}),
		);
		this.list.add({ type: "compaction", blocks, firstKeptId: undefined, change: undefined }, atMs);
	}
}

/** About what opencode shows in place of a cleared result. */
const CLEARED = "[Old tool result content cleared]";

/** Other types mark steps, snapshots and patches, and are not sent. */
function isSent(part: unknown): boolean {
	const type = property(part, "type");
	if (type === "text") return property(part, "ignored") !== true && property(part, "text") !== "";
	return type === "reasoning" || type === "tool" || (type === "file" && isImage(part));
}

function isImage(part: unknown): boolean {
	return textOr(property(part, "mime"), "").startsWith("image/");
}

function userPart(part: unknown): Part {
	const tokens = isImage(part) ? IMAGE_TOKENS : textTokens(property(part, "text"));
	const content = property(part, "text") ?? property(part, "url");
	return { kind: "user", label: "user message", content, tokens };
}

function answerPart(part: unknown): Part {
	const text = property(part, "text");
	switch (property(part, "type")) {
		case "tool": {
			const name = property(part, "tool");
			const input = property(property(part, "state"), "input");
			const content = [property(part, "callID"), name, input];
			const label = `call of ${nameOr(name, "a tool")}`;
			return { kind: "call", label, content, tokens: callTokens(name, input) };
		}
		case "reasoning":
			return { kind: "thinking", label: "thinking", content: text, tokens: textTokens(text) };
		default:
			return { kind: "text", label: "answer", content: text, tokens: textTokens(text) };
	}
}

/** `input` is what was neither read nor written. */
function billedIn(tokens: unknown): PromptTokens {
	const cache = property(tokens, "cache");
	return {
		input: countOf(property(tokens, "input")),
		read: countOf(property(cache, "read")),
		write: countOf(property(cache, "write")),
		writeOneHour: 0,
	};
}

function outputIn(tokens: unknown): number {
	return countOf(property(tokens, "output")) + countOf(property(tokens, "reasoning"));
}
