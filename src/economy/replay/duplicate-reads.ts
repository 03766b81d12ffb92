import { createReadReplacer } from "./replaced-reads.ts";
import type { ReplaySession } from "./requests.ts";

/** A file that was sent again although the model had it before it. */
export interface DuplicateRead {
	readonly path: string;
	/** How often it was read in vain. */
	readonly times: number;
	/** Tokens of those readings that said nothing new. */
	readonly tokens: number;
	/** What they cost from then on, written once and read with every later request, in plain input tokens. */
	readonly cost: number;
}

/** The files that were sent in vain, the dearest first. */
export function findDuplicateReads(session: ReplaySession): DuplicateRead[] {
	const reads = createReadReplacer();
	const seen = new Set<number>();
	const files = new Map<string, { path: string; times: number; tokens: number; cost: number }>();
	for (const { blocks, model } of session.steps()) {
		const shortened = reads.replace(blocks);
		for (const [at, block] of blocks.entries()) {
			const saved = block.tokens - (shortened[at]?.tokens ?? 0);
			const path = block.result?.read?.path;
			if (saved <= 0 || path === undefined) continue;
			const file = files.get(path) ?? { path, times: 0, tokens: 0, cost: 0 };
			files.set(path, file);
			const isNew = !seen.has(block.id);
			seen.add(block.id);
			file.times += isNew ? 1 : 0;
			file.tokens += isNew ? saved : 0;
			file.cost += saved * (isNew ? model.rules.writeRatio : model.rules.readRatio);
		}
	}
	return [...files.values()].sort((a, b) => b.cost - a.cost);
}
