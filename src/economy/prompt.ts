import type { Ttl } from "../core/bill.ts";
import { type Block, type ModelRequest, PARTS, type Part, type Setting } from "./model-request.ts";
import type { CacheRules } from "./rules.ts";

/** The prefixes of one request. Valid until the next prompt is built. */
export interface Prompt {
	readonly prefixes: readonly Prefix[];
	/** For each block, the number of tokens from the start of the prompt to the block's end. */
	readonly tokensTo: readonly number[];
}

/** Maps each request to its prefixes. Incremental: only new blocks cost time. */
export class PromptBuilder {
	readonly #rules: Pick<CacheRules, "invalidates">;
	readonly #tree = new PrefixTree();
	readonly #blocks: Block[] = [];
	readonly #prefixes: Prefix[] = [];
	readonly #tokensTo: number[] = [];
	#partKeys: readonly string[] = [];

	constructor(rules: Pick<CacheRules, "invalidates">) {
		this.#rules = rules;
	}

	build(request: ModelRequest, nowMs: number): Prompt {
		const tree = this.#tree;
		const blocks = this.#blocks;
		const prefixes = this.#prefixes;
		const tokensTo = this.#tokensTo;
		const keys = partKeysOf(request.settings, this.#rules);
		const isOtherPath = tree.sweep(nowMs) || keys.some((key, part) => key !== this.#partKeys[part]);
		this.#partKeys = keys;
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
	}
}

export function tokensOfFirst(count: number, { tokensTo }: Prompt): number {
	return tokensTo[count - 1] ?? 0;
}

function partKeysOf(
	settings: ModelRequest["settings"],
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
		const one = some[index] as Block;
		const other = others[index] as Block;
		if (one === other) continue;
		if (one.hash !== other.hash || one.tokens !== other.tokens || one.part !== other.part)
			return index;
	}
	return most;
}

function checkBlock({ part, tokens }: Block, index: number, before: Part | undefined): void {
	if (part !== before && PARTS.indexOf(part) <= PARTS.indexOf(before as Part)) {
		throw new RangeError(`blocks[${index}]: ${part} must come before ${before}`);
	}
	if (!(tokens >= 0 && tokens < Number.POSITIVE_INFINITY)) {
		throw new RangeError(`blocks[${index}]: expected a number of tokens, got ${tokens}`);
	}
}

/** The start of a prompt. Equal prefixes are the same object. */
export interface Prefix {
	readonly parent: Prefix | undefined;
	readonly key: string;
	entry: Entry | undefined;
	/** The continuation used last, which is likely to be used next. The only one until `all` is set. */
	recent: Prefix | undefined;
	/** All continuations. Created with the second one, since most prefixes never need a map. */
	all: Map<string, Prefix> | undefined;
	/** The last sweep that found a live entry here or below. */
	keptBySweep: number;
}

interface Entry {
	/** The first instant at which the entry is expired. */
	readonly expiresMs: number;
	readonly ttl: Ttl;
}

export class PrefixTree {
	readonly root = newPrefix(undefined, "");
	#prefixes: Prefix[] = [];
	#sweeps = 0;
	#sweepAt = MIN_SWEPT;

	follow(prefix: Prefix, key: string): Prefix {
		if (prefix.recent?.key === key) return prefix.recent;
		let next = prefix.all?.get(key);
		if (!next) {
			next = newPrefix(prefix, key);
			this.#prefixes.push(next);
			if (prefix.recent) prefix.all ??= new Map([[prefix.recent.key, prefix.recent]]);
			prefix.all?.set(key, next);
		}
		prefix.recent = next;
		return next;
	}

	/** Evicts prefixes without a live entry. If it returns true, prefixes returned earlier may be detached. */
	sweep(nowMs: number): boolean {
		if (this.#prefixes.length < this.#sweepAt) return false;
		const sweep = ++this.#sweeps;
		this.root.keptBySweep = sweep;
		for (const prefix of this.#prefixes) {
			if (!liveEntry(prefix, nowMs)) continue;
			for (let at = prefix; at.keptBySweep !== sweep; at = at.parent as Prefix) {
				at.keptBySweep = sweep;
			}
		}
		const isKept = (prefix: Prefix) => prefix.keptBySweep === sweep;
		for (const prefix of this.#prefixes) {
			// Detaching a prefix also detaches its descendants.
			if (!isKept(prefix) && isKept(prefix.parent as Prefix)) detach(prefix);
		}
		this.#prefixes = this.#prefixes.filter(isKept);
		this.#sweepAt = Math.max(MIN_SWEPT, 2 * this.#prefixes.length);
		return true;
	}
}

export function liveEntry({ entry }: Prefix, nowMs: number): Entry | undefined {
	return entry && nowMs < entry.expiresMs ? entry : undefined;
}

/** Minimum number of prefixes for a sweep. Fewer are not worth one. */
const MIN_SWEPT = 10_000;

function newPrefix(parent: Prefix | undefined, key: string): Prefix {
	return { parent, key, entry: undefined, recent: undefined, all: undefined, keptBySweep: 0 };
}

function detach(prefix: Prefix): void {
	const parent = prefix.parent as Prefix;
	parent.all?.delete(prefix.key);
	if (parent.recent === prefix) parent.recent = undefined;
}
