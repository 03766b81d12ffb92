import type { DatabaseSync, StatementSync } from "node:sqlite";

/** So many are kept in memory: those of a large project, at some 100 bytes each. */
const MAX_KEPT = 300_000;

/** The numbers that stand for names in the tables. A name keeps its number when nobody uses it any more. */
export class NameIds {
	readonly #kept = new Map<string, { id: number; isDeclared: boolean }>();
	readonly #find: StatementSync;
	readonly #insert: StatementSync;
	readonly #markDeclared: StatementSync;
	readonly #largest: StatementSync;
	#lastId: number | undefined;
	/** Names that something declared bears and did not bear before, in the order they came, since {@link generation}. */
	readonly newlyDeclared: string[] = [];
	/** Counts how often everything was forgotten. */
	generation = 0;

	constructor(database: DatabaseSync) {
		this.#find = database.prepare("SELECT id, declared FROM names WHERE name = ?");
		this.#insert = database.prepare("INSERT INTO names (name, id, declared) VALUES (?, ?, ?)");
		this.#markDeclared = database.prepare("UPDATE names SET declared = 1 WHERE name = ?");
		this.#largest = database.prepare("SELECT max(id) AS id FROM names");
	}

	/** Undefined if the name is nowhere in the index. */
	find(name: string): number | undefined {
		return this.#look(name)?.id;
	}

	/** The number of a name, which gets one if it has none. `isDeclared` notes that something bears it. */
	give(name: string, isDeclared: boolean): number {
		const known = this.#look(name);
		if (!known) return this.#add(name, isDeclared);
		if (isDeclared && !known.isDeclared) {
			this.#markDeclared.run(name);
			known.isDeclared = true;
			this.newlyDeclared.push(name);
		}
		return known.id;
	}

	/** To be called when a transaction was rolled back, or somebody else has written. */
	forget(): void {
		this.#kept.clear();
		this.#lastId = undefined;
		this.newlyDeclared.length = 0;
		this.generation++;
	}

	#look(name: string) {
		const kept = this.#kept.get(name);
		if (kept) return kept;
		// While a project is indexed first, every name there is was given here.
		if (this.#kept.size === this.#lastId) return undefined;
		const row = this.#find.get(name);
		if (!row) return undefined;
		return this.#keep(name, row.id as number, row.declared === 1);
	}

	#add(name: string, isDeclared: boolean): number {
		this.#lastId ??= Number(this.#largest.get()?.id ?? 0);
		const id = ++this.#lastId;
		this.#insert.run(name, id, isDeclared ? 1 : 0);
		this.#keep(name, id, isDeclared);
		if (isDeclared) this.newlyDeclared.push(name);
		return id;
	}

	#keep(name: string, id: number, isDeclared: boolean) {
		if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
		const kept = { id, isDeclared };
		this.#kept.set(name, kept);
		return kept;
	}
}
