import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { tempDir } from "../support/temp.ts";

export interface OpencodeTokens {
	input: number;
	output?: number;
	reasoning?: number;
	read?: number;
	write?: number;
}

interface Message {
	readonly info: Record<string, unknown> & { readonly id: string };
	readonly parts: readonly object[];
}

/** One session of opencode, ten seconds between its messages. */
export class OpencodeSession {
	readonly info: { readonly id: string; readonly [field: string]: unknown };
	readonly messages: Message[] = [];
	atMs = Date.UTC(2026, 5, 1);
	readonly #name: string;

	constructor(id = "ses_1", fields: object = {}) {
		this.#name = id;
		this.info = {
			id,
			version: "1.18.33",
			projectID: "p1",
			directory: "/w/app",
			time: { created: this.atMs },
			...fields,
		};
	}

	user(text: string, parts: readonly object[] = []): this {
		return this.message({ role: "user" }, [{ type: "text", text }, ...parts]);
	}

	assistant(parts: string | readonly object[], tokens: OpencodeTokens, fields: object = {}): this {
		const { input, output = 10, reasoning = 0, read = 0, write = 0 } = tokens;
		const given = typeof parts === "string" ? [{ type: "text", text: parts }] : parts;
		const info = {
			role: "assistant",
			providerID: "anthropic",
			modelID: "claude-opus-4-5",
			tokens: { input, output, reasoning, cache: { read, write } },
			...fields,
		};
		return this.message(info, [{ type: "step-start" }, ...given, { type: "step-finish" }]);
	}

	tool(callID: string, tool: string, input: object, output: string, time: object = {}): object {
		const state = { status: "completed", input, output, time: { end: this.atMs, ...time } };
		return { type: "tool", callID, tool, state };
	}

	message(info: object, parts: readonly object[]): this {
		this.atMs += 10_000;
		const id = `msg_${this.#name}_${String(this.messages.length).padStart(4, "0")}`;
		const time = { created: this.atMs, completed: this.atMs + 5000 };
		this.messages.push({ info: { id, time, ...info }, parts });
		return this;
	}

	/** As `opencode export` prints it. */
	document(indent?: number): string {
		return JSON.stringify({ info: this.info, messages: this.messages }, null, indent);
	}

	save(name = "export.json", folder = tempDir(), indent: number | undefined = 2): string {
		const file = join(folder, name);
		writeFileSync(file, this.document(indent));
		return file;
	}

	/** As versions before the database stored it. Returns the file of the session. */
	saveFolder(storage: string): string {
		const write = (path: string, value: object) => {
			mkdirSync(join(storage, path, ".."), { recursive: true });
			writeFileSync(join(storage, path), JSON.stringify(value, null, 2));
		};
		const file = `session/p1/${this.info.id}.json`;
		write(file, this.info);
		for (const { info, parts } of this.messages) {
			write(`message/${this.info.id}/${info.id}.json`, info);
			for (const [at, part] of parts.entries()) write(`part/${info.id}/prt_${at}.json`, part);
		}
		return join(storage, file);
	}
}

/** Writes `opencode.db`; leave it open to see a database in use, whose log is not written back. */
export function openDatabase(file: string, sessions: readonly OpencodeSession[]): DatabaseSync {
	const database = new DatabaseSync(file);
	database.exec(`
		PRAGMA journal_mode = WAL;
		CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER);
		CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
		CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
	`);
	const addSession = database.prepare(
		"INSERT INTO session VALUES (?, 'p1', ?, '/w/app', 't', '1.18.33', ?, 0)",
	);
	const addMessage = database.prepare("INSERT INTO message VALUES (?, ?, ?, 0, ?)");
	const addPart = database.prepare("INSERT INTO part VALUES (?, ?, ?, 0, 0, ?)");
	for (const { info, messages } of sessions) {
		const parent = (info.parentID as string | undefined) ?? null;
		addSession.run(info.id, parent, (info.time as { created: number }).created);
		for (const message of messages) {
			const { id, ...data } = message.info;
			const { created } = data.time as { created: number };
			addMessage.run(id, info.id, created, JSON.stringify(data));
			for (const [at, part] of message.parts.entries()) {
				const name = `prt_${id}_${String(at).padStart(4, "0")}`;
				addPart.run(name, id, info.id, JSON.stringify(part));
			}
		}
	}
	return database;
}
