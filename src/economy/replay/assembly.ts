import type { Block } from "../request.ts";
import type { Conversation } from "./conversation.ts";
import type { BlockKind, SourceBlock, ToolResult } from "./entry.ts";

/** A block of a request with what the session file says about it. */
export interface SessionBlock extends Block {
	/** The same in all requests that hold the block. */
	readonly id: number;
	readonly kind: BlockKind | "tools" | "system";
	readonly result?: ToolResult;
	/** The read cache put a marker or a diff here: it stands for text that an earlier result shows. */
	readonly isReference?: true;
}

/** Tools and system prompt, then the conversation. */
export type Assembled = (HeadBlock | SourceBlock)[];

/** Puts requests together. One per session. */
export interface Assembly {
	/** What a request holds, sizes as the file suggests them. */
	sources(conversation: Conversation): Assembled;
	/** A walk through the requests of the session in their order. Going on costs only what is new. */
	walk(): AssemblyWalk;
}

/** The blocks of the next request; `factor` makes their sizes add up to the bill. */
export type AssemblyWalk = (conversation: Conversation, factor: number) => SessionBlock[];

interface HeadBlock extends Sizable {
	readonly kind: "tools" | "system";
	readonly hash: string;
	readonly label: string;
}

/** What a walk remembers of the request before. */
interface Walked {
	readonly head: Conversation["head"];
	/** The conversation's own list, and how much of it was taken. */
	readonly blocks: readonly SourceBlock[];
	readonly taken: number;
	readonly factor: number;
	readonly all: SessionBlock[];
	readonly rounding: Rounding;
}

function scaled(block: SessionBlock, factor: number, rounding: Rounding): SessionBlock {
	return { ...block, tokens: rounding(block.tokens * factor) };
}

/** Stands for a system prompt and tools that the session does not store. */
const UNSEEN: HeadBlock = {
	id: -1,
	kind: "system",
	hash: "unseen",
	estimate: undefined,
	counted: false,
	label: "system prompt and tools (not in the file)",
};

/** `sizeOf` knows the tokens of a block by its id. */
export function createAssembly(sizeOf: (id: number) => number): Assembly {
	/** Ids of the head's blocks: negative, so that they meet none of the file's. */
	const headIds = new Map<string, number>();
	/** Blocks that nothing sets apart are made once and used in every request. */
	const made = new Map<number, SessionBlock>();

	return { sources, walk };

	function sources(conversation: Conversation): Assembled {
		return [...headBlocks(conversation), ...conversation.blocks];
	}

	function walk(): AssemblyWalk {
		let before: Walked | undefined;
		return (conversation, factor) => {
			const { head, blocks } = conversation;
			// The list of a conversation that only grows is the same one.
			const grows = before?.blocks === blocks && before.head === head && before.factor === factor;
			const added = before && grows ? blocks.slice(before.taken) : sources(conversation);
			const fresh = (added as Assembled).map((source) => made.get(source.id) ?? make(source));
			const rounding = before && grows ? before.rounding : createRounding();
			const sized = factor === 1 ? fresh : fresh.map((block) => scaled(block, factor, rounding));
			const all = before && grows ? before.all.concat(sized) : sized;
			before = { head, blocks, factor, taken: blocks.length, all, rounding };
			return all;
		};
	}

	function headBlocks({ head }: Conversation): HeadBlock[] {
		if (!head) return [UNSEEN];
		return (["tools", "system"] as const).map((kind) => {
			const { hash, tokens } = head[kind];
			const key = `${kind}${hash}`;
			const id = headIds.get(key) ?? -2 - headIds.size;
			headIds.set(key, id);
			const label = kind === "tools" ? "tools" : "system prompt";
			return { id, kind, hash, estimate: tokens, counted: false, label };
		});
	}

	function make(source: HeadBlock | SourceBlock): SessionBlock {
		const { id, kind, hash, label } = source;
		const block: SessionBlock = {
			id,
			kind,
			hash,
			label,
			part: kind === "tools" || kind === "system" ? kind : "messages",
			tokens: sizeOf(id),
			...("result" in source && source.result && { result: source.result }),
		};
		made.set(id, block);
		return block;
	}
}

/** A block whose size is to be found. */
export interface Sizable {
	readonly id: number;
	/** Tokens by rule of thumb; `undefined` for what the session file does not show at all. */
	readonly estimate: number | undefined;
	/** The provider counted `estimate`. */
	readonly counted: boolean;
}

/**
 * Finds the tokens of blocks from what requests were billed. A session file has texts and, for every request, the size
 * of the whole prompt: the difference between two prompts is the size of the blocks that came in between, shared out by
 * their estimates. A block keeps the size it was given first.
 */
export interface Calibration {
	/**
	 * Takes the next request. Returns a factor by which all sizes are to be multiplied in this request so that they add
	 * up to the prompt: 1, unless the prompt shrank or grew for reasons that the file does not show. `grows`: the blocks
	 * are only those that the request has behind the ones of the request before.
	 */
	learn(blocks: readonly Sizable[], promptTokens: number, grows?: boolean): number;
	/** The size of a block that was in a request; without the factor. */
	sizeOf(id: number): number;
}

/** New blocks that would get less than this share of their estimates show that something else shrank. */
const LEAST_SHARE = 0.25;

/** Begins without a size. One per session, fed with its requests in their order. */
export function createCalibration(): Calibration {
	const sizes = new Map<number, number>();
	let factor = 1;
	/** Of the request before. */
	let total = 0;

	return { learn, sizeOf: (id) => sizes.get(id) ?? 0 };

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

/** Whole numbers that add up to `room`: first what was counted, then what can be estimated, the rest to the unseen. */
function shareOut(blocks: readonly Sizable[], room: number): number[] {
	const isUnseen = ({ estimate }: Sizable) => estimate === undefined;
	const isSure = ({ counted, estimate }: Sizable) => counted && estimate !== undefined;
	const isRough = (block: Sizable) => !isUnseen(block) && !isSure(block);
	const total = (select: (block: Sizable) => boolean) =>
		blocks.filter(select).reduce((sum, { estimate }) => sum + (estimate ?? 1), 0);
	const [sure, rough, unseen] = [total(isSure), total(isRough), total(isUnseen)];

	// Whoever can vary takes up the difference: the unseen if there is any, else the rough, else all.
	const scale = (share: number, of: number) => (of > 0 ? share / of : 0);
	const weights: ((block: Sizable) => number) | undefined =
		unseen > 0 && room - sure - rough >= unseen
			? (block) => (isUnseen(block) ? scale(room - sure - rough, unseen) : 1)
			: rough > 0 && room - sure >= rough * LEAST_SHARE
				? (block) => (isRough(block) ? scale(room - sure - unseen, rough) : 1)
				: undefined;
	const estimated = sure + rough + unseen;
	// An empty system prompt without tools is estimated at nothing, and billed all the same.
	if (estimated === 0) return roundedTogether(blocks.map(() => room / blocks.length));
	const even = room / estimated;
	return roundedTogether(
		blocks.map((block) => (block.estimate ?? 1) * (weights ? weights(block) : even)),
	);
}

/** Rounds so that the sum stays what it was. */
function roundedTogether(values: readonly number[]): number[] {
	return values.map(createRounding());
}

/** Rounds numbers one after the other so that their sum stays what it was. */
export type Rounding = (value: number) => number;

export function createRounding(): Rounding {
	let exact = 0;
	let given = 0;
	return (value) => {
		exact += value;
		const share = Math.round(exact) - given;
		given += share;
		return share;
	};
}
