import {
	type CommandHistoryEntry,
	type CommandHistoryQuery,
	type CommandName,
	KEY_LIFE_MS,
	MAX_UNHELD,
	type SessionRecord,
	type StoredCommand,
	type StreamEvent,
	type StreamName,
} from "../journal.ts";
import { bytesArray, plainArray, textArray } from "./array-text.ts";
import { keyScope, toBytes } from "./columns.ts";
import {
	COMMAND_COLUMNS,
	type CommandRow,
	type HistoryRow,
	historyEntry,
	storedCommand,
} from "./command-rows.ts";
import type { Connection } from "./connection.ts";

/** A page of events ends with the event that brings it to this size. */
const PAGE_CHARACTERS = 2 ** 20;
/** Most entries in a page of a conversation. */
const PAGE_ENTRIES = 20_000;
/** An event is at most about this large in a first look at a page. */
const FIRST_LOOK = 64;

/** A command that was found, and the process that admitted it. */
export type FoundCommand = StoredCommand & { readonly node: string };

interface Question {
	readonly names: readonly CommandName[];
	resolve(found: (FoundCommand | undefined)[]): void;
	reject(error: unknown): void;
}

/** Questions to the primary. Those about commands wait for the end of the tick and share a round trip. */
export class DatabaseReader {
	readonly #connection: Connection;
	readonly #now: () => number;
	#questions: Question[] = [];
	#isAsking = false;

	constructor(connection: Connection, now: () => number) {
		this.#connection = connection;
		this.#now = now;
	}

	/** In the order of the names. */
	find(names: readonly CommandName[]): Promise<(FoundCommand | undefined)[]> {
		return new Promise((resolve, reject) => {
			this.#questions.push({ names, resolve, reject });
			if (this.#isAsking) return;
			this.#isAsking = true;
			setImmediate(() => void this.#ask());
		});
	}

	async #ask(): Promise<void> {
		while (this.#questions.length > 0) {
			const asked = this.#questions.splice(0, MAX_QUESTIONS);
			try {
				const found = await this.#lookUp(asked);
				let index = 0;
				for (const { names, resolve } of asked) {
					resolve(names.map(() => found.get(index++)));
				}
			} catch (error) {
				for (const { reject } of asked) reject(error);
			}
		}
		this.#isAsking = false;
	}

	async #lookUp(asked: readonly Question[]): Promise<Map<number, FoundCommand>> {
		const ids: { principal: string; id: string; index: number }[] = [];
		const keys: { name: Extract<CommandName, { key: string }>; index: number }[] = [];
		let index = 0;
		for (const { names } of asked) {
			for (const name of names) {
				if ("id" in name) ids.push({ principal: name.principal, id: name.id, index });
				else keys.push({ name, index });
				index++;
			}
		}
		const { rows } = await this.#connection.query({
			...FIND,
			values: [
				textArray(ids, ({ principal }) => principal),
				bytesArray(ids, ({ id }) => toBytes(id)),
				plainArray(ids, (one) => one.index),
				textArray(keys, ({ name }) => name.principal),
				bytesArray(keys, ({ name }) => toBytes(name.key)),
				bytesArray(keys, ({ name }) => keyScope(name.sessionId)),
				plainArray(keys, (one) => one.index),
				this.#now() - KEY_LIFE_MS,
			],
		});
		const found = new Map<number, FoundCommand>();
		for (const row of rows) {
			const command = row as CommandRow & { index: number };
			found.set(Number(command.index), { ...storedCommand(command), node: command.node });
		}
		return found;
	}

	async events(stream: StreamName, after: number, limit: number): Promise<StreamEvent[]> {
		const { principal, sessionId } = stream;
		const events: StreamEvent[] = [];
		let characters = 0;
		// Few first: a page of large events would be megabytes of which most are not wanted.
		for (
			let step = Math.min(limit, FIRST_LOOK);
			events.length < limit;
			step = limit - events.length
		) {
			const from = events.at(-1)?.seq ?? after;
			const { rows } = await this.#connection.query({
				...EVENTS,
				values: [principal, toBytes(sessionId), from, step],
			});
			for (const { seq, at, body } of rows) {
				events.push({ principal, sessionId, seq: Number(seq), atMs: Number(at), body });
				characters += body.length;
				if (characters >= PAGE_CHARACTERS) return events;
			}
			if (rows.length < step) break;
		}
		return events;
	}

	async extent({ principal, sessionId }: StreamName): Promise<{ first: number; last: number }> {
		const { rows } = await this.#connection.query({
			...EXTENT,
			values: [principal, toBytes(sessionId)],
		});
		const [row] = rows;
		if (!row) return { first: 0, last: 0 };
		const last = Number(row.last);
		if (last === 0) return { first: 0, last: 0 };
		return { first: row.first === null ? last + 1 : Number(row.first), last };
	}

	async owners(conversations: readonly string[]): Promise<Map<string, string>> {
		const { rows } = await this.#connection.query({ ...OWNERS, values: [conversations] });
		return new Map(rows.map(({ conversation, principal }) => [conversation, principal]));
	}

	async hasOtherOwner(principal: string): Promise<boolean> {
		const { rows } = await this.#connection.query({ ...OTHER_OWNER, values: [principal] });
		return rows[0]?.found === true;
	}

	async commandHistory(query: CommandHistoryQuery): Promise<CommandHistoryEntry[]> {
		const { principal, sessionId, commandId, fromMs, toMs, limit } = query;
		const values: unknown[] = [principal, limit];
		const conditions = ["principal = $1"];
		const where = (condition: string, value: unknown) => {
			if (value === undefined) return;
			values.push(value);
			conditions.push(`${condition} $${values.length}`);
		};
		where("session =", sessionId === undefined ? undefined : toBytes(sessionId));
		where("id =", commandId === undefined ? undefined : toBytes(commandId));
		where("admitted_at >=", fromMs);
		where("admitted_at <=", toMs);
		const { rows } = await this.#connection.query({
			text: `SELECT id, type, session, admitted_at, finished_at, summary FROM strata.commands
				WHERE ${conditions.join(" AND ")} ORDER BY admitted_at DESC, position DESC LIMIT $2`,
			values,
		});
		return (rows as HistoryRow[]).map(historyEntry);
	}

	async unheldOf(principal: string): Promise<SessionRecord[]> {
		const { rows } = await this.#connection.query({ ...UNHELD_OF, values: [principal] });
		return rows.map(({ record }) => JSON.parse(record)).reverse();
	}

	async unheldFoldersBelow(folder: string): Promise<string[]> {
		const inJson = JSON.stringify(folder).slice(1, -1);
		const { rows } = await this.#connection.query({ ...UNHELD_BELOW, values: [inJson, folder] });
		return rows.map(({ cwd }) => cwd);
	}

	/** In pages, so that a long conversation delays other questions little. */
	async entries({ principal, sessionId }: StreamName, conversation: string): Promise<string[]> {
		const pages: string[][] = [];
		for (let from = 0; ; ) {
			const { rows } = await this.#connection.query({
				...ENTRIES,
				values: [principal, toBytes(sessionId), conversation, from],
			});
			const { page, next } = rows[0] as { page: string | null; next: number | null };
			if (page === null || next === null) return pages.flat();
			pages.push(page.split("\n"));
			from = next;
		}
	}
}

