import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { PromptTokens } from "../core/bill.ts";
import { openDatabaseStore } from "../core/database-store.ts";
import { agentFolder } from "../core/places.ts";
import { type OpenedDatabase, openForReading } from "../core/sqlite.ts";
import type { PricedMiss } from "../economy/index.ts";
import {
	type BookEntry,
	type BookedConversation,
	type BookedRequest,
	type BookedStep,
	conversationOf,
	missIn,
	type Row,
	requestOf,
	requestRow,
	STEP_COLUMNS,
	stepOf,
} from "./book-rows.ts";
import { MIGRATIONS } from "./book-schema.ts";
import { packPieces, unpackPieces } from "./packed-pieces.ts";
import type { Head, TracePiece } from "./trace.ts";

/** The store's name in its `version.json`. */
export const TRAFFIC_STORE = "traffic";

const FILE = "book.sqlite";
export const TEXTS_FOLDER = "texts";

export function bookFile(folder: string): string {
	return join(folder, FILE);
}

export function trafficFolder(env: NodeJS.ProcessEnv = process.env): string {
	return join(agentFolder(env), "strata", TRAFFIC_STORE);
}

/** The sums of a conversation's requests within the period that was asked for. */
export interface ConversationSums extends BookedConversation {
	readonly model: string;
	readonly requests: number;
	/** The latest prompt, in tokens. */
	readonly context: number;
	readonly tokens: PromptTokens & { readonly output: number };
	readonly cost: number;
	/** Of the requests whose prices are known. */
	readonly dollars: number;
	/** Billed requests of models without a known price. */
	readonly unpriced: number;
	readonly misses: number;
	readonly missDollars: number;
	readonly lastMiss?: PricedMiss;
	/** Prompt tokens that shortening saved, and those that it would have saved, by estimate. */
	readonly savedTokens: number;
	readonly savedInShadow: number;
}

/** The record of requests: hashes, names, sizes and bills. Several processes may write to it. */
export class Book {
	readonly #database: DatabaseSync;
	readonly #statements = new Map<string, StatementSync>();

	constructor(database: DatabaseSync) {
		this.#database = database;
	}

