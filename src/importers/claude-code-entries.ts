import type { PromptTokens } from "../core/bill.ts";
import { getOrAdd } from "../core/get-or-add.ts";
import { isRecord, property } from "../core/property.ts";
import { type Entry, type ModelName, nameOr, type SourceBlock } from "../economy/replay/index.ts";
import { FORMATS, type WireAnswer } from "../wire/index.ts";
import { counted } from "./block-maker.ts";
import type { Answer, Line, LineContent, Result } from "./claude-code-lines.ts";
import type { Head, RecordedRequest, RequestLog, SentMessage } from "./claude-code-requests.ts";
import { countOf, tierOf } from "./fields.ts";

/**
 * Writes the lines of one thread as entries in request order: all blocks of an answer, then all its
 * results in the order of the calls. The lines mix them, since early calls end while others stream.
 * A request that the file records is written as recorded, whatever its lines say.
 */
export class EntryWriter {
	readonly #lines: readonly Line[];
	readonly #log: RequestLog;
	readonly #results: ReadonlyMap<string, AnswerResults>;
	/** By uuid: the line's place in the thread. */
	readonly #places: ReadonlyMap<string, number>;
	readonly #entries: Entry[] = [];
	/** By position of an entry: the settings after it. */
	readonly #settings: Settings[] = [];
	/** By position: the first entry that follows it. */
	readonly #next = new Map<number, string>();
	/** By uuid: the position after which the line's children continue. */
	readonly #ends = new Map<string, number>();
	/** By uuid: the line's first entry. */
	readonly #ids = new Map<string, string>();
	/** By call: the entry of its result. */
	readonly #resultIds = new Map<string, string>();
	/** The entry of an answer, and the position after its last result. */
	readonly #answered = new Map<Answer, { readonly id: string; readonly end: number }>();
	/** The entry of a recorded message. */
	readonly #messageIds = new Map<SentMessage, string>();
	/** The position at which a prompt ends with this message. */
	readonly #promptEnds = new Map<SentMessage, number>();
	#previous: PreviousRequest | undefined;
	#compactions = 0;
	#stepsLeft = MAX_STEPS;

	constructor(lines: readonly Line[], answers: Iterable<Answer>, log: RequestLog) {
		this.#lines = lines;
		this.#log = log;
		this.#results = resultsByAnswer(lines, answers);
		this.#places = new Map(lines.map(({ uuid }, place) => [uuid, place]));
	}

	/** Lines that no answer follows are left out. */
	write(): Entry[] {
		for (const [place, { content }] of this.#lines.entries()) {
			if (content.kind === "summary") this.#compactions++;
			if (content.kind === "answer") this.#endOf(place);
		}
		return this.#entries;
	}

	/** Adds a line and those before it. Returns the position after which its children continue. */
	#endOf(place: number | undefined): number {
		const way: number[] = [];
		let at = place;
		while (at !== undefined && !this.#ends.has(this.#line(at).uuid)) {
			way.push(at);
			at = this.#request(this.#line(at)) ? undefined : this.#parentOf(at);
		}
		let end = at === undefined ? ROOT : (this.#ends.get(this.#line(at).uuid) as number);
		for (const next of way.reverse()) {
			const { uuid } = this.#line(next);
			// A result that stands behind its answer has an end already.
			end = this.#ends.get(uuid) ?? this.#add(next, end);
			this.#ends.set(uuid, end);
		}
		return end;
	}

