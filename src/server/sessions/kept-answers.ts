import { WrittenData } from "../engine/message.ts";

/**
 * All that an answer was made of. Another answer may take its place only if each of these is the very same: objects are
 * compared by identity, so what is listed must not be changed in place.
 */
export interface Basis {
	readonly facts: readonly unknown[];
	/** Objects of which there may be many. */
	readonly list: readonly unknown[];
}

/** An answer and its JSON. */
export interface KeptAnswer {
	readonly data: unknown;
	readonly written: WrittenData;
}

export interface KeptAnswers {
	/** The answer of that name if it was made of the same; otherwise that of `make`, which is kept from now on. */
	answer(of: object, name: string, basis: Basis, make: () => unknown): KeptAnswer;
	/** Drops all answers of a session. */
	forget(of: object): void;
	/** What all of them take, in bytes. */
	readonly bytes: number;
}

/** Room for the largest answer that is sent by default: one that is made each time takes far longer, and more memory. */
const DEFAULT_BYTES = 192 * 2 ** 20;
/** Of one session. A client could make up names, such as those of `since`, without end. */
const MAX_NAMES = 16;

/** Keeps answers of sessions that stand still, up to so many bytes; the one that was used longest ago goes first. */
export function createKeptAnswers(maxBytes = DEFAULT_BYTES): KeptAnswers {
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
		answer(of, name, basis, make) {
			const known = bySession.get(of)?.get(name);
			if (known && isSame(known.basis, basis)) {
				all.delete(known);
				all.add(known);
				return known;
			}
			if (known) drop(known);
			const data = make();
			const written = new WrittenData(JSON.stringify(data));
			const { facts, list } = basis;
			const entry = {
				of,
				name,
				basis: { facts, list: [...list] },
				data,
				written,
				bytes: sizeOf(written.json, list),
			};
			keep(entry);
			return entry;
		},
		forget(of) {
			for (const entry of [...(bySession.get(of)?.values() ?? [])]) drop(entry);
		},
		get bytes() {
			return bytes;
		},
	};
}

interface Entry extends KeptAnswer {
	readonly of: object;
	readonly name: string;
	readonly basis: Basis;
	readonly bytes: number;
}

function isSame(one: Basis, other: Basis): boolean {
	return isSameList(one.facts, other.facts) && isSameList(one.list, other.list);
}

function isSameList(one: readonly unknown[], other: readonly unknown[]): boolean {
	if (one.length !== other.length) return false;
	for (let at = 0; at < one.length; at++) if (!Object.is(one[at], other[at])) return false;
	return true;
}

/** A text takes up to two bytes a character, its UTF-8 about one. */
function sizeOf(json: string, list: readonly unknown[]): number {
	return json.length * 3 + list.length * 8;
}
