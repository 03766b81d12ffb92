import type { Block } from "../request.ts";
import { createRounding, type Rounding, type Sizable } from "./calibrate.ts";
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