	#line(place: number): Line {
		return this.#lines[place] as Line;
	}

	/** A line whose parent is missing, or below it, follows the line above. */
	#parentOf(place: number): number | undefined {
		const { parent } = this.#line(place);
		if (parent === null) return undefined;
		const known = this.#places.get(parent) ?? place;
		if (known < place) return known;
		return place > 0 ? place - 1 : undefined;
	}

	#request({ content }: Line): RecordedRequest | undefined {
		return content.kind === "answer" ? this.#log.request(content.answer.request) : undefined;
	}

	/** Returns the position after which the line's children continue. */
	#add(place: number, parent: number): number {
		const { uuid, atMs, content } = this.#line(place);
		switch (content.kind) {
			case "passage":
				return parent;
			case "sent":
				return this.#push(uuid, { parent, atMs, type: "message", blocks: content.blocks });
			case "results": {
				// Their call is unknown: a resumed session, or a damaged line.
				const results = content.results.map((_, index) => ({ line: this.#line(place), index }));
				return this.#pushResults(results, parent);
			}
			case "summary": {
				const { blocks, keptFrom } = content;
				const firstKeptId = keptFrom === undefined ? undefined : this.#firstKept(keptFrom);
				return this.#push(uuid, {
					...{ parent, atMs, type: "compaction", blocks },
					...{ firstKeptId, change: undefined },
				});
			}
			case "cleared":
				return this.#addCleared(uuid, content, parent, atMs);
			case "answer":
				return this.#addAnswer(place, content.answer, parent);
		}
	}

	#addCleared(
		uuid: string,
		{ callIds, stub, attachments }: LineContent & { kind: "cleared" },
		parent: number,
		atMs: number,
	): number {
		const edits = [
			...callIds.map((id) => ({ targetId: this.#resultIds.get(id), blocks: [stub] })),
			...attachments.map((id) => ({ targetId: this.#ids.get(id), blocks: [] })),
		];
		let at = parent;
		for (const [index, { targetId, blocks }] of edits.entries()) {
			if (targetId === undefined) continue;
			at = this.#push(`${uuid}#${index}`, { parent: at, atMs, type: "edit", targetId, blocks });
		}
		return at;
	}

	/** The first entry that a compaction keeps from this line on. */
	#firstKept(uuid: string): string | undefined {
		const end = this.#ends.get(uuid);
		// A line that is not sent has no entry of its own.
		return this.#ids.get(uuid) ?? (end === undefined ? undefined : this.#next.get(end));
	}

	#addAnswer(place: number, answer: Answer, parent: number): number {
		const line = this.#line(place);
		const known = this.#answered.get(answer);
		if (known) {
			this.#ids.set(line.uuid, known.id); // an answer is kept as a whole
			return known.end;
		}
		const request = this.#request(line);
		const prompt = request
			? this.#recordedPrompt(place, request)
			: this.#rebuiltPrompt(line, answer, parent);
		const compactions = this.#compactions;
		this.#previous = { request, answer, end: prompt.end, compactions };
		const sentMs = Math.min(line.atMs, prompt.sentMs);
		const marker = request && this.#markerOf(request);
		const at = this.#push(line.uuid, {
			...{ parent: prompt.end, atMs: line.atMs, ...answerEntry(answer, sentMs) },
			...(marker && { marker }),
		});
		const end = request ? at : this.#addResults(answer, at);
		this.#answered.set(answer, { id: line.uuid, end });
		return end;
	}

	#rebuiltPrompt({ uuid, atMs }: Line, { effort }: Answer, parent: number): Prompt {
		// The file has no time of sending; the last line before it is not later.
		const sentMs = this.#entries[parent]?.atMs ?? atMs;
		if (effort === undefined || effort === this.#settings[parent]?.level) {
			return { end: parent, sentMs };
		}
		const end = this.#push(`${uuid}#level`, { parent, atMs, type: "thinking", level: effort });
		return { end, sentMs };
	}

	#addResults({ id }: Answer, parent: number): number {
		const { results = [], lines = [] } = this.#results.get(id) ?? {};
		const end = this.#pushResults(results, parent);
		for (const { uuid } of lines) this.#ends.set(uuid, end);
		return end;
	}

	/** Adds results, then the texts beside them. */
	#pushResults(results: readonly LineResult[], parent: number): number {
		let at = parent;
		for (const { line, index } of results) {
			if (line.content.kind !== "results") continue;
			const { callId, block } = line.content.results[index] as Result;
			const id = `${line.uuid}#${index}`;
			this.#resultIds.set(callId, id);
			at = this.#push(id, { parent: at, atMs: line.atMs, type: "message", blocks: [block] });
			getOrAdd(this.#ids, line.uuid, () => id);
		}
		for (const { content, uuid, atMs } of new Set(results.map(({ line }) => line))) {
			if (content.kind !== "results" || content.beside.length === 0) continue;
			const text = { parent: at, atMs, type: "message", blocks: content.beside } as const;
			at = this.#push(`${uuid}#text`, text);
		}
		return at;
	}

	#recordedPrompt(place: number, { last, head, level, sentMs }: RecordedRequest): Prompt {
		const { uuid, atMs } = this.#line(place);
		const before = this.#previous;
		const isFirst = before !== undefined && before.request === undefined;
		const followed = isFirst ? undefined : this.#follow(before, last, atMs);
		// After a request that was not recorded, the lines say how the prompt goes on.
		let end = followed ?? this.#endOf(this.#parentOf(place));
		if (this.#settings[end]?.head !== head) {
			end = this.#push(`${uuid}#head`, { parent: end, atMs, type: "system", change: head });
		}
		if (this.#settings[end]?.level !== level) {
			end = this.#push(`${uuid}#level`, { parent: end, atMs, type: "thinking", level });
		}
		if (last) this.#promptEnds.set(last, end);
		return { end, sentMs: sentMs ?? atMs };
	}

	/** Adds the messages of a recorded request; `undefined` if that is too much work. */
	#follow(
		before: PreviousRequest | undefined,
		last: SentMessage | undefined,
		atMs: number,
	): number | undefined {
		const from = before?.request?.last;
		if (before && this.#isBegin(from, last)) {
			return this.#pushMessages(messagesAfter(from, last), before.end, atMs);
		}
		this.#stepsLeft -= (from?.length ?? 0) + (last?.length ?? 0);
		if (this.#stepsLeft < 0) return undefined;
		if (!before) return this.#pushMessages(messagesAfter(undefined, last), ROOT, atMs);
		if (before.compactions !== this.#compactions) {
			const compaction = { type: "compaction", blocks: [], firstKeptId: undefined } as const;
			const id = `compaction ${this.#entries.length}`;
			const at = this.#push(id, { parent: before.end, atMs, ...compaction, change: undefined });
			return this.#pushMessages(messagesAfter(undefined, last), at, atMs);
		}
		return this.#pushEdits(before, last, atMs) ?? this.#pushBranch(last, atMs);
	}

	/** Whether a prompt with these messages only adds to the other. */
	#isBegin(from: SentMessage | undefined, last: SentMessage | undefined): boolean {
		let at = last;
		while (at && at.length > (from?.length ?? 0)) {
			if (--this.#stepsLeft < 0) return false;
			at = at.before;
		}
		return at === from;
	}

	/** If the prompt goes on behind the previous answer, messages before it were replaced. */
	#pushEdits(
		{ request, answer, end }: PreviousRequest,
		last: SentMessage | undefined,
		atMs: number,
	): number | undefined {
		const [before, now] = apart(request?.last, last);
		const next = now[before.length];
		if (!next || !this.#isAnswer(next, answer)) return undefined;
		const edits: { id: string; message: SentMessage }[] = [];
		for (const [index, old] of before.entries()) {
			const message = now[index] as SentMessage;
			const id = this.#messageIds.get(old);
			if (id === undefined) return undefined;
			this.#messageIds.set(message, id);
			if (message.hash !== old.hash) edits.push({ id, message });
		}
		let at = end;
		for (const { id: targetId, message } of edits) {
			const id = `${targetId} ${this.#entries.length}`;
			const blocks = this.#blocksOf(message);
			at = this.#push(id, { parent: at, atMs, type: "edit", targetId, blocks });
		}
		return this.#pushMessages(now.slice(before.length), at, atMs);
	}

	#isAnswer(message: SentMessage, answer: Answer): boolean {
		const known = this.#log.message(message);
		if ("answer" in known) return known.answer === answer;
		// Without contents, blocks are alike by kind and size.
		const first = answer.blocks.find(({ kind }) => kind !== "thinking");
		return known.blocks.some(
			({ kind, estimate }) => kind === first?.kind && estimate === first.estimate,
		);
	}

	/** Goes on from the longest prompt that the messages begin with. */
	#pushBranch(last: SentMessage | undefined, atMs: number): number {
		let from = last;
		while (from && !this.#promptEnds.has(from)) from = from.before;
		const end = from ? (this.#promptEnds.get(from) as number) : ROOT;
		return this.#pushMessages(messagesAfter(from, last), end, atMs);
	}

	#pushMessages(messages: readonly SentMessage[], parent: number, atMs: number): number {
		let at = parent;
		for (const message of messages) {
			const id = `message ${this.#entries.length}`;
			const blocks = this.#blocksOf(message);
			at = this.#push(id, { parent: at, atMs, type: "message", blocks });
			this.#messageIds.set(message, id);
			this.#promptEnds.set(message, at);
		}
		return at;
	}

	#blocksOf(message: SentMessage): readonly SourceBlock[] {
		const known = this.#log.message(message);
		const blocks = "answer" in known ? answerBlocks(known.answer) : known.blocks;
		return blocks.slice(0, known.count);
	}

	/** How many blocks follow the last cache marker. */
	#markerOf({ last, marker }: RecordedRequest): Marker | undefined {
		if (!marker) return { ttl: "5m", behind: Number.POSITIVE_INFINITY };
		let behind = 0;
		let at = last;
		for (; at && at.length - 1 > marker.message; at = at.before) {
			if (--this.#stepsLeft < 0) return undefined;
			behind += this.#log.message(at).count;
		}
		const { parts = 0 } = at ? this.#log.message(at) : {};
		return { ttl: marker.ttl, behind: behind + Math.max(0, parts - 1 - marker.part) };
	}

	#push(id: string, entry: WithoutId<Entry>): number {
		const position = this.#entries.length;
		this.#entries.push({ ...entry, id });
		getOrAdd(this.#ids, id, () => id);
		getOrAdd(this.#next, entry.parent, () => id);
		this.#settings.push({
			...this.#settings[entry.parent],
			...(entry.type === "system" && { head: entry.change }),
			...(entry.type === "thinking" && { level: entry.level }),
		});
		return position;
	}
}

