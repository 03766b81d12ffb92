import type { Ttl } from "./request.ts";

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

export interface Entry {
	/** Exclusive. */
	readonly expiresMs: number;
	readonly ttl: Ttl;
}

export interface PrefixTree {
	readonly root: Prefix;
	follow(prefix: Prefix, key: string): Prefix;
	/** Evicts prefixes without a live entry. If true, prefixes returned earlier may be detached. */
	sweep(nowMs: number): boolean;
}

export function createPrefixTree(): PrefixTree {
	const root = newPrefix(undefined, "");
	let prefixes: Prefix[] = [];
	let sweeps = 0;
	let sweepAt = FEW;

	return {
		root,

		follow(prefix, key) {
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

		sweep(nowMs) {
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
	return {
		parent,
		key,
		entry: undefined,
		recent: undefined,
		all: undefined,
		keptBySweep: 0,
	};
}

function detach(prefix: Prefix): void {
	const parent = prefix.parent as Prefix;
	parent.all?.delete(prefix.key);
	if (parent.recent === prefix) parent.recent = undefined;
}
