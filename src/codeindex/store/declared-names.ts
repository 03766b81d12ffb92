import type { DatabaseSync, StatementSync } from "node:sqlite";
import { compareText } from "../../core/compare-text.ts";
import type { NameIds } from "./name-ids.ts";

/** No name has it, so it can stand between them. */
const BETWEEN = "\u001f";

/** Beyond so many new names, reading them all anew takes less time than putting each in its place. */
const MAX_INSERTED = 40;

/**
 * Finds declared names by a part of them. All names are kept as one text, the shorter first, so that the first ones
 * found are the ones wanted.
 */
export class DeclaredNames {
	readonly #names: NameIds;
	readonly #all: StatementSync;
	readonly #isDeclared: StatementSync;
	#text: NamesText | undefined;

	constructor(database: DatabaseSync, names: NameIds) {
		this.#names = names;
		this.#all = database.prepare("SELECT name FROM names WHERE declared = 1");
		this.#isDeclared = database.prepare(
			"SELECT 1 FROM names JOIN declared ON declared.name = names.id WHERE names.name = ? LIMIT 1",
		);
	}

	/** As {@link IndexReader.namesLike}. */
	like(part: string, limit: number): string[] {
		const wanted = part.toLowerCase();
		if (wanted === "" || wanted.includes(BETWEEN)) return [];
		const text = this.#read();
		const names = new Set<string>();
		// Equal names are the shortest of those that begin with it.
		for (const found of [occurrences(text, BETWEEN + wanted), occurrences(text, wanted)]) {
			for (const name of found) {
				if (names.size >= limit) return [...names];
				// A name that nothing bears any more stays in the list.
				if (!names.has(name) && this.#isDeclared.get(name)) names.add(name);
			}
		}
		return [...names];
	}

	#read(): NamesText {
		const { generation, newlyDeclared } = this.#names;
		const fresh = newlyDeclared.length - (this.#text?.taken ?? 0);
		if (this.#text?.generation !== generation || fresh > MAX_INSERTED) {
			const names = this.#all.all().map(({ name }) => name as string);
			const exact = `${BETWEEN}${inOrder(names).join(BETWEEN)}${BETWEEN}`;
			this.#text = {
				exact,
				folded: foldedAlike(exact),
				generation,
				taken: newlyDeclared.length,
			};
		} else if (fresh > 0) {
			let { exact } = this.#text;
			for (const name of newlyDeclared.slice(-fresh)) exact = inserted(exact, name);
			this.#text = {
				exact,
				folded: foldedAlike(exact),
				generation,
				taken: newlyDeclared.length,
			};
		}
		return this.#text;
	}
}

/** Every name between two {@link BETWEEN}, shorter ones first, then by code unit. */
interface NamesText {
	readonly exact: string;
	/** In lower case. */
	readonly folded: string;
	/** What of the new names is in it. */
	readonly generation: number;
	readonly taken: number;
}

function* occurrences({ exact, folded }: NamesText, wanted: string): Generator<string> {
	for (let at = folded.indexOf(wanted); at >= 0; ) {
		const start = folded.lastIndexOf(BETWEEN, at) + 1;
		const end = folded.indexOf(BETWEEN, at + 1);
		yield exact.slice(start, end);
		at = folded.indexOf(wanted, end);
	}
}

function inOrder(names: readonly string[]): string[] {
	const byLength = Map.groupBy(names, ({ length }) => length);
	const lengths = [...byLength.keys()].sort((one, other) => one - other);
	return lengths.flatMap((length) => byLength.get(length)?.sort() ?? []);
}

/** The text with one more name at its place. */
function inserted(text: string, name: string): string {
	let low = 0;
	let high = text.length - 1;
	// Both are always at a BETWEEN; names that end at `low` come before, those that begin at `high` after.
	while (low < high) {
		const start = text.lastIndexOf(BETWEEN, (low + high) >> 1);
		const end = text.indexOf(BETWEEN, start + 1);
		const other = text.slice(start + 1, end);
		if (other === name) return text;
		if (compare(other, name) < 0) low = end;
		else high = start;
	}
	return `${text.slice(0, low)}${BETWEEN}${name}${text.slice(low)}`;
}

/** In lower case, with every character in its old place: a few letters become two when folded. */
function foldedAlike(text: string): string {
	const folded = text.toLowerCase();
	if (folded.length === text.length) return folded;
	return Array.from(text, (character) => {
		const lower = character.toLowerCase();
		return lower.length === character.length ? lower : character;
	}).join("");
}

function compare(one: string, other: string): number {
	return one.length - other.length || compareText(one, other);
}
