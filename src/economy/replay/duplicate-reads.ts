import type { SessionBlock } from "./assembly.ts";
import { createReadReplacer } from "./replaced-reads.ts";
import type { ReplaySession } from "./requests.ts";
import { sharedStart } from "./shared-start.ts";

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
	let before: readonly SessionBlock[] = [];
	/** The reads of the request that said nothing new, in its order. */
	let vain: { file: { cost: number }; saved: number }[] = [];
	for (const { blocks, model } of session.steps()) {
		const { writeRatio, readRatio } = model.rules;
		const shortened = reads.replace(blocks);
		const known = sharedStart(before, blocks);
		if (known < before.length) vain = [];
		const from = known < before.length ? 0 : known;
		before = blocks;
		for (const { file, saved } of vain) file.cost += saved * readRatio;
		for (const [index, block] of blocks.slice(from).entries()) {
			const saved = block.tokens - (shortened[from + index]?.tokens ?? 0);
			const path = block.result?.read?.path;
			if (saved <= 0 || path === undefined) continue;
			const file = files.get(path) ?? { path, times: 0, tokens: 0, cost: 0 };
			files.set(path, file);
			const isNew = !seen.has(block.id);
			seen.add(block.id);
			file.times += isNew ? 1 : 0;
			file.tokens += isNew ? saved : 0;
			file.cost += saved * (isNew ? writeRatio : readRatio);
			vain.push({ file, saved });
		}
	}
	return [...files.values()].sort((a, b) => b.cost - a.cost);
}
