import { getOrAdd } from "../core/get-or-add.ts";
import { property } from "../core/property.ts";
import { type Block, sharedStart } from "../economy/index.ts";
import { ANSWERS, contentHash, type SessionBlock, type Step } from "../economy/replay/index.ts";
import { Birth, type BirthParts } from "./birth.ts";
import { type CallResult, nameOf } from "./result.ts";

/** Finds the text of a result. Blocks have none, so a result without it stays as it is. */
export type ResultTextOf = (
	result: NonNullable<SessionBlock["result"]>,
) => { readonly callId: string; readonly input: unknown; readonly text: string } | undefined;

/** What a live session decides with. */
export interface ReplayedBirth {
	readonly parts: BirthParts;
	/** Whether the output of the call stays as it is. */
	isLoud(input: unknown): boolean;
}

/** As long as a path of pi's. Agents without one save a little more. */
const STORED = `~/.pi/cache/pi-kota/blobs/${"0".repeat(64)}.txt`;

/** The path of a stored text, also with lines. The model wants such a text in full. */
const STORED_PATH = /[\\/]blobs[\\/][0-9a-f]{64}\.txt(:\d+(-\d+)?)?$/;

/** A result, and what a live session knows of it. */
interface Known {
	readonly id: number;
	readonly call: CallResult;
	readonly name: string;
	/** How many answers precede it. */
	readonly round: number;
}

interface Short {
	readonly hash: string;
	/** Characters that are shown, and those of the whole text. */
	readonly shown: number;
	readonly whole: number;
	readonly refersTo: readonly number[];
}

/** Shortens the results of one session as a live session would. */
export class BirthReplay {
	readonly #replayed: ReplayedBirth;
	readonly #textOf: ResultTextOf;
	#birth: Birth;
	/** The results that were decided on, in order. */
	#order: number[] = [];
	/** By result. */
	#short = new Map<number, Short>();
	/** By the id of the call; `undefined` if several results have it. */
	#byCall = new Map<string, Known | undefined>();
	#round = 0;
	/** Tokens of the request up to here, and the shortest prompt that is cached. */
	#tokens = 0;
	#minimum = 0;
	/** Results that no other may refer to any more, such as those that were sent as something else. */
	readonly #closed = new Set<number>();
	/** Memo: the same object in all requests. */
	#blocks = new WeakMap<SessionBlock, SessionBlock>();
	#before: readonly SessionBlock[] = [];
	#shown: readonly SessionBlock[] = [];
	#sent: readonly Block[] = [];

	constructor(replayed: ReplayedBirth, textOf: ResultTextOf) {
		this.#replayed = replayed;
		this.#textOf = textOf;
		this.#birth = new Birth(replayed.parts);
	}

