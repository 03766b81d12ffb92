import { spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import {
	copyFileSync,
	cpSync,
	existsSync,
	mkdirSync,
	readFileSync,
	renameSync,
	rmdirSync,
	rmSync,
	statSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { JournalFile } from "../../../src/server/journal/journal-file.ts";
import { type Mark, MarkFile, readMark } from "../../../src/server/journal/mark.ts";
import { migrations } from "../../../src/server/journal/schema.ts";
import { command, event, finished, session } from "../../contracts/journal.ts";
import { PATIENCE } from "../../support/patience.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { type StartedJournal, startJournal } from "./start-journal.ts";

const CHILD = fileURLToPath(new URL("./journal-child.ts", import.meta.url));
const FILES = ["journal.db", "journal.db-wal", "journal.mark"];

/** A folder that a process wrote into until it was killed, and the ids whose record or outcome was confirmed. */
async function killedFolder(): Promise<{ dataDir: string; confirmed: Set<string> }> {
	const dataDir = tempDir();
	const child = spawn(process.execPath, [CHILD, dataDir, "r", "4"], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	atEnd(() => child.kill("SIGKILL"));
	const confirmed = new Set<string>();
	const lines = createInterface({ input: child.stdout });
	const closed = once(lines, "close");
	lines.on("line", (line) => {
		if (!line.endsWith("}")) return;
		const said = JSON.parse(line);
		const id = said.admitted ?? said.finished;
		if (id !== undefined) confirmed.add(id);
		if (confirmed.size === 100) child.kill("SIGKILL");
	});
	await closed;
	return { dataDir, confirmed };
}

function copyOf(dataDir: string): string {
	const copy = join(tempDir(), "copy");
	cpSync(dataDir, copy, { recursive: true });
	// As after a restart of the machine, nothing but the files is left.
	rmSync(join(copy, "journal.db-shm"), { force: true });
	return copy;
}

function contentsOf(dataDir: string): (string | undefined)[] {
	return FILES.map((name) => {
		const path = join(dataDir, name);
		// Where there is no log, looking for one leaves an empty one.
		return existsSync(path) && statSync(path).size > 0
			? hash("sha256", readFileSync(path))
			: undefined;
	});
}

/** Opens a damaged folder: it has all that was confirmed, or is refused and left as it is. */
async function open(dataDir: string, confirmed: Iterable<string>): Promise<"whole" | "refused"> {
	const before = contentsOf(dataDir);
	const path = join(dataDir, "journal.db");
	const file = new JournalFile();
	const reply = await file.handle({
		kind: "open",
		path,
		nowMs: 10_000,
		maxFileBytes: 2 ** 30,
		recovery: "settle",
	});
	await file.handle({ kind: "close" });
	if (reply.kind === "refused") {
		expect(reply.refusal).toMatchObject({ permanent: true, why: expect.stringMatching(/restore/) });
		expect(contentsOf(dataDir)).toEqual(before);
		return "refused";
	}
	expect(reply.kind).toBe("opened");
	const ids = idsIn(path);
	for (const id of confirmed) expect(ids).toContain(id);
	return "whole";
}

function idsIn(path: string): Set<string> {
	const database = new DatabaseSync(path, { readOnly: true });
	const ids = new Set(
		database
			.prepare("SELECT id FROM commands")
			.all()
			.map(({ id }) => String(id)),
	);
	database.close();
	return ids;
}

/** Numbers below 1 that are the same in each run. */
function numbers(seed: number): () => number {
	let state = seed;
	return () => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return state / 2 ** 32;
	};
}

function flip(path: string, at: number): void {
	const bytes = readFileSync(path);
	bytes[at] = (bytes[at] ?? 0) ^ 0x10;
	writeFileSync(path, bytes);
}

describe("the log of a journal whose process was killed", () => {
	test("flipped or cut anywhere, has all that was confirmed or is refused", {
		tags: "slow",
	}, async () => {
		const { dataDir, confirmed } = await killedFolder();
		const { size } = statSync(join(dataDir, "journal.db-wal"));
		const next = numbers(16);
		const results = { whole: 0, refused: 0 };
		expect(await open(copyOf(dataDir), confirmed)).toBe("whole");
		for (let round = 0; round < 28; round++) {
			const folder = copyOf(dataDir);
			const log = join(folder, "journal.db-wal");
			const at = Math.floor(next() * size);
			if (round % 2 === 0) flip(log, at);
			else truncateSync(log, at);
			results[await open(folder, confirmed)] += 1;
		}
		expect(results.refused).toBeGreaterThan(20);
	});

	test("taken away, or without what came last, is refused", { tags: "slow" }, async () => {
		const { dataDir, confirmed } = await killedFolder();
		const without = copyOf(dataDir);
		rmSync(join(without, "journal.db-wal"));
		expect(await open(without, confirmed)).toBe("refused");
		const cut = copyOf(dataDir);
		const log = join(cut, "journal.db-wal");
		const [last] = [...confirmed].slice(-1);
		// A byte less until the last confirmed id is no longer in it.
		while (readFileSync(log).includes(String(last))) truncateSync(log, statSync(log).size - 4_120);
		expect(await open(cut, confirmed)).toBe("refused");
	});

	test("that is damaged is taken as it is when the mark beside it is deleted", {
		tags: "slow",
	}, async () => {
		const { dataDir, confirmed } = await killedFolder();
		const log = join(dataDir, "journal.db-wal");
		truncateSync(log, Math.floor(statSync(log).size / 2));
		expect(await open(dataDir, confirmed)).toBe("refused");
		rmSync(join(dataDir, "journal.mark"));
		expect(await open(dataDir, [])).toBe("whole");
		expect(idsIn(join(dataDir, "journal.db")).size).toBeGreaterThan(0);
		const { journal } = await startJournal({}, dataDir);
		expect(journal.health()).toEqual({ ok: true });
		await journal.admit(command("new"));
	});
});

describe("the file of a journal", () => {
	/** A journal that was in use, closed or left as a crash would leave it. */
	async function used(closed: boolean): Promise<StartedJournal> {
		const started = await startJournal();
		const { journal, threads } = started;
		await journal.finish(finished(command("create"), { session: session("s"), version: 1 }));
		for (let n = 0; n < 200; n++)
			void journal.append(event(n + 1, { body: `"${"x".repeat(500)}"` }));
		await journal.finish(finished(command("a")));
		journal.sweep();
		await journal.flush();
		await journal.finish(finished(command("b")));
		if (closed) await journal.close();
		else {
			threads.allowed = false;
			await started.killThread();
		}
		return started;
	}

	test.each([
		["deleted", (path: string) => rmSync(path)],
		["emptied", (path: string) => truncateSync(path, 0)],
		["cut", (path: string) => truncateSync(path, statSync(path).size - 4_096)],
		["replaced by an older one", replaceByOlder],
	])("that was %s is refused, with its log and without", { tags: "slow" }, async (_, damage) => {
		for (const closed of [true, false]) {
			const { dataDir } = await used(closed);
			const folder = copyOf(dataDir);
			damage(join(folder, "journal.db"));
			expect(await open(folder, ["create", "a", "b"])).toBe("refused");
		}
	});

	test("is not refused when a power cut took what was never durable", async () => {
		const { journal, dataDir, killThread, threads } = await startJournal();
		await journal.admit(command("a"));
		await journal.flush();
		const before = copyOf(dataDir);
		await journal.append(event(1));
		const mark = join(dataDir, "journal.mark");
		const after = readFileSync(mark, "latin1");
		threads.allowed = false;
		await killThread();
		copyFileSync(mark, join(before, "journal.mark"));
		expect(await open(copyOf(before), ["a"])).toBe("refused");
		const bootOf = (text: string) => /"boot":"([^"]*)"/.exec(text)?.[1] ?? "";
		expect(bootOf(after)).not.toBe("");
		// The same on a machine that was started again since.
		const written = readMark(mark) as Mark;
		rmSync(join(before, "journal.mark"));
		new MarkFile(join(before, "journal.mark"), { ...written, boot: "an earlier one" }).close();
		expect(await open(before, ["a"])).toBe("whole");
	});

	test("has what was written soon after the start, not only the log", {
		tags: "slow",
	}, async () => {
		const { journal, dataDir } = await startJournal();
		await journal.flush();
		await journal.finish(finished(command("a")));
		const path = join(dataDir, "journal.db");
		const alone = `${pathToFileURL(path).href}?immutable=1`;
		await vi.waitFor(() => expect(idsIn(alone)).toContain("a"), PATIENCE);
	});

	test("with a page of commands that cannot be read makes the journal refuse at the start", {
		tags: "slow",
	}, async () => {
		const { dataDir } = await used(true);
		const path = join(dataDir, "journal.db");
		const database = new DatabaseSync(path);
		const sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'commands'";
		const page = Number(database.prepare(sql).get()?.rootpage);
		database.close();
		const bytes = readFileSync(path);
		bytes.fill(0xff, (page - 1) * 4_096, page * 4_096);
		writeFileSync(path, bytes);
		const warned: string[] = [];
		const { journal } = await startJournal({ warn: (line) => warned.push(line) }, dataDir);
		await vi.waitFor(
			() => expect(journal.health()).toMatchObject({ why: expect.stringMatching(/damaged/) }),
			PATIENCE,
		);
		expect(warned).toEqual([expect.stringMatching(/refused: .*damaged/)]);
	});
});

