import { getOrAdd } from "../../core/get-or-add.ts";
import { sharedStart } from "../model-request.ts";
import type { SessionBlock } from "./assembly.ts";
import type { FileRead } from "./entry.ts";
import { countNewLines } from "./line-hashes.ts";

/** Tokens of a marker such as "[readcache: unchanged, 120 lines]". */
const MARKER_TOKENS = 15;

/** Diff lines per changed line: the line, the one it replaces, and some context lines. */
const DIFF_LINES = 4;

/** Maximum size of a diff, as a share of the text. A larger diff is not worth reading. */
const LARGEST_DIFF = 0.5;

/**
 * Replaces `read` results that repeat visible text: with a marker if nothing is new, with a diff if little is
 * new. A replaced result stays replaced, as in a session with the read cache from the start. `isVisible` says
 * whether the model still sees a result of earlier requests.
 */
export function createReadReplacer(isVisible: (result: SessionBlock) => boolean = () => true) {
	/** Memos: by result id, and by block. */
	const served = new Map<number, Served>();
	const shortened = new WeakMap<SessionBlock, SessionBlock>();
	let before: readonly SessionBlock[] = [];
	let replaced: SessionBlock[] = [];
	/** In the previous request: the ids of all reads, and the last read of each part of a file. */
	let present = new Set<number>();
	let latest = new Map<string, Served>();

	return (blocks: readonly SessionBlock[]): SessionBlock[] => {
		const known = sharedStart(before, blocks);
		const grows = known === before.length;
		if (!grows) {
			present = new Set();
			latest = new Map();
		}
		const fresh = (grows ? blocks.slice(known) : blocks).map(next);
		replaced = grows ? replaced.concat(fresh) : fresh;
		before = blocks;
		return replaced;
	};

	function next(block: SessionBlock): SessionBlock {
		const read = block.result?.read;
		if (!read) return block;
		present.add(block.id);
		const known = getOrAdd(served, block.id, () => serve(block, read));
		latest.set(key(read.path, read.window), known);
		if (read.isWhole) latest.set(key(read.path, "whole"), known);
		const short = known.replaced;
		return short ? getOrAdd(shortened, block, () => ({ ...block, ...short })) : block;
	}

	function serve(block: SessionBlock, read: FileRead): Served {
		const base = latest.get(key(read.path, read.window)) ?? latest.get(key(read.path, "whole"));
		const inFull: Served = { block, root: block };
		if (!base || !present.has(base.root.id) || !isVisible(base.root)) return inFull;
		const tokens = sizeAgainst(base.block, block);
		if (tokens === undefined || tokens >= block.tokens * LARGEST_DIFF) return inFull;
		const hash = `${block.hash}~read`;
		return { block, root: base.root, replaced: { tokens, hash, isReference: true } };
	}
}

interface Served {
	readonly block: SessionBlock;
	/** The result with the full text that later results refer to. */
	readonly root: SessionBlock;
	readonly replaced?: Pick<SessionBlock, "tokens" | "hash" | "isReference">;
}

/** Tokens of a marker or diff against `base`; `undefined` if unknown. */
function sizeAgainst(base: SessionBlock, block: SessionBlock): number | undefined {
	if (base.hash === block.hash) return MARKER_TOKENS;
	const [before, after] = [base.result?.read?.lines, block.result?.read?.lines];
	if (!before || !after) return undefined;
	const fresh = countNewLines(after, before);
	const perLine = block.tokens / after.length;
	return MARKER_TOKENS + Math.ceil(fresh * DIFF_LINES * perLine);
}

function key(path: string, window: string): string {
	return `${window}\0${path}`;
}
