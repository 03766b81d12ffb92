import { execFile } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { hashBytes } from "../../src/core/hash.ts";
import {
	type Migration,
	openDatabase,
	openForReading,
	sqliteErrorCode,
	sqliteSupport,
} from "../../src/core/sqlite.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const createNotes: Migration = (database) => database.exec("CREATE TABLE notes (text TEXT)");
const addAuthor: Migration = (database) =>
	database.exec("ALTER TABLE notes ADD COLUMN author TEXT DEFAULT 'nobody'");
const addIndex: Migration = (database) => database.exec("CREATE INDEX byAuthor ON notes (author)");

async function open(path: string, migrations: Migration[]): Promise<DatabaseSync> {
	const opened = await openDatabase(path, migrations);
	if (opened.kind !== "open") throw new Error(opened.message);
	atEnd(() => opened.database.isOpen && opened.database.close());
	return opened.database;
}

/** Makes a database of the given version that holds one note, and closes it. */
async function makeDatabase(path: string, migrations: Migration[]): Promise<void> {
	const database = await open(path, migrations);
	database.exec("INSERT INTO notes (text) VALUES ('kept')");
	database.close();
}

function versionOf(path: string): unknown {
	const database = new DatabaseSync(path);
	const version = database.prepare("PRAGMA user_version").get()?.user_version;
	database.close();
	return version;
}

describe("a database", () => {
	test("is created with the newest schema, for many readers beside one writer", async () => {
		const path = join(tempDir(), "new.db");
		const database = await open(path, [createNotes, addAuthor]);
		database.exec("INSERT INTO notes (text) VALUES ('a')");
		expect(database.prepare("SELECT * FROM notes").all()).toEqual([
			{ text: "a", author: "nobody" },
		]);
		expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
		expect(database.prepare("PRAGMA foreign_keys").get()).toEqual({ foreign_keys: 1 });
		database.close();
		expect(versionOf(path)).toBe(2);
	});

	test("of an older version goes through the missing steps once, in order, and keeps its data", async () => {
		const path = join(tempDir(), "old.db");
		await makeDatabase(path, [createNotes]);
		const taken: string[] = [];
		const step =
			(name: string, migration: Migration): Migration =>
			(database) => {
				taken.push(name);
				migration(database);
			};
		const history = [
			step("notes", createNotes),
			step("author", addAuthor),
			step("index", addIndex),
		];
		const database = await open(path, history);
		expect(taken).toEqual(["author", "index"]);
		expect(database.prepare("SELECT text, author FROM notes").all()).toEqual([
			{ text: "kept", author: "nobody" },
		]);
		database.close();
		await open(path, history);
		expect(taken).toEqual(["author", "index"]);
	});

	test("keeps its old version and schema when a later step fails, and says what failed", async () => {
		const path = join(tempDir(), "old.db");
		await makeDatabase(path, [createNotes]);
		const failing: Migration = (database) => database.exec("CREATE TABLE notes (again TEXT)");
		const opened = await openDatabase(path, [createNotes, addAuthor, failing]);
		expect(opened).toMatchObject({ kind: "unavailable" });
		expect(opened).toHaveProperty("message", expect.stringContaining(path));
		expect(opened).toHaveProperty("message", expect.stringContaining("notes already exists"));

		expect(versionOf(path)).toBe(1);
		const database = await open(path, [createNotes]);
		expect(database.prepare("SELECT * FROM notes").all()).toEqual([{ text: "kept" }]);
	});

	test("reports the step's own fault when that step has ended the transaction", async () => {
		const path = join(tempDir(), "new.db");
		const failing: Migration = (database) => {
			database.exec("ROLLBACK"); // as SQLite does by itself when the disk is full
			throw new Error("disk full");
		};
		expect(await openDatabase(path, [failing])).toEqual({
			kind: "unavailable",
			message: `cannot open ${path}: disk full`,
			cause: new Error("disk full"),
		});
	});

	test("of a newer version is left as it is, with both versions and a way out named", async () => {
		const folder = tempDir();
		const path = join(folder, "newer.db");
		await makeDatabase(path, [createNotes, addAuthor, addIndex]);
		const before = snapshot(folder);
		const opened = await openDatabase(path, [createNotes]);
		expect(opened.kind).toBe("newer");
		const message = "message" in opened ? opened.message : "";
		expect(message).toContain(path);
		expect(message).toMatch(/version 3\b.*up to 1\b.*update pi-strata.*strata clean/s);
		expect(snapshot(folder)).toEqual(before);
	});

	test("of a newer version that crashed keeps its unfinished log too", async () => {
		const folder = tempDir();
		await makeDatabase(join(folder, "running.db"), [createNotes]);
		const running = await open(join(folder, "running.db"), [createNotes]);
		running.exec("INSERT INTO notes (text) VALUES ('in the log only')");
		const copy = join(tempDir(), "crashed.db");
		for (const end of ["", "-wal"]) copyFileSync(join(folder, `running.db${end}`), copy + end);
		const before = snapshot(join(copy, ".."));
		expect(await openDatabase(copy, [])).toMatchObject({ kind: "newer" });
		expect(snapshot(join(copy, ".."))).toEqual(before);
	});

	test("that a newer pi-strata migrates at the same moment is not called older again", {
		tags: "slow",
	}, async () => {
		const path = join(tempDir(), "raced.db");
		await makeDatabase(path, [createNotes]);
		// Holds the lock when we look at the version, and gives it back as version 9.
		const newer = new Worker(
			`const { DatabaseSync } = require("node:sqlite");
			const { parentPort, workerData } = require("node:worker_threads");
			const database = new DatabaseSync(workerData);
			database.exec("BEGIN IMMEDIATE; PRAGMA user_version = 9");
			parentPort.postMessage("locked");
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
			database.exec("COMMIT");
			database.close();`,
			{ eval: true, workerData: path },
		);
		const ended = once(newer, "exit");
		await once(newer, "message");
		const opened = await openDatabase(path, [createNotes, addAuthor]);
		await ended;
		expect(opened.kind).toBe("newer");
		expect(versionOf(path)).toBe(9);
	});

	test("is migrated by one of several processes that open it at once, and used by all", {
		tags: "slow",
	}, async () => {
		const path = join(tempDir(), "shared.db");
		const script = `
			import { openDatabase } from ${JSON.stringify(new URL("../../src/core/sqlite.ts", import.meta.url).href)};
			const opened = await openDatabase(${JSON.stringify(path)}, [
				(database) => database.exec("CREATE TABLE notes (text TEXT)"),
				(database) => database.exec("ALTER TABLE notes ADD COLUMN author TEXT"),
			]);
			if (opened.kind !== "open") throw new Error(opened.message);
			opened.database.exec("INSERT INTO notes (text) VALUES ('one')");
			opened.database.close();`;
		const run = () =>
			promisify(execFile)(process.execPath, ["--input-type=module-typescript", "--eval", script]);
		await Promise.all([run(), run(), run(), run()]);
		const database = await open(path, [createNotes, addAuthor]);
		expect(database.prepare("SELECT count(*) AS notes FROM notes").get()).toEqual({ notes: 4 });
	});

	test("is opened by all of several processes that create it at the same moment", {
		tags: "slow",
	}, async () => {
		const module = new URL("../../src/core/sqlite.ts", import.meta.url).href;
		for (let round = 0; round < 3; round++) {
			const path = join(tempDir(), "data.db");
			const script = `
				import { openDatabase } from ${JSON.stringify(module)};
				while (Date.now() < ${Date.now() + 1000});
				const opened = await openDatabase(${JSON.stringify(path)}, []);
				console.log(opened.kind === "open" ? "open" : opened.message);`;
			const run = () =>
				promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
			const outcomes = await Promise.all(Array.from({ length: 4 }, run));
			expect(outcomes.map(({ stdout }) => stdout.trim())).toEqual(Array(4).fill("open"));
		}
	});

	test("in the same process can be open twice", async () => {
		const path = join(tempDir(), "twice.db");
		const [one, other] = await Promise.all([
			open(path, [createNotes, addAuthor]),
			open(path, [createNotes, addAuthor]),
		]);
		one.exec("INSERT INTO notes (text) VALUES ('seen by both')");
		expect(other.prepare("SELECT text FROM notes").all()).toEqual([{ text: "seen by both" }]);
	});
});