	/** Depends on the results in the request only, so that every reference is to a visible text. */
	blocksOf({ blocks, model }: Pick<Step, "blocks" | "model">): readonly SessionBlock[] {
		this.#minimum = model.rules.minimumTokens;
		const known = sharedStart(this.#before, blocks);
		const grows = known === this.#before.length;
		if (!grows && !this.#continues(blocks)) this.#startOver();
		const fresh = grows ? blocks.slice(known) : blocks;
		if (!grows) this.#tokens = 0;
		this.#decideAll(fresh, grows ? 0 : this.#order.length);
		const short = fresh.map((block) => this.#shorter(block));
		this.#before = blocks;
		this.#shown = grows ? this.#shown.concat(short) : short;
		return this.#shown;
	}

	/** `sent`: the blocks of the request that was made from the last `blocksOf`, in the same places. */
	follow(sent: readonly Block[]): void {
		for (let at = sharedStart(this.#sent, sent); at < sent.length; at++) {
			const block = this.#shown[at];
			if (block?.result && block !== sent[at]) this.#closed.add(block.id);
		}
		this.#sent = sent;
	}

	/** No later result refers to one that was decided on so far. */
	seal(): void {
		for (const id of this.#order) this.#closed.add(id);
	}

	/** Whether a request has the known results first: blocks are new objects when their sizes change. */
	#continues(blocks: readonly SessionBlock[]): boolean {
		const results = blocks.filter(({ result }) => result);
		return this.#order.every((id, index) => results[index]?.id === id);
	}

	#startOver(): void {
		this.#birth = new Birth(this.#replayed.parts);
		this.#order = [];
		this.#short = new Map();
		this.#byCall = new Map();
		this.#blocks = new WeakMap();
	}

	/** Decides on all results but the first `decided`, those of one answer together. */
	#decideAll(blocks: readonly SessionBlock[], decided: number): void {
		let seen = 0;
		let ofAnswer: SessionBlock[] = [];
		const close = () => {
			this.#decide(ofAnswer.map((block) => this.#knownOf(block)));
			for (const block of ofAnswer) this.#tokens += this.#shorter(block).tokens;
			ofAnswer = [];
		};
		for (const block of blocks) {
			if (block.result && seen++ >= decided) {
				ofAnswer.push(block);
				continue;
			}
			if (ANSWERS.has(block.kind) && seen >= decided) {
				close();
				this.#round++;
			}
			this.#tokens += this.#shorter(block).tokens;
		}
		close();
	}

	#knownOf(block: SessionBlock): Known {
		const result = block.result as NonNullable<SessionBlock["result"]>;
		// A marker or diff of the read cache shows other lines than the file has.
		const found = block.isReference ? undefined : this.#textOf(result);
		const { tool, isError, hasImage } = result;
		const call: CallResult = {
			id: found?.callId || String(block.id),
			tool,
			input: found?.input,
			text: hasImage ? undefined : found?.text,
			isError,
			isLoud: this.#replayed.isLoud(found?.input),
			path: STORED,
		};
		return { id: block.id, call, name: nameOf(call), round: this.#round };
	}

	#decide(results: readonly Known[]): void {
		for (const result of results) {
			const others = results.filter((other) => other !== result).map(({ name }) => name);
			const short = this.#shorten(result, new Set(others));
			const { id, call } = result;
			this.#birth.add(call, short?.text);
			this.#order.push(id);
			this.#byCall.set(call.id, this.#byCall.has(call.id) ? undefined : result);
			if (!short || call.text === undefined) continue;
			const bases = new Set(
				short.references.flatMap(({ base }) => this.#byCall.get(base)?.id ?? []),
			);
			const refersTo = [...bases];
			const lengths = { shown: short.text.length, whole: call.text.length };
			this.#short.set(id, { hash: contentHash("result", short.text), ...lengths, refersTo });
		}
	}

	/** A result whose base has the name of another call of the answer stays: the name would mean that one. */
	#shorten({ call, round }: Known, others: ReadonlySet<string>) {
		// A shorter result could keep the prompt below the shortest one that is cached.
		if (this.#tokens < this.#minimum || isStoredText(call)) return undefined;
		const short = this.#birth.shorten(call, (base) => this.#isBase(base, round));
		const names = short?.references.map(({ base }) => this.#byCall.get(base)?.name ?? "");
		return names?.some((name) => others.has(name)) ? undefined : short;
	}

	/** Only what an earlier request held is in view. Results of one answer are sent together. */
	#isBase(call: string, round: number): boolean {
		const base = this.#byCall.get(call);
		return base !== undefined && base.round < round && !this.#closed.has(base.id);
	}

	#shorter(block: SessionBlock): SessionBlock {
		const short = this.#short.get(block.id);
		if (!short) return block;
		return getOrAdd(this.#blocks, block, () => ({
			...block,
			hash: short.hash,
			...(short.refersTo.length > 0 && { refersTo: short.refersTo }),
			tokens: Math.min(block.tokens, Math.ceil((block.tokens * short.shown) / short.whole)),
		}));
	}
}

function isStoredText({ tool, input }: CallResult): boolean {
	const path = property(input, "path") ?? property(input, "file_path");
	return tool.toLowerCase() === "read" && typeof path === "string" && STORED_PATH.test(path);
}