describe("the mark of a journal", () => {
	const mark: Mark = { durable: 7, written: 8, boot: "b", folded: 5, foldedBytes: 4_096 };

	test("survives a write that breaks off, and is damaged when nothing of it is left", () => {
		const path = join(tempDir(), "journal.mark");
		expect(readMark(path)).toBeUndefined();
		const file = new MarkFile(path, mark);
		file.write({ ...mark, written: 9, durable: 9 });
		expect(readMark(path)).toEqual({ ...mark, written: 9, durable: 9 });
		file.close();
		flip(path, 4_096 + 30);
		expect(readMark(path)).toEqual(mark);
		flip(path, 30);
		expect(readMark(path)).toBe("damaged");
		truncateSync(path, 0);
		expect(readMark(path)).toBe("damaged");
	});

	test("of an earlier start is gone, also where a power cut left it a higher number", () => {
		const path = join(tempDir(), "journal.mark");
		const earlier = new MarkFile(path, mark);
		earlier.write({ ...mark, written: 100 });
		earlier.write({ ...mark, written: 101 });
		earlier.close();
		const next = { ...mark, written: 9, boot: "c" };
		new MarkFile(path, next).close();
		expect(readMark(path)).toEqual(next);
	});

	test("that cannot be made keeps the journal from taking records, until it can", async () => {
		const dataDir = tempDir();
		mkdirSync(join(dataDir, "journal.mark.new"));
		const { journal } = await startJournal({ limits: { retryMs: 10 } }, dataDir);
		expect(journal.health()).toMatchObject({ ok: false });
		rmdirSync(join(dataDir, "journal.mark.new"));
		await vi.waitFor(() => expect(journal.health()).toEqual({ ok: true }), PATIENCE);
		await journal.admit(command("a"));
		expect(readMark(join(dataDir, "journal.mark"))).toMatchObject({
			durable: expect.any(Number),
		});
	});

	test("that is damaged makes the journal refuse", { tags: "slow" }, async () => {
		const { journal, dataDir } = await startJournal();
		await journal.finish(finished(command("a")));
		await journal.close();
		writeFileSync(join(dataDir, "journal.mark"), "?");
		const { journal: next } = await startJournal({}, dataDir);
		expect(next.health()).toMatchObject({ why: expect.stringMatching(/journal\.mark is damaged/) });
	});
});

function replaceByOlder(path: string): void {
	const older = new DatabaseSync(`${path}.older`);
	older.exec("PRAGMA journal_mode = WAL");
	for (const step of migrations) step(older);
	older.exec(`PRAGMA user_version = ${migrations.length}; CREATE TABLE filler (a);
		INSERT INTO filler VALUES (zeroblob(4000000))`);
	older.close();
	renameSync(`${path}.older`, path);
}