describe("what is no usable database", () => {
	test("such as another kind of file is unavailable, and stays as it is", async () => {
		const path = join(tempDir(), "notes.txt");
		const text = "no database, just a long text\n".repeat(500);
		writeFileSync(path, text);
		expect(await openDatabase(path, [createNotes])).toEqual({
			kind: "unavailable",
			message: `cannot open ${path}: file is not a database`,
			cause: expect.objectContaining({ errcode: 26 }),
			errorCode: 26,
		});
		expect(readFileSync(path, "utf8")).toBe(text);
	});

	test("such as a database with a damaged first page is unavailable", async () => {
		const path = join(tempDir(), "damaged.db");
		await makeDatabase(path, [createNotes]);
		const bytes = readFileSync(path);
		bytes.fill(0xff, 100, 4096); // the header stays, the table of tables does not
		writeFileSync(path, bytes);
		const opened = await openDatabase(path, [createNotes, addAuthor]);
		expect(opened).toMatchObject({ kind: "unavailable" });
		expect(opened).toHaveProperty("message", expect.stringContaining(`cannot open ${path}: `));
	});

	test("such as a folder, or a file in a folder that is not there, is unavailable", async () => {
		const folder = tempDir();
		mkdirSync(join(folder, "folder.db"));
		for (const path of [join(folder, "folder.db"), join(folder, "missing", "new.db")]) {
			const opened = await openDatabase(path, [createNotes]);
			expect(opened).toMatchObject({ kind: "unavailable" });
			expect(opened).toHaveProperty("message", expect.stringContaining(path));
		}
		expect(readdirSync(folder)).toEqual(["folder.db"]);
	});
});

test("the host under test has SQLite with full-text search", async () => {
	expect(await sqliteSupport()).toEqual({ ok: true, version: expect.stringMatching(/^3\.\d+/) });
});

/** Every file of a folder with the hash of its bytes. */
function snapshot(folder: string): [string, string][] {
	return readdirSync(folder)
		.sort()
		.map((name) => [name, hashBytes(readFileSync(join(folder, name)))]);
}

/** The code that an action fails with. */
function codeOf(action: () => void): number | undefined {
	try {
		action();
	} catch (error) {
		return sqliteErrorCode(error);
	}
	throw new Error("nothing failed");
}

describe("a reader beside a writer", () => {
	test("sees what is committed, can write nothing, and creates nothing", async () => {
		const path = join(tempDir(), "notes.db");
		expect(await openForReading(path)).toMatchObject({ kind: "unavailable", errorCode: 14 });
		const writer = await open(path, [createNotes]);
		const reader = await openForReading(path);
		if (reader.kind !== "open") throw new Error(reader.message);
		atEnd(() => reader.database.close());
		writer.exec("INSERT INTO notes VALUES ('a')");
		expect(reader.database.prepare("SELECT text FROM notes").all()).toEqual([{ text: "a" }]);
		expect(codeOf(() => reader.database.exec("DELETE FROM notes"))).toBe(8);
		expect(sqliteErrorCode(new Error("something else"))).toBeUndefined();
	});
});
