import type { PromptTokens } from "../../src/core/bill.ts";
import { CacheSimulator } from "../../src/economy/cache-simulator.ts";
import type { Block, Breakpoint, ModelRequest, Part } from "../../src/economy/model-request.ts";
import type { CacheRules } from "../../src/economy/rules.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/**
 * A request in one line: `a1100 b20* c5` is a block `a` of 1100 tokens, a block `b` of 20 behind which there is a
 * marker for five minutes (`**`: for an hour), and `c`. Blocks are messages unless `tools:` or `system:` is before them;
 * `calls:` and `results:` are messages that belong to such a run.
 */
export function request(line: string, more: Partial<ModelRequest> = {}): ModelRequest {
	const blocks: Block[] = [];
	const breakpoints: Breakpoint[] = [];
	for (const word of line.split(" ").filter((text) => text !== "")) {
		const [, part = "messages", run, name, tokens, marker] =
			/^(?:(tools|system):|(calls|results):)?([a-z]+)(\d+)(\**)$/i.exec(word) ?? [];
		if (name === undefined) throw new Error(`not a block: ${word}`);
		const block = { part: part as Part, hash: name, tokens: Number(tokens), label: word };
		blocks.push(run ? { ...block, run: run as NonNullable<Block["run"]> } : block);
		if (marker) {
			breakpoints.push({ after: blocks.length - 1, ttl: marker === "*" ? "5m" : "1h" });
		}
	}
	return { atMs: 0, blocks, breakpoints, ...more };
}

/** So many small blocks, of 10 tokens each. */
export function filler(count: number, block = "f10"): string {
	return Array.from({ length: count }, () => block).join(" ");
}

/** Bills a sequence from an empty cache. */
export function simulate(requests: Iterable<ModelRequest>, rules: CacheRules): PromptTokens[] {
	const cache = new CacheSimulator(rules);
	return Array.from(requests, (request) => cache.send(request));
}
