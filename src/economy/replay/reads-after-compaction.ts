import type { SessionBlock } from "./assembly.ts";
import { countNewLines } from "./line-hashes.ts";
import type { ReplaySession } from "./requests.ts";

/** Reads of files between a compaction and the next one. */
export interface ReadsAfterCompactions {
	readonly compactions: number;
	readonly reads: number;
	/** Those whose lines an earlier read of the file showed right before the compaction. */
	readonly unchanged: number;
	/** Tokens of the unchanged ones. */
	readonly tokens: number;
}

/** `undefined` if the session was never compacted. Each text counts once, however often it is read again. */
export function findReadsAfterCompactions(
	session: ReplaySession,
): ReadsAfterCompactions | undefined {
	const counts = { compactions: 0, reads: 0, unchanged: 0, tokens: 0 };
	const seen = new Set<number>();
	let before: readonly SessionBlock[] = [];
	let lost = new Map<string, SessionBlock[]>();
	let again = new Set<string>();
	for (const { blocks, changes, isCopy } of session.steps()) {
		if (changes.has("compaction")) {
			counts.compactions += isCopy ? 0 : 1;
			lost = lostReads(before, blocks);
			again = new Set();
		} else if (changes.has("branch")) lost = new Map();
		before = blocks;
		for (const block of blocks) {
			if (!block.result?.read || seen.has(block.id)) continue;
			seen.add(block.id);
			if (counts.compactions === 0 || isCopy) continue;
			counts.reads++;
			if (again.has(block.hash) || !isShown(block, lost.get(block.result.read.path))) continue;
			again.add(block.hash);
			counts.unchanged++;
			counts.tokens += block.tokens;
		}
	}
	return counts.compactions > 0 ? counts : undefined;
}

/** The reads that a compaction took out of view, by path. */
function lostReads(before: readonly SessionBlock[], now: readonly SessionBlock[]) {
	const left = new Set(now.map(({ id }) => id));
	const reads = before.filter(({ id, result }) => result?.read && !left.has(id));
	return Map.groupBy(reads, ({ result }) => result?.read?.path ?? "");
}

function isShown(block: SessionBlock, earlier: readonly SessionBlock[] = []): boolean {
	const lines = block.result?.read?.lines;
	return earlier.some(({ hash, result }) => {
		if (hash === block.hash) return true;
		const shown = result?.read?.lines;
		return lines && shown ? countNewLines(lines, shown) === 0 : false;
	});
}
