import { createPrefixTree, type Prefix } from "./prefix-tree.ts";
import type { Block, Part, Request, Setting } from "./request.ts";
import type { CacheRules } from "./rules.ts";

export interface Prompt {
	readonly prefixes: readonly Prefix[];
	/** Cumulative. */
	readonly tokensTo: readonly number[];
}

export interface PromptReader {
	/** Valid until the next call. Throws a RangeError for invalid blocks. */
	read(request: Request, nowMs: number): Prompt;
}

/** Incremental: a request starts like its predecessor, so only new blocks cost time. */
export function createPromptReader(rules: Pick<CacheRules, "invalidates">): PromptReader {
	const tree = createPrefixTree();
	const blocks: Block[] = [];
	const prefixes: Prefix[] = [];
	const tokensTo: number[] = [];
	let partKeys: readonly string[] = [];

	function cutBack(length: number): void {
		blocks.length = length;
		prefixes.length = length;
		tokensTo.length = length;
	}

	return {
		read(request, nowMs) {
			const keys = partKeysOf(request.settings, rules);
			const isOtherPath = tree.sweep(nowMs) || keys.some((key, part) => key !== partKeys[part]);
			partKeys = keys;
			cutBack(isOtherPath ? 0 : sharedBlocks(blocks, request.blocks));

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
		},
	};
}

export function tokensOfFirst(count: number, { tokensTo }: Prompt): number {
	return tokensTo[count - 1] ?? 0;
}

const PARTS: readonly Part[] = ["tools", "system", "messages"];

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
