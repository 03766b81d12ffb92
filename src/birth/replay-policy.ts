import { getOrAdd } from "../core/get-or-add.ts";
import { requestForStep, sharedStart } from "../economy/index.ts";
import {
	contentHash,
	type RequestPolicy,
	type SessionBlock,
	type Step,
} from "../economy/replay/index.ts";
import { Birth, type BirthParts } from "./birth.ts";
import type { CallResult } from "./result.ts";
import { defaultBirth } from "./settings.ts";

/** Finds the text of a result. Blocks have none, so a result without it stays as it is. */
export type ResultTextOf = (
	result: NonNullable<SessionBlock["result"]>,
) => { readonly callId: string; readonly input: unknown; readonly text: string } | undefined;

/** Decides with the code of live sessions, from the session's start. Excluded files are unknown. */
export function birthPolicies(
	textOf: ResultTextOf,
	{ dedupe, quiet } = defaultBirth,
): readonly RequestPolicy[] {
	return [
		policy("birth", "results refer to lines that earlier results show", { dedupe }, textOf),
		policy("quiet", "output of commands as a terminal shows it, folded", { quiet }, textOf),
		policy("birth-quiet", "birth and quiet together", { dedupe, quiet }, textOf),
	];
}

function policy(
	name: string,
	description: string,
	parts: BirthParts,
	textOf: ResultTextOf,
): RequestPolicy {
	return {
		name,
		description,
		*requests(session) {
			const replay = new BirthReplay(parts, textOf);
			for (const step of session.steps()) yield requestForStep(step, replay.blocksOf(step));
		},
	};
}

/** As long as a path of pi's. Agents without one save a little more. */
const STORED = `~/.pi/cache/pi-kota/blobs/${"0".repeat(64)}.txt`;

class BirthReplay {
	readonly #parts: BirthParts;
	readonly #textOf: ResultTextOf;
	#birth: Birth;
	/** The results that were decided on, in order. */
	#order: number[] = [];
	/** By result. */
	#short = new Map<number, { hash: string; share: number }>();
	/** Memo: the same object in all requests. */
	#blocks = new WeakMap<SessionBlock, SessionBlock>();
	#before: readonly SessionBlock[] = [];
	#shown: readonly SessionBlock[] = [];

	constructor(parts: BirthParts, textOf: ResultTextOf) {
		this.#parts = parts;
		this.#textOf = textOf;
		this.#birth = new Birth(parts);
	}

	/** Depends on the results in the request only, so that every reference is to a visible text. */
	blocksOf({ blocks }: Step): readonly SessionBlock[] {
		const known = sharedStart(this.#before, blocks);
		const grows = known === this.#before.length;
		if (!grows && !this.#continues(blocks)) this.#startOver();
		let seen = 0;
		const fresh = (grows ? blocks.slice(known) : blocks).map((block) => {
			const { result } = block;
			if (!result) return block;
			if (grows || seen++ >= this.#order.length) this.#decide(block, result);
			return this.#shorter(block);
		});
		this.#before = blocks;
		this.#shown = grows ? this.#shown.concat(fresh) : fresh;
		return this.#shown;
	}

	/** Whether a request has the known results first: blocks are new objects when their sizes change. */
	#continues(blocks: readonly SessionBlock[]): boolean {
		const results = blocks.filter(({ result }) => result);
		return this.#order.every((id, index) => results[index]?.id === id);
	}

	#startOver(): void {
		this.#birth = new Birth(this.#parts);
		this.#order = [];
		this.#short = new Map();
		this.#blocks = new WeakMap();
	}

	#decide({ id }: SessionBlock, result: NonNullable<SessionBlock["result"]>): void {
		this.#order.push(id);
		const found = this.#textOf(result);
		const { tool, isError, hasImage } = result;
		const whole: CallResult = {
			id: found?.callId || String(id),
			tool,
			input: found?.input,
			text: hasImage ? undefined : found?.text,
			isError,
			path: STORED,
		};
		const short = this.#birth.shorten(whole);
		this.#birth.add(whole, short?.text);
		if (!short || whole.text === undefined) return;
		const share = short.text.length / whole.text.length;
		this.#short.set(id, { hash: contentHash("result", short.text), share });
	}

	#shorter(block: SessionBlock): SessionBlock {
		const short = this.#short.get(block.id);
		if (!short) return block;
		return getOrAdd(this.#blocks, block, () => ({
			...block,
			hash: short.hash,
			tokens: Math.min(block.tokens, Math.ceil(block.tokens * short.share)),
		}));
	}
}