/** The parent of a first entry. */
const ROOT = -1;

/** Bounds the work for requests that hardly begin like the one before. Real sessions take a tenth. */
const MAX_STEPS = 1_000_000;

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;
type Marker = NonNullable<(Entry & { type: "assistant" })["marker"]>;

interface Settings {
	readonly head?: Head;
	readonly level?: string;
}

/** `end`: the position of its last entry. */
interface Prompt {
	readonly end: number;
	readonly sentMs: number;
}

interface PreviousRequest {
	readonly request: RecordedRequest | undefined;
	readonly answer: Answer;
	readonly end: number;
	/** How many there were before it. */
	readonly compactions: number;
}

/** The messages behind `from`, which is before `last`, up to `last`. */
function messagesAfter(
	from: SentMessage | undefined,
	last: SentMessage | undefined,
): SentMessage[] {
	const messages: SentMessage[] = [];
	for (let at = last; at && at !== from; at = at.before) messages.push(at);
	return messages.reverse();
}

/** What two prompts have behind their common messages. */
function apart(
	one: SentMessage | undefined,
	other: SentMessage | undefined,
): readonly [SentMessage[], SentMessage[]] {
	let [a, b] = [one, other];
	while (a !== b) {
		const [lengthA, lengthB] = [a?.length ?? 0, b?.length ?? 0];
		if (lengthA >= lengthB) a = a?.before;
		if (lengthB >= lengthA) b = b?.before;
	}
	return [messagesAfter(a, one), messagesAfter(a, other)];
}