const MAX_QUESTIONS = 2_048;

const STREAM = "(SELECT stream FROM strata.heads WHERE principal = $1 AND session = $2)";

/** Each statement is prepared once a connection. */
const FIND = {
	name: "strata_find",
	text: `SELECT n.index, ${COMMAND_COLUMNS} FROM unnest($1::text[], $2::bytea[], $3::integer[])
			AS n (principal, id, index)
			JOIN strata.commands ON commands.principal = n.principal AND commands.id = n.id
		UNION ALL
		SELECT n.index, found.* FROM unnest($4::text[], $5::bytea[], $6::bytea[], $7::integer[])
			AS n (principal, key, key_scope, index)
			CROSS JOIN LATERAL (SELECT ${COMMAND_COLUMNS} FROM strata.commands
				WHERE commands.principal = n.principal AND commands.key = n.key AND commands.key_scope = n.key_scope
					AND (commands.finished_at IS NULL OR commands.finished_at > $8)
				ORDER BY commands.position LIMIT 1) AS found`,
};
const EVENTS = {
	name: "strata_events",
	text: `SELECT seq, at, body FROM strata.events WHERE stream = ${STREAM} AND seq > $3 ORDER BY seq LIMIT $4`,
};
const EXTENT = {
	name: "strata_extent",
	text: `SELECT last, (SELECT min(seq) FROM strata.events WHERE events.stream = heads.stream) AS first
		FROM strata.heads WHERE principal = $1 AND session = $2`,
};
const OWNERS = {
	name: "strata_owners",
	text: "SELECT conversation, principal FROM strata.owners WHERE conversation = ANY($1::text[])",
};
// Two ranges of an index, not `<>`, which would read all rows of the principal.
const OTHER_OWNER = {
	name: "strata_other_owner",
	text: `SELECT EXISTS (SELECT 1 FROM strata.owners WHERE principal < $1)
		OR EXISTS (SELECT 1 FROM strata.owners WHERE principal > $1) AS found`,
};
const UNHELD = `strata.sessions JOIN strata.heads ON heads.id = sessions.head
	AND (heads.owner IS NULL OR NOT EXISTS (SELECT 1 FROM strata.nodes WHERE nodes.id = heads.owner))`;
const UNHELD_OF = {
	name: "strata_unheld_of",
	text: `SELECT sessions.record FROM ${UNHELD} WHERE heads.principal = $1 ORDER BY heads.id DESC LIMIT ${MAX_UNHELD}`,
};
/** Most records are left out by their text, without reading them as JSON. */
const UNHELD_BELOW = {
	name: "strata_unheld_below",
	text: `SELECT DISTINCT cwd FROM (SELECT record FROM ${UNHELD} WHERE strpos(sessions.record, $1) > 0 OFFSET 0) AS likely,
		LATERAL (SELECT record::json ->> 'cwd' AS cwd) AS parsed WHERE starts_with(cwd, $2)`,
};
/** One row a page, which is much less work than one for each entry. No line of JSON has a line break. */
const ENTRIES = {
	name: "strata_entries",
	text: `SELECT string_agg(body, E'\\n' ORDER BY n) AS page, max(n) + 1 AS next
		FROM (SELECT n, body, sum(octet_length(body)) OVER (ORDER BY n) - octet_length(body) AS before
			FROM strata.entries WHERE stream = ${STREAM} AND conversation = $3 AND n >= $4 ORDER BY n LIMIT ${PAGE_ENTRIES})
			AS entries
		WHERE before < ${PAGE_CHARACTERS * 4}`,
};
