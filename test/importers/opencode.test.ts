import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { readSessions } from "../../src/importers/index.ts";
import { readSessionFile } from "../support/read-session-file.ts";
import { tempDir } from "../support/temp.ts";
import { billedIn, billsOf, changesOf, kindsOf } from "./billed.ts";
import { OpencodeSession, openDatabase } from "./opencode-writer.ts";

const BILLS = [
	[10, 0, 5000],
	[20, 5000, 300],
];

describe("a session of opencode", () => {
	test("has a request for each step, in an export of any layout", async () => {
		for (const indent of [undefined, 2]) {
			const file = example().save("export.json", tempDir(), indent);
			expect(await billedIn(file)).toEqual(BILLS);
			expect(await readSessionFile(file)).toMatchObject({
				agent: "opencode",
				session: "ses_1",
				cwd: "/w/app",
				version: "1.18.33",
			});
		}
	});

	test("several exports may follow one another in a file", async () => {
		const file = join(tempDir(), "all.jsonl");
		const second = new OpencodeSession("ses_2").user("x").assistant("y", { input: 7, write: 4500 });
		writeFileSync(file, `${example().document(2)}\n${second.document(2)}\n`);
		const sessions = await readSessions(file);
		expect(sessions.map(({ session }) => session)).toEqual(["ses_1", "ses_2"]);
		expect(await billedIn(file)).toEqual([...BILLS, [7, 0, 4500]]);
	});

	test("is the same in the database, also while opencode has it open", async () => {
		const file = join(tempDir(), "opencode.db");
		const database = openDatabase(file, [example()]);
		const live = await readSessions(file);
		database.close();
		const [closed] = await readSessions(file);
		const [exported] = await readSessions(example().save());
		expect(live).toHaveLength(1);
		expect(live[0]).toEqual(closed);
		expect(closed).toEqual({ ...exported, file });
	});

	test("reading the database leaves nothing beside it", async () => {
		const folder = tempDir();
		const file = join(folder, "opencode.db");
		openDatabase(file, [example()]).close();
		expect(await billedIn(file)).toEqual(BILLS);
		expect(readdirSync(folder)).toEqual(["opencode.db"]);
	});

	test("reading the database leaves it as it is, and other connections can write", async () => {
		const file = join(tempDir(), "opencode.db");
		const database = openDatabase(file, [example()]);
		await readSessions(file);
		database.exec("DELETE FROM part");
		database.close();
		expect(await billedIn(file)).toEqual(BILLS);
	});

	test("is the same in the folder of an older version", async () => {
		const file = example().saveFolder(join(tempDir(), "storage"));
		const [exported] = await readSessions(example().save());
		expect(await readSessions(file)).toEqual([{ ...exported, file }]);
	});

	test("of a parent session is a sub-agent, and comes last", async () => {
		const child = new OpencodeSession("ses_0", { parentID: "ses_1", time: { created: 1 } });
		child.user("task").assistant("done", { input: 9, write: 4200 });
		const file = join(tempDir(), "opencode.db");
		openDatabase(file, [child, example()]).close();
		const sessions = await readSessions(file);
		expect(sessions.map(({ session, subagent }) => [session, subagent])).toEqual([
			["ses_1", undefined],
			["ses_0", "ses_0"],
		]);
	});

	test("results that opencode cleared are whole before that, and short after it", async () => {
		const session = new OpencodeSession().user("read it");
		const compacted = session.atMs + 25_000;
		const call = session.tool("c1", "read", { filePath: "/w/a.ts" }, "line\n".repeat(2000), {
			compacted,
		});
		session.assistant([call], { input: 5, write: 5000 });
		session.assistant("seen", { input: 5, read: 5000, write: 3000 });
		session.user("go on").assistant("later", { input: 5, read: 5000, write: 100 });
		const read = await readSessionFile(session.save());
		expect(changesOf(read)).toEqual([[], [], ["edit"]]);
		expect(kindsOf(read).map((kinds) => kinds.filter((kind) => kind === "result").length)).toEqual([
			0, 1, 1,
		]);
	});

	test("a summary takes the place of everything before, and is billed itself", async () => {
		const session = example();
		session.message({ role: "user" }, [{ type: "compaction", auto: true }]);
		session.assistant("what happened", { input: 30, read: 5300, write: 200 }, { summary: true });
		session.user("go on").assistant("yes", { input: 5, write: 4300 });
		const read = await readSessionFile(session.save());
		expect(billsOf(read)).toHaveLength(4);
		expect(kindsOf(read)[3]).toEqual(["system", "summary", "user"]);
		expect(changesOf(read)[3]).toEqual(["compaction"]);
	});

	test("a fork has copies with new ids, which count once", async () => {
		const fork = example("ses_fork").user("other way").assistant("ok", { input: 3, read: 5300 });
		const seen = new Set<string>();
		expect(billsOf(await readSessionFile(example().save()), seen)).toEqual(BILLS);
		expect(billsOf(await readSessionFile(fork.save()), seen)).toEqual([[3, 5300, 0]]);
	});

	test("keeps hashes and sizes, never the text", async () => {
		const session = new OpencodeSession().user("a secret");
		const call = session.tool("c1", "bash", { command: "echo secret" }, "secret", { compacted: 1 });
		session.assistant([{ type: "reasoning", text: "secret" }, call], { input: 1 });
		session.assistant("secret", { input: 1 }, { summary: true });
		expect(JSON.stringify(await readSessions(session.save()))).not.toContain("secret");
	});
});

