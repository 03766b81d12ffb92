import type { Ttl } from "./request.ts";

/** The start of a prompt. Prompts that start alike share it, so that equal prefixes are one object. */
export interface Prefix {
	readonly parent: Prefix | undefined;
	/** What this prefix adds to its parent. */
	readonly key: string;
	/** What the provider has cached up to here. */
	entry: Entry | undefined;
	/** The continuation used last: sessions repeat themselves. The only one while `all` is not set. */
	recent: Prefix | undefined;
	/** All continuations, once there was a second one: most prefixes never need a map. */
	all: Map<string, Prefix> | undefined;
	/** The last sweep that found a living entry here or further on. */
	keptBySweep: number;
}

/** A cached prefix. */
export interface Entry {
	/** Alive before this time, dead at it. */
	readonly expiresMs: number;
	/** The lifetime that was paid for. */
	readonly ttl: Ttl;
}

/** The prefixes that requests had so far. */
export interface PrefixTree {
	readonly root: Prefix;
	/** The prefix that goes on with `key`. */
	follow(prefix: Prefix, key: string): Prefix;
	/**
	 * When there are many prefixes, lets go of those that lead to no living entry. True if it did: then
	 * prefixes that were handed out may no longer be part of the tree.
	 */
	sweep(nowMs: number): boolean;
}

/** A tree of nothing but the empty prefix. */
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
				// What hangs on a prefix that goes, goes with it.
				if (!isKept(prefix) && isKept(prefix.parent as Prefix)) detach(prefix);
			}
			prefixes = prefixes.filter(isKept);
			sweepAt = Math.max(FEW, 2 * prefixes.length);
			return true;
		},
	};
}

/** The entry that ends at a prefix, if it can still be read. */
export function livingEntry({ entry }: Prefix, nowMs: number): Entry | undefined {
	return entry && nowMs < entry.expiresMs ? entry : undefined;
}

/** So many prefixes are no burden, and sweeping them is not worth the time. */
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
