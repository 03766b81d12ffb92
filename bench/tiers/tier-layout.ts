/** The cache management specification to the letter, as requests of a generated session. */

import type { Block } from "../../src/economy/index.ts";
import type { Breakpoint } from "../../src/economy/model-request.ts";
import { symbolKey, TierController } from "../../src/tiers/index.ts";
import { CACHED_TIERS } from "../../src/tiers/item.ts";
import { type Layout, messageBlock, SYMBOL_TOKENS, SYSTEM_TOKENS } from "./plain-layouts.ts";
import { MAP_FILES, pathOf } from "./workload.ts";

const SYMBOLS = Array.from({ length: MAP_FILES }, (_, at) => {
	const key = symbolKey(pathOf(at));
	return { key, hash: key, tokens: SYMBOL_TOKENS };
});

/**
 * Files, symbols and history by tier, a block and a breakpoint for each tier. The map is seeded from references. The
 * assistant's answers between the blocks and the file tree are left out: both would only add.
 */
export function tiers(cacheMinTokens: number): Layout {
	return function* (session) {
		const controller = new TierController({ cacheMinTokens });
		const history: { key: string; hash: string; tokens: number }[] = [];
		const messages = new Map<string, Block>();
		let isFirst = true;
		for (const { atMs, files, modified, added } of session) {
			if (isFirst)
				controller.seed({ refs: byReferences(), exclude: files.map(({ path }) => path) });
			isFirst = false;
			const [prompt, ...before] = added.toReversed();
			const items = files.map(({ path, hash, tokens }) => ({ key: path, hash, tokens }));
			for (const message of before.reverse()) add(message);
			controller.next({ files: items, symbols: SYMBOLS, history, modified });

			const placed = [...controller.items()].filter(([, { tokens }]) => tokens > 0);
			const blocks: Block[] = [];
			const breakpoints: Breakpoint[] = [];
			for (const tier of CACHED_TIERS) {
				const held = placed.filter(([, item]) => item.tier === tier);
				// One block with one hash, whatever the order, so that no order is a disadvantage.
				const block = {
					part: tier === "L0" ? ("system" as const) : ("messages" as const),
					hash: `${tier} ${held.map(([key, { hash }]) => `${key}=${hash}`).toSorted()}`,
					tokens: held.reduce(
						(sum, [, { tokens }]) => sum + tokens,
						tier === "L0" ? SYSTEM_TOKENS : 0,
					),
					label: tier,
				};
				if (block.tokens === 0) continue;
				breakpoints.push({ after: blocks.length, ttl: "5m" });
				blocks.push(block);
			}
			const active = placed.filter(([, item]) => item.tier === "active");
			for (const [key, { hash, tokens }] of active) {
				if (!messages.has(key)) blocks.push({ part: "messages", hash, tokens, label: key });
			}
			for (const [key] of active)
				blocks.push(...(messages.has(key) ? [messages.get(key) as Block] : []));
			if (prompt) {
				blocks.push(messageBlock(prompt));
				add(prompt);
			}
			yield { atMs, blocks, breakpoints };
		}

		function add(message: Parameters<typeof messageBlock>[0]): void {
			messages.set(message.id, messageBlock(message));
			history.push({ key: message.id, hash: message.id, tokens: message.tokens });
		}
	};
}

/** No two files are used equally often. */
function byReferences() {
	return SYMBOLS.map((symbol, at) => ({ ...symbol, refs: (at * 37) % MAP_FILES }));
}
