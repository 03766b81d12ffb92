import type { Migration } from "../core/sqlite.ts";

/**
 * `request.pieces` has the pieces of messages behind the first `shared` ones of request `base`. A
 * request's whole prompt is its head and these. Nothing here is text of a prompt or an answer.
 */
export const MIGRATIONS: Migration[] = [
	(database) =>
		database.exec(`
			CREATE TABLE conversation (
				id INTEGER PRIMARY KEY AUTOINCREMENT,
				startedMs INTEGER NOT NULL,
				usedMs INTEGER NOT NULL,
				format TEXT NOT NULL,
				upstream TEXT NOT NULL,
				speaker TEXT NOT NULL,
				cacheKey TEXT,
				parent INTEGER
			) STRICT;
			CREATE INDEX conversationByUse ON conversation (usedMs);
			CREATE TABLE head (
				conversation INTEGER NOT NULL REFERENCES conversation ON DELETE CASCADE,
				hash TEXT NOT NULL,
				pieces TEXT NOT NULL,
				PRIMARY KEY (conversation, hash)
			) STRICT, WITHOUT ROWID;
			CREATE TABLE request (
				id INTEGER PRIMARY KEY AUTOINCREMENT,
				conversation INTEGER NOT NULL REFERENCES conversation ON DELETE CASCADE,
				startedMs INTEGER NOT NULL,
				firstByteMs INTEGER,
				endedMs INTEGER NOT NULL,
				model TEXT NOT NULL,
				status INTEGER,
				ended TEXT NOT NULL,
				error TEXT,
				step TEXT NOT NULL,
				changed TEXT,
				head TEXT NOT NULL,
				base INTEGER,
				shared INTEGER NOT NULL,
				pieces TEXT NOT NULL,
				settings TEXT NOT NULL,
				input INTEGER,
				read INTEGER,
				write INTEGER,
				writeOneHour INTEGER,
				output INTEGER,
				reasoning INTEGER,
				cost REAL,
				dollars REAL,
				missTokens REAL,
				missCause TEXT,
				missChanged TEXT,
				missCost REAL,
				missDollars REAL,
				providerReason TEXT,
				providerTokens INTEGER,
				requestText TEXT,
				answerText TEXT
			) STRICT;
			CREATE INDEX requestByConversation ON request (conversation, id);
		`),
	// `lastPrompt` has the tokens of the last prompt as JSON, if there were several.
	(database) =>
		database.exec(`
			ALTER TABLE request ADD COLUMN ttl TEXT;
			ALTER TABLE request ADD COLUMN cleared INTEGER;
			ALTER TABLE request ADD COLUMN lastPrompt TEXT;
		`),
	// What shortening saved, or would have saved in shadow, by estimate; `kept` says why results stayed.
	(database) =>
		database.exec(`
			ALTER TABLE request ADD COLUMN savedTokens INTEGER;
			ALTER TABLE request ADD COLUMN savedInShadow INTEGER;
			ALTER TABLE request ADD COLUMN kept TEXT;
		`),
];
