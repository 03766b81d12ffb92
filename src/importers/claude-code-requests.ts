import type { Ttl } from "../core/bill.ts";
import { getOrAdd } from "../core/get-or-add.ts";
import { isHash } from "../core/hash.ts";
import { isRecord, property } from "../core/property.ts";
import { nameOr, type SourceBlock, systemChangeOf } from "../economy/replay/index.ts";
import { type Answer, type LineContent, type LineReader, partsOf } from "./claude-code-lines.ts";
import { listOf, MAX_ID_LENGTH, timeOf } from "./fields.ts";
import { MessageHash } from "./message-hash.ts";
import type { LineOutcome } from "./session-format.ts";

/** A message in the prompt of a request. Requests that begin alike share their first messages. */
export interface SentMessage {
	readonly id: number;
	readonly hash: string;
	readonly before: SentMessage | undefined;
	/** How many messages there are up to this one. */
	readonly length: number;
}

/** The system prompt and the tools. */
export type Head = ReturnType<typeof systemChangeOf>;

/** A request as the program recorded it. */
export interface RecordedRequest {
	readonly last: SentMessage | undefined;
	readonly head: Head;
	/** The level of thinking. */
	readonly level: string;
	readonly sentMs: number | undefined;
	/** The last cache marker: its message, -1 for one before the messages, and the part in it. */
	readonly marker:
		| { readonly message: number; readonly part: number; readonly ttl: Ttl }
		| undefined;
}

/**
 * A message: the first `count` blocks of an answer, or of lines that follow each other. The last
 * `parts` of them are its content.
 */
type KnownMessage = { readonly count: number; readonly parts: number } & (
	| { readonly answer: Answer }
	| { readonly blocks: readonly SourceBlock[] }
);

/**
 * The requests that newer versions record, of one thread: `api-request-shape` has the system prompt
 * and the tools, `api-request` names its messages by hash, as those of an earlier request and new
 * ones. A message is in an `api-request-blob`, or in the conversation's own lines.
 */
export class RequestLog {
	readonly #reader: LineReader;
	readonly #heads = new Map<string, Head>();
	/** The heads, with their tools and texts. */
	#headParts = 0;
	/** By id. One that is not whole only serves as the base of others. */
	readonly #requests = new Map<
		string,
		{ last: SentMessage | undefined; whole?: RecordedRequest }
	>();
	/** By the id of the message before, and the hash. */
	readonly #sent = new Map<string, SentMessage>();
	/** By hash. */
	readonly #messages = new Map<string, KnownMessage>();
	#run: Run | undefined;
	/** Whether lines may be messages of recorded requests. */
	#isNeeded = true;
	#stepsLeft = MAX_STEPS;

	constructor(reader: LineReader) {
		this.#reader = reader;
	}

	/** How much is kept, as a bound of memory. */
	get size(): number {
		return this.#sent.size + this.#messages.size + this.#requests.size + this.#headParts;
	}

	/** The request with this id, unless a part of it is unknown. */
	request(id: string | undefined): RecordedRequest | undefined {
		return id === undefined ? undefined : this.#requests.get(id)?.whole;
	}