	/** Opens or creates the book in `folder`. Rejects if that is not possible. */
	static async open(folder: string): Promise<Book> {
		return Book.#of(
			await openDatabaseStore({
				folder,
				name: TRAFFIC_STORE,
				file: FILE,
				migrations: MIGRATIONS,
				besides: TEXTS_FOLDER,
			}),
		);
	}

	/** `undefined` if there is no book in `folder`. Rejects if it cannot be read. */
	static async openForReading(folder: string): Promise<Book | undefined> {
		const path = bookFile(folder);
		if (!existsSync(path)) return undefined;
		const book = Book.#of(await openForReading(path));
		const version = Number(book.#all("PRAGMA user_version")[0]?.user_version);
		if (version === MIGRATIONS.length) return book;
		book.close();
		if (version === 0) return undefined; // another process is about to create it
		if (version < MIGRATIONS.length) {
			(await Book.open(folder)).close(); // migrates it
			return Book.openForReading(folder);
		}
		throw new Error(`${path} was written by a newer pi-strata; update pi-strata`);
	}

	static #of(opened: OpenedDatabase): Book {
		if (opened.kind === "open") return new Book(opened.database);
		throw new Error(opened.message);
	}

	/** Writes a request, and its conversation if that is new. Returns their numbers. */
	add(entry: BookEntry): { conversation: number; request: number } {
		this.#database.exec("BEGIN IMMEDIATE");
		try {
			const conversation = this.#writeConversation(entry);
			const { hash, pieces } = entry.request.head;
			this.#run("INSERT OR IGNORE INTO head VALUES (?, ?, ?)", [
				conversation,
				hash,
				packPieces(pieces),
			]);
			const row = requestRow(entry, conversation);
			const names = Object.keys(row);
			const sql = `INSERT INTO request (${names}) VALUES (${names.map(() => "?")})`;
			const request = this.#run(sql, Object.values(row));
			this.#database.exec("COMMIT");
			return { conversation, request };
		} catch (error) {
			// SQLite has already rolled back if the disk is full or broken.
			if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
			throw error;
		}
	}

	/** Conversations used since `sinceMs`, the latest used first. */
	conversations({ sinceMs = 0, limit = -1 } = {}): BookedConversation[] {
		return this.#all(
			"SELECT * FROM conversation WHERE usedMs >= ? ORDER BY usedMs DESC, id DESC LIMIT ?",
			[sinceMs, limit],
		).map(conversationOf);
	}

	/** Sums over the requests since `sinceMs`, of conversations that have any, the latest first. */
	sums({
		ids,
		sinceMs = 0,
		limit = -1,
	}: {
		ids?: ReadonlySet<number>;
		sinceMs?: number;
		limit?: number;
	} = {}) {
		return this.conversations({ sinceMs, limit })
			.filter(({ id }) => !ids || ids.has(id))
			.flatMap((conversation) => {
				const sums = this.#sumsOf(conversation, sinceMs);
				return sums ? [sums] : [];
			});
	}

	/** Sums over all requests of a conversation; `undefined` if there is none. */
	conversation(id: number): ConversationSums | undefined {
		const [row] = this.#all("SELECT * FROM conversation WHERE id = ?", [id]);
		return row && this.#sumsOf(conversationOf(row), 0);
	}

	/** Requests of a conversation, the oldest first; with `limit`, only the latest. */
	requests(conversation: number, limit = -1): BookedRequest[] {
		const sql = "SELECT * FROM request WHERE conversation = ? ORDER BY id DESC LIMIT ?";
		return this.#all(sql, [conversation, limit]).map(requestOf).reverse();
	}

	/** Like `requests`, without their pieces. */
	steps(conversation: number, limit = -1): BookedStep[] {
		const sql = `SELECT ${STEP_COLUMNS} FROM request WHERE conversation = ? ORDER BY id DESC LIMIT ?`;
		return this.#all(sql, [conversation, limit]).map(stepOf).reverse();
	}

	/** Another number whenever another connection has changed the book. */
	version(): number {
		return Number(this.#all("PRAGMA data_version")[0]?.data_version);
	}

	/** The heads of a conversation by their hash. */
	heads(conversation: number): Map<string, Head> {
		const rows = this.#all("SELECT hash, pieces FROM head WHERE conversation = ?", [conversation]);
		return new Map(
			rows.map(({ hash, pieces }) => [
				String(hash),
				{ hash: String(hash), pieces: unpackPieces(String(pieces)) },
			]),
		);
	}

	/** The pieces of all messages of a request. */
	messages({ id }: Pick<BookedRequest, "id">): TracePiece[] {
		const parts: TracePiece[][] = [];
		const sql = "SELECT base, shared, pieces FROM request WHERE id = ? AND id < ?";
		let known = id + 1;
		let length = Number.POSITIVE_INFINITY;
		for (let at: number | undefined = id; at !== undefined && length > 0; ) {
			const [row] = this.#all(sql, [at, known]);
			if (!row) break;
			const before = Number(row.shared);
			if (length > before) parts.push(unpackPieces(String(row.pieces)).slice(0, length - before));
			known = at;
			length = Math.min(length, before);
			at = row.base === null ? undefined : Number(row.base);
		}
		return parts.reverse().flat();
	}

	/** The latest `limit` requests behind the number `after`, of all conversations, the oldest first. */
	stepsAfter(after: number, limit: number): BookedStep[] {
		const sql = `SELECT ${STEP_COLUMNS} FROM request WHERE id > ? ORDER BY id DESC LIMIT ?`;
		return this.#all(sql, [after, limit]).map(stepOf).reverse();
	}

	/** The number of the latest request; 0 if there is none. */
	lastRequest(): number {
		return Number(this.#all("SELECT max(id) AS last FROM request")[0]?.last ?? 0);
	}

	/** Deletes conversations unused since `beforeMs`. */
	deleteUnused(beforeMs: number): void {
		this.#run("DELETE FROM conversation WHERE usedMs < ?", [beforeMs]);
	}

	close(): void {
		if (this.#database.isOpen) this.#database.close();
	}

	#writeConversation({ place, request, exchange }: BookEntry): number {
		const { id, format, speaker, cacheKey, parent } = place.conversation;
		const { startedMs } = request;
		const said = [format, exchange.upstream, JSON.stringify(speaker), cacheKey ?? null];
		// Written each time: another process may have deleted it as unused.
		const inserted = this.#run(
			`INSERT INTO conversation VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET usedMs = max(usedMs, excluded.usedMs)`,
			[id || null, startedMs, startedMs, ...said, parent ?? null],
		);
		return id || inserted;
	}

	#sumsOf(conversation: BookedConversation, sinceMs: number): ConversationSums | undefined {
		const of = [conversation.id, sinceMs];
		const [sums] = this.#all(SUMS, of);
		const [latest] = this.#all(LATEST, of);
		if (!sums || !latest) return undefined;
		const [missed] = this.#all(LAST_MISS, of);
		const miss = missed && missIn(missed);
		const count = (name: string) => Number(sums[name] ?? 0);
		return {
			...conversation,
			model: String(latest.model),
			context: Number(latest.context ?? 0),
			requests: count("requests"),
			tokens: {
				input: count("input"),
				read: count("read"),
				write: count("write"),
				writeOneHour: count("writeOneHour"),
				output: count("output"),
			},
			...{ cost: count("cost"), dollars: count("dollars"), unpriced: count("unpriced") },
			...{ misses: count("misses"), missDollars: count("missDollars") },
			...{ savedTokens: count("savedTokens"), savedInShadow: count("savedInShadow") },
			...(miss && { lastMiss: miss }),
		};
	}

	#statement(sql: string): StatementSync {
		const known = this.#statements.get(sql);
		if (known) return known;
		const made = this.#database.prepare(sql);
		this.#statements.set(sql, made);
		return made;
	}

	/** Returns the number of the row that was inserted last. */
	#run(sql: string, values: readonly (string | number | null)[]): number {
		return Number(this.#statement(sql).run(...values).lastInsertRowid);
	}

	#all(sql: string, values: readonly (string | number)[] = []): Row[] {
		return this.#statement(sql).all(...values);
	}
}

const SUMS = `
	SELECT count(*) AS requests, sum(input) AS input, sum(read) AS read, sum(write) AS write,
		sum(writeOneHour) AS writeOneHour, sum(output) AS output, sum(cost) AS cost,
		sum(dollars) AS dollars, sum(input IS NOT NULL AND dollars IS NULL) AS unpriced,
		count(missCause) AS misses, sum(missDollars) AS missDollars,
		sum(CASE WHEN input IS NOT NULL THEN savedTokens END) AS savedTokens,
		sum(CASE WHEN input IS NOT NULL THEN savedInShadow END) AS savedInShadow
	FROM request WHERE conversation = ? AND startedMs >= ?`;

const LATEST = `
	SELECT model, coalesce(
		lastPrompt ->> 'input' + lastPrompt ->> 'read' + lastPrompt ->> 'write', input + read + write
	) AS context FROM request
	WHERE conversation = ? AND startedMs >= ? ORDER BY input IS NULL, id DESC LIMIT 1`;

const LAST_MISS = `
	SELECT startedMs, missTokens, missCause, missChanged, missCost, missDollars FROM request
	WHERE conversation = ? AND startedMs >= ? AND missCause IS NOT NULL ORDER BY id DESC LIMIT 1`;
