import type { Ttl } from "../core/bill.ts";
import { type Block, PARTS, type Part, type Request, type Setting } from "./request.ts";
import type { CacheRules } from "./rules.ts";

export interface Prompt {
	readonly prefixes: readonly Prefix[];
	/** Cumulative. */
	readonly tokensTo: readonly number[];
}

/**
 * Reads a request at a time; a prompt is valid until the next one. Throws a RangeError for invalid
 * blocks. Incremental: a request starts like its predecessor, so only new blocks cost time.
 */
export function createPromptReader(rules: Pick<CacheRules, "invalidates">) {
	const tree = createPrefixTree();
	const blocks: Block[] = [];
	const prefixes: Prefix[] = [];
	const tokensTo: number[] = [];
	let partKeys: readonly string[] = [];

	return (request: Request, nowMs: number): Prompt => {
		const keys = partKeysOf(request.settings, rules);
		const isOtherPath = tree.sweep(nowMs) || keys.some((key, part) => key !== partKeys[part]);
		partKeys = keys;
		const shared = isOtherPath ? 0 : sharedBlocks(blocks, request.blocks);
		for (const list of [blocks, prefixes, tokensTo]) list.length = shared;

		let prefix = prefixes.at(-1) ?? tree.root;
		let tokens = tokensTo.at(-1) ?? 0;
		let entered = PARTS.indexOf(blocks.at(-1)?.part as Part) + 1;
		for (let index = blocks.length; index < request.blocks.length; index++) {
			const block = request.blocks[index] as Block;
			checkBlock(block, index, PARTS[entered - 1]);
			// A part starts with its settings, so that a changed setting ends the shared prefix.
			while (PARTS[entered - 1] !== block.part) {
				prefix = tree.follow(prefix, keys[entered++] as string);
			}
			prefix = tree.follow(prefix, block.hash);
			tokens += block.tokens;
			blocks.push(block);
			prefixes.push(prefix);
			tokensTo.push(tokens);
		}
		return { prefixes, tokensTo };
	};
}

export function tokensOfFirst(count: number, { tokensTo }: Prompt): number {
	return tokensTo[count - 1] ?? 0;
}

function partKeysOf(
	settings: Request["settings"],
	{ invalidates }: Pick<CacheRules, "invalidates">,
): readonly string[] {
	if (!settings) return PARTS;
	const names = Object.keys(invalidates) as Setting[];
	return PARTS.map((part) => {
		const own = names.filter((name) => invalidates[name] === part);
		return JSON.stringify([part, ...own.map((name) => settings[name] ?? "")]);
	});
}

function sharedBlocks(some: readonly Block[], others: readonly Block[]): number {
	const most = Math.min(some.length, others.length);
	for (let index = 0; index < most; index++) {
		if (!isSame(some[index] as Block, others[index] as Block)) return index;
	}
	return most;
}

function isSame(one: Block, other: Block): boolean {
	if (one === other) return true;
	return one.hash === other.hash && one.tokens === other.tokens && one.part === other.part;
}

function checkBlock({ part, tokens }: Block, index: number, before: Part | undefined): void {
	if (part !== before && PARTS.indexOf(part) <= PARTS.indexOf(before as Part)) {
		throw new RangeError(`blocks[${index}]: ${part} must come before ${before}`);
	}
	if (!(tokens >= 0 && tokens < Number.POSITIVE_INFINITY)) {
		throw new RangeError(`blocks[${index}]: expected a number of tokens, got ${tokens}`);
	}
}

/** The start of a prompt. Equal prefixes are one object. */
export interface Prefix {
	readonly parent: Prefix | undefined;
	readonly key: string;
	entry: Entry | undefined;
	/** The continuation used last: sessions repeat themselves. The only one until `all` is set. */
	recent: Prefix | undefined;
	/** Created for the second continuation: most prefixes never need a map. */
	all: Map<string, Prefix> | undefined;
	/** The last sweep that found a live entry here or below. */
	keptBySweep: number;
}

interface Entry {
	/** Exclusive. */
	readonly expiresMs: number;
	readonly ttl: Ttl;
}

export function createPrefixTree() {
	const root = newPrefix(undefined, "");
	let prefixes: Prefix[] = [];
	let sweeps = 0;
	let sweepAt = FEW;

	return {
		root,

		follow(prefix: Prefix, key: string): Prefix {
			if (prefix.recent?.key === key) return prefix.recent;
			let next = prefix.all?.get(key);
			if (!next) {
				next = newPrefix(prefix, key);
				prefixes.push(next);
				if (prefix.recent) prefix.all ??= new Map([[prefix.recent.key, prefix.recent]]);
				prefix.all?.set(key, next);
			}
			prefix.recent = next;
			return next;
		},

		/** Evicts prefixes without a live entry. If true, prefixes returned earlier may be detached. */
		sweep(nowMs: number): boolean {
			if (prefixes.length < sweepAt) return false;
			const sweep = ++sweeps;
			root.keptBySweep = sweep;
			for (const prefix of prefixes) {
				if (!livingEntry(prefix, nowMs)) continue;
				for (let at = prefix; at.keptBySweep !== sweep; at = at.parent as Prefix) {
					at.keptBySweep = sweep;
				}
			}
			const isKept = (prefix: Prefix) => prefix.keptBySweep === sweep;
			for (const prefix of prefixes) {
				// A detached prefix takes its descendants with it.
				if (!isKept(prefix) && isKept(prefix.parent as Prefix)) detach(prefix);
			}
			prefixes = prefixes.filter(isKept);
			sweepAt = Math.max(FEW, 2 * prefixes.length);
			return true;
		},
	};
}

export function livingEntry({ entry }: Prefix, nowMs: number): Entry | undefined {
	return entry && nowMs < entry.expiresMs ? entry : undefined;
}

/** Fewer prefixes are not worth a sweep. */
const FEW = 10_000;

function newPrefix(parent: Prefix | undefined, key: string): Prefix {
	return { parent, key, entry: undefined, recent: undefined, all: undefined, keptBySweep: 0 };
}

function detach(prefix: Prefix): void {
	const parent = prefix.parent as Prefix;
	parent.all?.delete(prefix.key);
	if (parent.recent === prefix) parent.recent = undefined;
}