	/** What was sent. A message that the file does not have is one block of unknown size. */
	message({ hash }: SentMessage): KnownMessage {
		const lost = () => ({ blocks: [this.#reader.lostMessage(hash)], count: 1, parts: 1 });
		return getOrAdd(this.#messages, hash, lost);
	}

	/** Takes a line outside the conversation. */
	add(line: unknown): LineOutcome {
		switch (property(line, "type")) {
			case "api-request-shape":
				return this.#addHead(line);
			case "api-request-blob":
				return this.#addMessage(line);
			case "api-request":
				return this.#addRequest(line);
			default:
				return "ignored";
		}
	}

	/** Notes a line of the conversation, whose blocks may be a message or the end of one. */
	note(line: unknown, content: LineContent): void {
		const message = property(line, "message");
		const role = property(message, "role");
		if ((role !== "user" && role !== "assistant") || !this.#isNeeded) return;
		// An answer without a record: an older version wrote it. Hashing takes time.
		if (role === "assistant") this.#isNeeded = this.#heads.size > 0;
		const id = role === "assistant" ? property(message, "id") : undefined;
		if (this.#run?.role !== role || this.#run.id !== id) this.#run = newRun(role, id);
		const hash = this.#run.hashing.add(partsOf(message)).of(role);
		const { blocks } = this.#run;
		for (const block of blocksIn(content)) blocks.push(block);
		const source = content.kind === "answer" ? { answer: content.answer } : { blocks };
		const { length } = content.kind === "answer" ? content.answer.blocks : blocks;
		getOrAdd(this.#messages, hash, () => ({ ...source, count: length, parts: length }));
	}

	#addHead(line: unknown): LineOutcome {
		const hash = property(line, "shapeHash");
		const shape = property(line, "shape");
		if (!isHash(hash) || !isRecord(shape)) return "damaged";
		this.#isNeeded = true;
		const { system: content, tools: toolsAdded } = shape;
		getOrAdd(this.#heads, hash, () => {
			const head = systemChangeOf({ replace: true, content, toolsAdded });
			this.#headParts += 1 + head.texts.length + head.toolsAdded.size;
			return head;
		});
		return "added";
	}

	#addMessage(line: unknown): LineOutcome {
		const hash = property(line, "hash");
		if (!isHash(hash)) return "damaged";
		getOrAdd(this.#messages, hash, () => {
			const message = property(line, "message");
			const blocks = this.#reader.messageBlocks(message);
			return { blocks, count: blocks.length, parts: partsOf(message).length };
		});
		return "added";
	}

	#addRequest(line: unknown): LineOutcome {
		const id = property(line, "id");
		const tail = property(line, "tail");
		const keep = property(line, "keep");
		const isList = Array.isArray(tail) && tail.every(isHash);
		if (typeof id !== "string" || id.length > MAX_ID_LENGTH || !isList) return "damaged";
		const base = this.#requests.get(nameOr(property(line, "base"), ""));
		const kept = typeof keep === "number" ? this.#first(base?.last, keep) : "unknown";
		if (kept === "unknown") return "ignored"; // its base is not in the file
		let last = kept;
		for (const hash of tail) last = this.#after(last, hash);
		const head = this.#heads.get(nameOr(property(line, "shapeHash"), ""));
		// A request that was cut holds other texts than it was sent with.
		const isWhole = head && property(line, "cut") === undefined;
		const whole = isWhole && { last, head, ...settingsOf(line) };
		this.#requests.set(id, { last, ...(whole && { whole }) });
		return "added";
	}

	/** The last of the first `count` messages up to `last`. */
	#first(last: SentMessage | undefined, count: number): SentMessage | undefined | "unknown" {
		let at = last;
		while (at && at.length > count) {
			if (--this.#stepsLeft < 0) return "unknown";
			at = at.before;
		}
		return (at?.length ?? 0) === count ? at : "unknown";
	}

	#after(before: SentMessage | undefined, hash: string): SentMessage {
		const key = `${before?.id ?? -1} ${hash}`;
		const known = this.#sent.get(key);
		if (known) return known;
		const length = (before?.length ?? 0) + 1;
		const message: SentMessage = { id: this.#sent.size, hash, before, length };
		this.#sent.set(key, message);
		return message;
	}
}

/** Bounds the work for requests that keep little of a long base. Real sessions take a hundredth. */
const MAX_STEPS = 5_000_000;

function settingsOf(line: unknown): Omit<RecordedRequest, "last" | "head"> {
	return {
		level: levelOf(property(line, "params")),
		sentMs: timeOf(property(line, "timestamp")),
		marker: lastMarker(listOf(property(line, "cacheControl"))),
	};
}

function levelOf(params: unknown): string {
	const thinking = property(params, "thinking");
	const type = nameOr(property(thinking, "type"), "");
	const budget = property(thinking, "budget_tokens");
	// With this beta the level is a message, and a change of it loses nothing.
	const betas = listOf(property(params, "betas"));
	const isMessage = betas.some((name) => String(name).startsWith("per-turn-control-"));
	const effort = nameOr(property(property(params, "output_config"), "effort"), "");
	const words = [effort && !isMessage ? effort : "", type === "adaptive" ? "" : type, budget ?? ""];
	return words.filter((word) => word !== "").join(" ") || "as stated in the messages";
}

function lastMarker(markers: readonly unknown[]): RecordedRequest["marker"] {
	let last: RecordedRequest["marker"];
	for (const marker of markers) {
		const [where, message, , part] = listOf(property(marker, "path"));
		const ttl: Ttl = property(property(marker, "value"), "ttl") === "1h" ? "1h" : "5m";
		const isInMessages = where === "messages" && typeof message === "number";
		const place = isInMessages
			? { message, part: typeof part === "number" ? part : 0 }
			: { message: -1, part: 0 };
		const isLater =
			!last ||
			place.message > last.message ||
			(place.message === last.message && place.part >= last.part);
		if (isLater) last = { ...place, ttl };
	}
	return last;
}

/** Lines of one message so far: those of a user that follow each other, or those of one answer. */
interface Run {
	readonly role: string;
	readonly id: unknown;
	readonly hashing: MessageHash;
	readonly blocks: SourceBlock[];
}

function newRun(role: string, id: unknown): Run {
	return { role, id, hashing: new MessageHash(), blocks: [] };
}

/** In the order of the line's parts. */
function blocksIn(content: LineContent): readonly SourceBlock[] {
	if (content.kind === "sent" || content.kind === "summary") return content.blocks;
	if (content.kind !== "results") return [];
	const blocks = [...content.results.map(({ block }) => block), ...content.beside];
	return blocks.sort((a, b) => a.id - b.id); // ids ascend
}
