import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { NameIds } from "./name-ids.ts";

/** No name has it, so it can stand between them. */
const BETWEEN = "\u001f";

/** Finds declared names by a part of them. All names are kept as one text, which is searched in a millisecond. */
export class DeclaredNames {
	readonly #names: NameIds;
	readonly #all: StatementSync;
	readonly #isDeclared: StatementSync;
	#text: { readonly exact: string; readonly folded: string; readonly changes: number } | undefined;

	constructor(database: DatabaseSync, names: NameIds) {
		this.#names = names;
		this.#all = database.prepare(
			"SELECT group_concat(name, char(31)) AS names FROM names WHERE declared = 1",
		);
		this.#isDeclared = database.prepare(
			"SELECT 1 FROM names JOIN declared ON declared.name = names.id WHERE names.name = ? LIMIT 1",
		);
	}

	/** As {@link IndexReader.namesLike}. */
	like(part: string, limit: number): string[] {
		const wanted = part.toLowerCase();
		if (wanted === "" || wanted.includes(BETWEEN)) return [];
		const found = [...this.#containing(wanted)].sort(
			(one, other) => place(one, wanted) - place(other, wanted) || compare(one, other),
		);
		const names: string[] = [];
		for (const name of found) {
			if (names.length >= limit) break;
			// A name that nothing bears any more stays in the list.
			if (this.#isDeclared.get(name)) names.push(name);
		}
		return names;
	}

	*#containing(wanted: string): Generator<string> {
		const { exact, folded } = this.#read();
		for (let at = folded.indexOf(wanted); at >= 0; ) {
			const start = folded.lastIndexOf(BETWEEN, at) + 1;
			const end = folded.indexOf(BETWEEN, at);
			yield exact.slice(start, end);
			at = folded.indexOf(wanted, end);
		}
	}

	#read() {
		const changes = this.#names.declaredChanges;
		if (this.#text?.changes !== changes) {
			const exact = `${this.#all.get()?.names ?? ""}${BETWEEN}`;
			this.#text = { exact, folded: foldedAlike(exact), changes };
		}
		return this.#text;
	}
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

function place(name: string, wanted: string): number {
	const folded = name.toLowerCase();
	if (folded === wanted) return 0;
	return folded.startsWith(wanted) ? 1 : 2;
}

function compare(one: string, other: string): number {
	return one.length - other.length || (one < other ? -1 : one > other ? 1 : 0);
}
