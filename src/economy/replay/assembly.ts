import type { Block } from "../model-request.ts";
import type { Conversation } from "./conversation.ts";
import type { BlockKind, SourceBlock, ToolResult } from "./entry.ts";

export interface SessionBlock extends Block {
	/** The same in all requests that hold the block. */
	readonly id: number;
	readonly kind: BlockKind | "tools" | "system";
	readonly result?: ToolResult;
	/** Set for a marker or diff of the read cache, which refers to text in an earlier result. */
	readonly isReference?: true;
	/** Ids of the results whose lines this one refers to; see `src/birth`. They must stay as they were sent. */
	readonly refersTo?: readonly number[];
}

interface HeadBlock extends Sizable {
	readonly kind: "tools" | "system";
	readonly hash: string;
	readonly label: string;
}

/** Placeholder for a system prompt and tools that the session file does not store. */
const UNSEEN: HeadBlock = {
	id: -1,
	kind: "system",
	hash: "unseen",
	estimate: undefined,
	counted: false,
	label: "system prompt and tools (not in the file)",
};

/** The start of an unseen head that the first request already read: other sessions cached it. */
const SHARED: HeadBlock = { ...UNSEEN, id: -2, hash: "shared" };

/** Turns conversations into the blocks of requests. Create one per session. */
export class RequestAssembly {
	readonly #sizeOf: (id: number) => number;
	/** Ids of head blocks: negative, so that they never collide with the file's ids. */
	readonly #headIds = new Map<string, number>();
	/** Memo by id: blocks with unscaled sizes, shared by all requests. */
	readonly #blocks = new Map<number, SessionBlock>();
	/** Tokens of the unseen head that were cached before the session. Set before the first request. */
	sharedTokens = 0;

	constructor(sizeOf: (id: number) => number) {
		this.#sizeOf = sizeOf;
	}

	/** Returns head and conversation, or only the new blocks if it continues the previous conversation. */
	sources({ head, blocks, continues }: Conversation): (HeadBlock | SourceBlock)[] {
		return continues === undefined
			? [...this.#headBlocks(head), ...blocks]
			: blocks.slice(continues);
	}

	/** Returns a function to call with each request in order. `factor` scales the sizes to the bill. */
	walk() {
		let before: number | undefined;
		let all: SessionBlock[] = [];
		let rounding = createRounding();
		return (conversation: Conversation, factor: number): SessionBlock[] => {
			const continues = before === factor ? conversation.continues : undefined;
			before = factor;
			if (continues === undefined) [all, rounding] = [[], createRounding()];
			const fresh = this.sources({ ...conversation, continues }).map((source) => {
				const block = this.#blocks.get(source.id) ?? this.#addBlock(source);
				return factor === 1 ? block : { ...block, tokens: rounding(block.tokens * factor) };
			});
			all = all.concat(fresh);
			return all;
		};
	}

	#headBlocks(head: Conversation["head"]): HeadBlock[] {
		if (!head && this.sharedTokens === 0) return [UNSEEN];
		if (!head) return [{ ...SHARED, estimate: this.sharedTokens, counted: true }, UNSEEN];
		return (["tools", "system"] as const).map((kind) => {
			const { hash, tokens } = head[kind];
			const key = `${kind}${hash}`;
			const id = this.#headIds.get(key) ?? -3 - this.#headIds.size;
			this.#headIds.set(key, id);
			const label = kind === "tools" ? "tools" : "system prompt";
			return { id, kind, hash, estimate: tokens, counted: false, label };
		});
	}

	#addBlock(source: HeadBlock | SourceBlock): SessionBlock {
		const { id, kind, hash, label } = source;
		const block: SessionBlock = {
			id,
			kind,
			hash,
			label,
			part: kind === "tools" || kind === "system" ? kind : "messages",
			tokens: this.#sizeOf(id),
			...("run" in source && source.run && { run: source.run }),
			...("result" in source && source.result && { result: source.result }),
		};
		this.#blocks.set(id, block);
		return block;
	}
}

interface Sizable {
	readonly id: number;
	/** Estimated tokens; `undefined` if the session file does not contain the block. */
	readonly estimate: number | undefined;
	readonly counted: boolean;
}

/** If new blocks would get less than this share of their estimates, something else shrank. */
const LEAST_SHARE = 0.25;

/**
 * Derives block sizes from bills. The difference between two prompts is the size of the blocks
 * added in between, distributed in proportion to their estimates. A block keeps its first size.
 */
export function createCalibration() {
	const sizes = new Map<number, number>();
	let factor = 1;
	let total = 0;

	return {
		learn,
		/** The size before scaling by the factor. */
		sizeOf: (id: number) => sizes.get(id) ?? 0,
	};

	/**
	 * Returns a factor that scales all sizes to the prompt: 1, unless the prompt changed for reasons
	 * that the file does not show. If `grows`, `blocks` has only the new blocks.
	 */
	function learn(blocks: readonly Sizable[], promptTokens: number, grows = false): number {
		const fresh = blocks.filter(({ id }) => !sizes.has(id));
		let known = grows ? total : 0;
		for (const { id } of blocks) known += sizes.get(id) ?? 0;
		const room = Math.round(promptTokens / factor - known);
		const expected = fresh.reduce((sum, { estimate }) => sum + (estimate ?? 0), 0);
		const fits = fresh.length > 0 && room >= Math.max(fresh.length, expected * LEAST_SHARE);
		const shares = fits ? shareOut(fresh, room) : fresh.map(({ estimate }) => estimate ?? 1);
		fresh.forEach(({ id }, index) => void sizes.set(id, shares[index] as number));
		total = known + shares.reduce((sum, share) => sum + share, 0);
		if (Math.round(total * factor) !== promptTokens) factor = promptTokens / total;
		return factor;
	}
}

/** Returns integers that add up to `room`. Counted blocks are most certain, then estimated, then unseen. */
function shareOut(blocks: readonly Sizable[], room: number): number[] {
	const isUnseen = ({ estimate }: Sizable) => estimate === undefined;
	const isSure = ({ counted, estimate }: Sizable) => counted && estimate !== undefined;
	const isRough = (block: Sizable) => !isUnseen(block) && !isSure(block);
	const total = (select: (block: Sizable) => boolean) =>
		blocks.filter(select).reduce((sum, { estimate }) => sum + (estimate ?? 1), 0);
	const [sure, rough, unseen] = [total(isSure), total(isRough), total(isUnseen)];

	// The least certain blocks absorb the difference: the unseen, else the rough, else all.
	const scale = (share: number, of: number) => (of > 0 ? share / of : 0);
	const weights: ((block: Sizable) => number) | undefined =
		unseen > 0 && room - sure - rough >= unseen
			? (block) => (isUnseen(block) ? scale(room - sure - rough, unseen) : 1)
			: rough > 0 && room - sure >= rough * LEAST_SHARE
				? (block) => (isRough(block) ? scale(room - sure - unseen, rough) : 1)
				: undefined;
	const estimated = sure + rough + unseen;
	// An empty system prompt without tools is estimated at 0, but is billed.
	if (estimated === 0) return blocks.map(() => room / blocks.length).map(createRounding());
	const even = room / estimated;
	return blocks
		.map((block) => (block.estimate ?? 1) * (weights ? weights(block) : even))
		.map(createRounding());
}

/** Rounds a series so that its sum is preserved. */
function createRounding(): (value: number) => number {
	let exact = 0;
	let given = 0;
	return (value) => {
		exact += value;
		const share = Math.round(exact) - given;
		given += share;
		return share;
	};
}