describe("a database", () => {
	test("that is larger than the bound is read from its newest session on", async () => {
		const later = (id: string, days: number) => {
			const session = new OpencodeSession(id, { time: { created: days * 86_400_000 } });
			return session.user("a").assistant("b", { input: days });
		};
		const file = join(tempDir(), "opencode.db");
		openDatabase(file, [later("ses_1", 1), later("ses_2", 2), later("ses_3", 3)]).close();
		const bounded = await readSessions(file, { maxEntries: 6 });
		const read = bounded.filter(({ entries }) => entries.length > 0);
		expect(read.map(({ session }) => session)).toEqual(["ses_2", "ses_3"]);
		expect(bounded[0]?.skipped.surplus).toBeGreaterThan(0);
		const all = await readSessions(file);
		expect(all.map(({ session }) => session)).toEqual(["ses_1", "ses_2", "ses_3"]);
	});

	test("of something else is no session", async () => {
		const file = join(tempDir(), "other.db");
		const database = new DatabaseSync(file);
		database.exec("CREATE TABLE t (a)");
		database.close();
		await expect(readSessions(file)).rejects.toThrow("is not a session");
	});

	test("that is damaged is refused with its name", async () => {
		const file = join(tempDir(), "opencode.db");
		writeFileSync(file, `SQLite format 3\0${"x".repeat(5000)}`);
		await expect(readSessions(file)).rejects.toThrow("opencode.db");
	});

	test("rows that are damaged or too long are counted, and the others read", async () => {
		const file = join(tempDir(), "opencode.db");
		const database = openDatabase(file, [example()]);
		database.exec("INSERT INTO message VALUES ('msg_x', 'ses_1', 1, 1, '{')");
		database.exec("INSERT INTO part VALUES ('prt_x', 'msg_ses_1_0000', 'ses_1', 1, 1, '{')");
		database.exec(`INSERT INTO message VALUES ('msg_y', 'ses_1', 1, 1, '"${"y".repeat(20_000)}"')`);
		database.close();
		const [session] = await readSessions(file, { maxLineBytes: 10_000 });
		expect(session?.skipped).toMatchObject({ damaged: 2, tooLong: 1 });
		expect(session && billsOf(session)).toEqual(BILLS);
	});
});

function example(id?: string): OpencodeSession {
	const session = new OpencodeSession(id).user("a");
	const call = session.tool("c1", "read", { filePath: "/w/a.ts" }, "text of the file");
	session.assistant([call], { input: 10, write: 5000 });
	return session.assistant("done", { input: 20, read: 5000, write: 300 });
}