interface LineResult {
	readonly line: Line;
	/** In the line. */
	readonly index: number;
}

interface AnswerResults {
	/** In the order of its calls. */
	readonly results: LineResult[];
	/** All that have results of it; a line may be copied under another uuid. */
	readonly lines: Line[];
}

function resultsByAnswer(
	lines: readonly Line[],
	answers: Iterable<Answer>,
): Map<string, AnswerResults> {
	const calls = new Map<string, { answer: string; place: number; isResolved: boolean }>();
	for (const { id, callIds } of answers) {
		for (const [place, callId] of callIds.entries()) {
			calls.set(callId, { answer: id, place, isResolved: false });
		}
	}
	const found = new Map<string, AnswerResults & { places: Map<LineResult, number> }>();
	for (const line of lines) {
		if (line.content.kind !== "results") continue;
		for (const [index, { callId }] of line.content.results.entries()) {
			const call = calls.get(callId);
			if (!call) continue;
			const of = getOrAdd(found, call.answer, () => ({
				results: [],
				lines: [],
				places: new Map(),
			}));
			if (of.lines.at(-1) !== line) of.lines.push(line);
			if (call.isResolved) continue;
			call.isResolved = true;
			const result = { line, index };
			of.results.push(result);
			of.places.set(result, call.place);
		}
	}
	for (const { results, places } of found.values()) {
		results.sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
	}
	return found;
}

function answerBlocks({ blocks, message }: Answer): SourceBlock[] {
	return counted(blocks, countOf(usageOf(message).output));
}

function answerEntry(answer: Answer, sentMs: number) {
	const { id, message } = answer;
	const { output } = usageOf(message);
	const { rounds, cleared } = answerOf(message);
	const usage = property(message, "usage");
	const tier = tierOf(property(usage, "speed"), property(usage, "service_tier"));
	const reason = property(property(message, "diagnostics"), "cache_miss_reason");
	const missReason = nameOr(property(reason, "type"), "");
	const model: ModelName = { provider: "anthropic", id: nameOr(property(message, "model"), "") };
	return {
		type: "assistant",
		blocks: answerBlocks(answer),
		model,
		billed: promptOf(usageOf(message)),
		...(rounds && { rounds: { first: promptOf(rounds.first), last: promptOf(rounds.last) } }),
		...(cleared && { cleared: countOf(cleared) }),
		sentMs,
		isKept: true,
		output: countOf(output),
		requestId: id,
		...(missReason && { missReason }),
		...(tier !== undefined && { tier }),
	} as const;
}

function promptOf({ input, read, write, writeOneHour }: PromptTokens): PromptTokens {
	return {
		input: countOf(input),
		read: countOf(read),
		write: countOf(write),
		writeOneHour: countOf(writeOneHour),
	};
}

/** What the answer says beside its sums. */
function answerOf(message: unknown): WireAnswer {
	const fold = FORMATS.anthropic.answer();
	fold.add(isRecord(message) ? { ...message, type: "message" } : message);
	return fold.end(true);
}

function usageOf(message: unknown) {
	return FORMATS.anthropic.usage(property(message, "usage"));
}
