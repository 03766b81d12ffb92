import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { askIndex, askServer, continueSession, PLACE } from "../fixtures/old-stores/steps.ts";
import { sha256 } from "../support/read-session.ts";
import { tempDir } from "../support/temp.ts";

const made = fileURLToPath(new URL("../fixtures/old-stores/made/", import.meta.url));
const expected = JSON.parse(readFileSync(join(made, "expected.json"), "utf8"));

/** A place with the toy project, its read cache and its blobs, as the old version left them. */
function oldPlace(): string {
	const place = tempDir();
	cpSync(join(made, "code"), join(place, "code"), { recursive: true });
	cpSync(join(made, "blobs"), join(place, "blobs"), { recursive: true });
	const settings = { blobs: { dir: join(place, "blobs") }, kota: { confirmIndex: false } };
	put(join(place, "agent", "strata.json"), JSON.stringify(settings));
	return place;
}

function put(path: string, content: string | Uint8Array): void {
	mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
	writeFileSync(path, content, { mode: 0o600 });
}

test("a session with known files, pruned texts and a working set goes on with the same requests", async () => {
	const place = oldPlace();
	const file = join(place, "agent", "sessions", "old.jsonl");
	put(file, asOfNow(readFileSync(join(made, "session.jsonl"), "utf8").replaceAll(PLACE, place)));
	expect(await continueSession(place, file)).toEqual(expected.session);
	// Neither read was served in full for want of an object, nor the stub made again.
	const last = JSON.stringify(expected.session.requests.at(-1));
	expect(last).toContain("[readcache: unchanged");
	expect(last).toContain("(Pruned) read(path=");
});

test("a code index of an older extractor is built again, and answers as a new one", {
	tags: "slow",
}, async () => {
	const place = oldPlace();
	const root = join(place, "code");
	const database = join(place, "index", `code-${sha256(root).slice(0, 16)}`, "index.db");
	put(database, gunzipSync(readFileSync(join(made, "index.db.gz"))));
	const report = { added: 4, changed: 0, removed: 0 };
	const answers = await askIndex(place);
	expect(answers).toMatchObject({ ...expected.index, report });
	expect(JSON.stringify(answers)).toContain('"within":"nine"');
});

test("a server's journal gives its sessions and the answers to commands that it has carried out", {
	tags: "slow",
}, async () => {
	const place = oldPlace();
	const journal = join(place, "data", "journal.db");
	put(journal, gunzipSync(readFileSync(join(made, "journal.db.gz"))));
	moveJournal(journal, place);
	const [{ sessionFile, cwd }] = expected.second[3].data.sessions;
	const messages = readFileSync(join(made, "server-session.jsonl"), "utf8");
	put(sessionFile.replace(PLACE, place), messages.replaceAll(PLACE, place));
	mkdirSync(cwd.replace(PLACE, place), { recursive: true });
	const list = { id: "list", type: "list_sessions" };
	const last = { id: "last", type: "get_last_assistant_text", sessionId: "s" };
	const answers = await askServer(place, [...expected.commands, list, last]);
	expect(answers).toEqual(expected.second);
	expect(answers).toMatchObject(Array(3).fill({ replayed: true }).concat({}, {}));
});

/** As if its last entry had been written just now: an hour later its cache would be cold, and more be pruned. */
function asOfNow(session: string): string {
	const dates = /"timestamp":"([^"]+)"/g;
	const lastMs = Math.max(
		...Array.from(session.matchAll(dates), ([, date = ""]) => Date.parse(date)),
	);
	const laterMs = Date.now() - lastMs;
	return session
		.replaceAll(dates, (_all, date: string) => {
			return `"timestamp":"${new Date(Date.parse(date) + laterMs).toISOString()}"`;
		})
		.replaceAll(/"timestamp":(\d+)/g, (_all, ms: string) => `"timestamp":${Number(ms) + laterMs}`);
}

/** As if it had been made in this place and today: commands are forgotten after two weeks. */
function moveJournal(path: string, place: string): void {
	const database = new DatabaseSync(path);
	const texts = { sessions: ["cwd", "file"], commands: ["outcome"], events: ["body"] };
	for (const [table, columns] of Object.entries(texts)) {
		for (const column of columns) {
			database
				.prepare(`UPDATE ${table} SET ${column} = replace(${column}, ?, ?)`)
				.run(PLACE, place);
		}
	}
	const laterMs = Date.now() - expected.madeMs;
	database.exec(`
		UPDATE commands SET admitted_at = admitted_at + ${laterMs}, finished_at = finished_at + ${laterMs};
		UPDATE events SET at = at + ${laterMs};
	`);
	database.close();
}
