import type { DatabaseSync, StatementSync } from "node:sqlite";
import { compareText } from "../../core/compare-text.ts";

/** Maximum number of cached ids, at some 100 bytes each: enough for a large project. */
const MAX_CACHED = 300_000;

/** Cannot occur in an identifier. */
const SEPARATOR = "\u001f";
/** Above this many new names, a full reload is faster than single inserts. */
const MAX_INSERTED = 40;

/** A name keeps its id even if it is no longer used. */
export class NameIds {
	readonly #cached = new Map<string, { id: number; isDeclared: boolean }>();
	readonly #find: StatementSync;
	readonly #insert: StatementSync;
	readonly #markDeclared: StatementSync;
	readonly #largest: StatementSync;
	readonly #allDeclared: StatementSync;
	readonly #isDeclared: StatementSync;
	#lastId: number | undefined;
	#declared: DeclaredNames | undefined;
	/** Declared names that are not yet in `#declared`. */
	#newlyDeclared: string[] = [];

	constructor(database: DatabaseSync) {
		this.#find = database.prepare("SELECT id, declared FROM names WHERE name = ?");
		this.#insert = database.prepare("INSERT INTO names (name, id, declared) VALUES (?, ?, ?)");
		this.#markDeclared = database.prepare("UPDATE names SET declared = 1 WHERE name = ?");
		this.#largest = database.prepare("SELECT max(id) AS id FROM names");
		this.#allDeclared = database.prepare("SELECT name FROM names WHERE declared = 1");
		this.#isDeclared = database.prepare(
			"SELECT 1 FROM names JOIN declared ON declared.name = names.id WHERE names.name = ? LIMIT 1",
		);
	}

	find(name: string): number | undefined {
		return this.#look(name)?.id;
	}

	containing(part: string, limit: number): string[] {
		const wanted = part.toLowerCase();
		if (wanted === "" || wanted.includes(SEPARATOR)) return [];
		const declared = this.#declaredNames();
		const names = new Set<string>();
		// Prefix matches come first. An equal name is the shortest prefix match.
		for (const text of [SEPARATOR + wanted, wanted]) {
			for (const name of occurrences(declared, text)) {
				if (names.size >= limit) return [...names];
				if (!names.has(name) && this.#isDeclared.get(name)) names.add(name);
			}
		}
		return [...names];
	}

	idFor(name: string, isDeclared: boolean): number {
		const known = this.#look(name);
		if (!known) return this.#add(name, isDeclared);
		if (isDeclared && !known.isDeclared) {
			this.#markDeclared.run(name);
			known.isDeclared = true;
			this.#newlyDeclared.push(name);
		}
		return known.id;
	}

	/** Must be called after a rollback or a write by another process. */
	clear(): void {
		this.#cached.clear();
		this.#lastId = undefined;
		this.#declared = undefined;
		this.#newlyDeclared = [];
	}

	#look(name: string) {
		const known = this.#cached.get(name);
		if (known) return known;
		// If all names are cached, as during a first indexing, an uncached name is new.
		if (this.#cached.size === this.#lastId) return undefined;
		const row = this.#find.get(name);
		if (!row) return undefined;
		return this.#remember(name, row.id as number, row.declared === 1);
	}

	#add(name: string, isDeclared: boolean): number {
		this.#lastId ??= Number(this.#largest.get()?.id ?? 0);
		const id = ++this.#lastId;
		this.#insert.run(name, id, isDeclared ? 1 : 0);
		this.#remember(name, id, isDeclared);
		if (isDeclared) this.#newlyDeclared.push(name);
		return id;
	}

	#remember(name: string, id: number, isDeclared: boolean) {
		// Evicts all, which is rare and cheaper than tracking use.
		if (this.#cached.size >= MAX_CACHED) this.#cached.clear();
		const known = { id, isDeclared };
		this.#cached.set(name, known);
		return known;
	}

	#declaredNames(): DeclaredNames {
		const fresh = this.#newlyDeclared;
		if (this.#declared && fresh.length === 0) return this.#declared;
		let exact: string;
		if (this.#declared && fresh.length <= MAX_INSERTED) {
			exact = fresh.reduce(inserted, this.#declared.exact);
		} else {
			const names = this.#allDeclared.all().map(({ name }) => name as string);
			exact = `${SEPARATOR}${inOrder(names).join(SEPARATOR)}${SEPARATOR}`;
		}
		this.#declared = { exact, folded: foldedAlike(exact) };
		this.#newlyDeclared = [];
		return this.#declared;
	}
}

/** All names in one string, shortest first, with a separator before and after each. */
interface DeclaredNames {
	readonly exact: string;
	readonly folded: string;
}

function* occurrences({ exact, folded }: DeclaredNames, wanted: string): Generator<string> {
	for (let at = folded.indexOf(wanted); at >= 0; ) {
		const start = folded.lastIndexOf(SEPARATOR, at) + 1;
		const end = folded.indexOf(SEPARATOR, at + 1);
		yield exact.slice(start, end);
		at = folded.indexOf(wanted, end);
	}
}

function inOrder(names: readonly string[]): string[] {
	const byLength = Map.groupBy(names, ({ length }) => length);
	const lengths = [...byLength.keys()].sort((one, other) => one - other);
	return lengths.flatMap((length) => byLength.get(length)?.sort() ?? []);
}

function inserted(text: string, name: string): string {
	let low = 0;
	let high = text.length - 1;
	// Binary search; both bounds are always at a SEPARATOR.
	while (low < high) {
		const start = text.lastIndexOf(SEPARATOR, (low + high) >> 1);
		const end = text.indexOf(SEPARATOR, start + 1);
		const other = text.slice(start + 1, end);
		if (other === name) return text;
		const order = other.length - name.length || compareText(other, name);
		if (order < 0) low = end;
		else high = start;
	}
	return `${text.slice(0, low)}${SEPARATOR}${name}${text.slice(low)}`;
}

/** Converts to lower case. Letters whose length would change are kept, so offsets stay the same. */
function foldedAlike(text: string): string {
	const folded = text.toLowerCase();
	if (folded.length === text.length) return folded;
	return Array.from(text, (character) => {
		const lower = character.toLowerCase();
		return lower.length === character.length ? lower : character;
	}).join("");
}
