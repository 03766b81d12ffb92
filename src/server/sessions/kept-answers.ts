import type { Command } from "../../protocol/index.ts";
import { WrittenData } from "../engine/message.ts";

/** Inputs of an answer. Compared by identity, so objects must not change in place. */
export interface Basis {
	readonly facts: readonly unknown[];
	readonly list: readonly unknown[];
}

interface Entry {
	readonly of: object;
	readonly name: string;
	readonly basis: Basis;
	readonly data: unknown;
	readonly written: WrittenData;
	readonly bytes: number;
}

/** Fits the largest answer sent by default. */
const DEFAULT_BYTES = 192 * 2 ** 20;
/** Per session: a client could invent names without end, such as those of `since`. */
const MAX_NAMES = 16;

/** LRU cache of the answers of idle sessions. */
export function createKeptAnswers(maxBytes = DEFAULT_BYTES) {
	/** Oldest first. */
	const all = new Set<Entry>();
	const bySession = new Map<object, Map<string, Entry>>();
	let bytes = 0;

	function drop(entry: Entry): void {
		all.delete(entry);
		bytes -= entry.bytes;
		const names = bySession.get(entry.of);
		names?.delete(entry.name);
		if (names?.size === 0) bySession.delete(entry.of);
	}

	function keep(entry: Entry): void {
		if (entry.bytes > maxBytes) return;
		const names = bySession.get(entry.of) ?? new Map<string, Entry>();
		bySession.set(entry.of, names.set(entry.name, entry));
		all.add(entry);
		bytes += entry.bytes;
		for (const oldest of all) {
			if (bytes <= maxBytes) break;
			drop(oldest);
		}
		const [first] = names.values();
		if (names.size > MAX_NAMES && first) drop(first);
	}

	return {
		/** Returns the cached answer if its basis is the same, else caches that of `make`. */
		answer(of: object, name: string, basis: Basis, make: () => unknown) {
			const known = bySession.get(of)?.get(name);
			if (known && isSame(known.basis.facts, basis.facts) && isSame(known.basis.list, basis.list)) {
				all.delete(known);
				all.add(known);
				return { data: known.data, written: known.written };
			}
			if (known) drop(known);
			const data = make();
			const written = new WrittenData(JSON.stringify(data));
			const list = [...basis.list];
			// Up to two bytes per UTF-16 unit, about one for its UTF-8.
			const bytes = written.json.length * 3 + list.length * 8;
			keep({ of, name, basis: { ...basis, list }, data, written, bytes });
			return { data, written };
		},
		forget(of: object) {
			for (const entry of [...(bySession.get(of)?.values() ?? [])]) drop(entry);
		},
		get bytes() {
			return bytes;
		},
	};
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
	if (one.length !== other.length) return false;
	for (let at = 0; at < one.length; at++) if (!Object.is(one[at], other[at])) return false;
	return true;
}

export function readName(command: Command): string {
	const { id, dependsOn, ifSessionVersion, idempotencyKey, ...read } = command;
	return JSON.stringify(read);
}
