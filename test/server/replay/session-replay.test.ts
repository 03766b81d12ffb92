import {
	createReadStream,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Readable } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import { main } from "../../../src/cli/main.ts";
import { temporaryName } from "../../../src/core/atomic-file.ts";
import type { ReplayReport } from "../../../src/economy/replay/index.ts";
import { SessionReplay } from "../../../src/server/replay/session-replay.ts";
import { MAX_UPLOAD } from "../../../src/text/upload-size.ts";
import { SessionWriter } from "../../economy/replay/session-writer.ts";
import { writeAgentFiles } from "../../importers/agent-files.ts";
import { OpencodeSession } from "../../importers/opencode-writer.ts";
import { PATIENCE } from "../../support/patience.ts";
import { atEnd, tempDir } from "../../support/temp.ts";

const never = { principal: "ann", signal: new AbortController().signal };

test("replays a file, and the same as text sent along, under the policies of the command line", {
	tags: "slow",
}, async () => {
	const { replay, tmpFolder } = setUp();
	const file = aSession();
	const ofFile = await replay.ofFile(file, never);
	expect(ofFile).toMatchObject({ file: basename(file), requests: 2 });
	const { policies } = await onCommandLine(file);
	// The same list as on the command line.
	expect(ofFile.policies).toEqual(policies);
	expect(policies.map(({ name }) => name)).toContain("strata");
	expect(policies.map(({ name }) => name)).not.toContain("tiers");
	const ofContent = await replay.ofContent(readFileSync(file, "utf8"), never);
	expect(ofContent).toEqual({ ...ofFile, file: "content" });
	expect(readdirSync(tmpFolder)).toEqual([]);
});

test("what is no session fails in words without a path of the server", {
	tags: "slow",
}, async () => {
	const { replay, tmpFolder } = setUp();
	const failure = await replay.ofContent("nonsense", never).catch((error: Error) => error);
	expect(failure).toMatchObject({ code: "failed", message: expect.stringContaining("content") });
	expect(String(failure)).not.toContain(tmpFolder);
});

test("lets a principal wait for its own replays, and refuses those beyond a bound", {
	tags: "slow",
}, async () => {
	const { replay } = setUp();
	const file = aSession();
	const asked = Array.from({ length: 9 }, () => replay.ofFile(file, never));
	await expect(replay.ofFile(file, never)).rejects.toMatchObject({ code: "busy" });
	const others = { ...never, principal: "ben" };
	expect(await replay.ofFile(file, others)).toMatchObject({ requests: 2 });
	const reports = await Promise.all(asked);
	expect(reports.map(({ requests }) => requests)).toEqual(asked.map(() => 2));
});

test("stops when it is told to", async () => {
	const { replay, tmpFolder } = setUp();
	const controller = new AbortController();
	const content = readFileSync(aSession(), "utf8");
	const running = replay.ofContent(content, {
		principal: "ann",
		signal: controller.signal,
	});
	controller.abort();
	await expect(running).rejects.toMatchObject({
		code: "failed",
		message: "the replay was aborted",
	});
	expect(existsSync(tmpFolder) ? readdirSync(tmpFolder) : []).toEqual([]);
});

describe("a file that is sent", () => {
	test.each([
		"pi",
		"claude-code",
		"codex",
		"opencode export",
		"opencode database",
		"gemini-cli",
	] as const)(
		"is recognized by its content and reported as on the command line: %s",
		{
			tags: "slow",
		},
		async (kind) => {
			const { replay, tmpFolder } = setUp();
			const file = writeAgentFiles(tempDir())[kind];
			const { chart, ...report } = await replay.ofUpload(createReadStream(file), never);
			expect(report).toEqual({ ...(await onCommandLine(file)), file: "content" });
			expect(chart.length).toBeGreaterThan(0);
			expect(readdirSync(tmpFolder)).toEqual([]);
		},
	);

	test("with several sessions has one report, with the provider's reasons", {
		tags: "slow",
	}, async () => {
		const { replay } = setUp();
		const files = writeAgentFiles(tempDir());
		const claude = createReadStream(files["claude-code"]);
		expect(await replay.ofUpload(claude, never)).toMatchObject({
			requests: 4,
			misses: [{ request: 3, cause: "system", providerReason: "system_changed" }],
			sessions: [{ requests: 3 }, { requests: 1, subagent: "explorer" }],
		});
		const database = createReadStream(files["opencode database"]);
		expect(await replay.ofUpload(database, never)).toMatchObject({
			requests: 4,
			sessions: [{ session: "ses_1" }, { session: "ses_2" }],
		});
	});

	test("may have 64 MiB", { tags: "slow" }, async () => {
		const { replay, tmpFolder } = setUp();
		const head = readFileSync(aSession());
		const body = Readable.from(
			(function* () {
				yield head;
				for (let left = MAX_UPLOAD - head.length; left > 0; left -= LINE.length) {
					yield LINE.subarray(-Math.min(left, LINE.length));
				}
			})(),
		);
		expect(await replay.ofUpload(body, never)).toMatchObject({ requests: 2 });
		expect(readdirSync(tmpFolder)).toEqual([]);
	});

	test("is refused above that, without reading the rest", async () => {
		const { replay, tmpFolder } = setUp();
		let sent = 0;
		const body = Readable.from(
			(function* () {
				for (;;) {
					sent += LINE.length;
					yield LINE;
				}
			})(),
		);
		await expect(replay.ofUpload(body, never)).rejects.toMatchObject({
			code: "too_large",
			message: "content is larger than 64 MiB, but the server accepts at most 64 MiB",
		});
		expect(sent).toBeLessThan(MAX_UPLOAD + 100 * LINE.length);
		expect(readdirSync(tmpFolder)).toEqual([]);
	});

	test("is aborted while it is sent", async () => {
		const { replay, tmpFolder } = setUp();
		const controller = new AbortController();
		const body = Readable.from(
			(function* () {
				for (let chunk = 0; ; chunk++) {
					if (chunk === 20) controller.abort();
					yield LINE;
				}
			})(),
		);
		const { signal } = controller;
		await expect(replay.ofUpload(body, { principal: "ann", signal })).rejects.toThrow(
			"the replay was aborted",
		);
		expect(readdirSync(tmpFolder)).toEqual([]);
	});

	test("waits unread while another of its principal is replayed, and those of others do not", {
		tags: "slow",
	}, async () => {
		const { replay } = setUp();
		const stuck = new Readable({ read() {} });
		const first = replay.ofUpload(stuck, never);
		const second = createReadStream(aSession());
		const waiting = replay.ofUpload(second, never);
		const others = { ...never, principal: "ben" };
		expect(await replay.ofUpload(createReadStream(aSession()), others)).toMatchObject({
			requests: 2,
		});
		expect(second.bytesRead).toBe(0);
		// A stored session needs no room for files.
		expect(await replay.ofFile(aSession(), never)).toMatchObject({ requests: 2 });
		stuck.push(null);
		await expect(first).rejects.toThrow("content is not a session: it is empty");
		expect(await waiting).toMatchObject({ requests: 2 });
	});

	test("in a command is not copied before its turn", async () => {
		const { replay } = setUp();
		const stuck = new Readable({ read() {} });
		const first = replay.ofUpload(stuck, never);
		const copies = vi.spyOn(Buffer, "from");
		atEnd(() => copies.mockRestore());
		const waiting = replay.ofContent("waits for its turn", never);
		expect(copies).not.toHaveBeenCalledWith("waits for its turn");
		stuck.push(null);
		await expect(first).rejects.toThrow("content is not a session: it is empty");
		await expect(waiting).rejects.toThrow("content is not a session");
		expect(copies).toHaveBeenCalledWith("waits for its turn");
	});

	test("names no other files: an older session of opencode has no messages then", {
		tags: "slow",
	}, async () => {
		const above = tempDir();
		const { replay } = setUp(join(above, "a", "b"));
		const session = new OpencodeSession("ses_1");
		session.user("a").assistant("b", { input: 3, write: 8000 });
		// Where the messages would be, if the file were directly in the folder for sent files, or in one of its own there.
		const beside = [above, join(above, "a"), join(above, "a", "b")];
		const [file = ""] = beside.map((storage) => session.saveFolder(storage));
		await expect(replay.ofUpload(createReadStream(file), never)).rejects.toThrow(
			"content has no request with token counts",
		);
	});
});

// Only Linux shows which process is reading.
test.skipIf(process.platform !== "linux")(
	"a database that holds SQLite for hours is ended, and its place is free again",
	{
		tags: "slow",
	},
	async () => {
		const { replay } = setUp();
		const file = join(tempDir(), "hostile.db");
		const database = new DatabaseSync(file);
		database.exec(`
		CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
		CREATE TABLE part (id TEXT, message_id TEXT, data TEXT);
		CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, version TEXT, n INTEGER);
		INSERT INTO session (id, n) WITH RECURSIVE count(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count LIMIT 50000)
			SELECT 'ses_' || n, n FROM count;
		ALTER TABLE session ADD COLUMN time_created TEXT AS (replace(hex(zeroblob(40000000 + n)), '0', '12'));
	`);
		database.close();
		// More than there are places for replays.
		for (const principal of ["ann", "ben", "cat"]) {
			const controller = new AbortController();
			const { signal } = controller;
			const hostile = replay.ofFile(file, { principal, signal });
			await expect.poll(() => isBusy(file), PATIENCE).toBe(true);
			controller.abort();
			await expect(hostile).rejects.toThrow("the replay was aborted");
		}
		expect(await replay.ofFile(aSession(), never)).toMatchObject({ requests: 2 });
	},
);

/** Whether another process has the file open. */
function isBusy(file: string): boolean {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.some((pid) => {
			try {
				const open = readdirSync(`/proc/${pid}/fd`);
				return open.some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === file);
			} catch {
				return false; // the process is another user's, or gone
			}
		});
}

test("files that a crash left behind are deleted at the next start", async () => {
	const folder = tempDir();
	const left = join(folder, "tmp", temporaryName());
	mkdirSync(left, { recursive: true });
	writeFileSync(join(left, "content"), "a conversation");
	const { replay } = setUp(folder);
	await replay.close();
	expect(existsSync(join(folder, "tmp"))).toBe(false);
});

test("files that the server did not write stay, at its start and at its end", async () => {
	const { replay, tmpFolder } = setUp();
	const names = ["thesis.txt", "strata-1.tmp", join("strata-notes", "content")];
	for (const name of names) {
		mkdirSync(dirname(join(tmpFolder, name)), { recursive: true });
		writeFileSync(join(tmpFolder, name), "of the user");
	}
	await setUp(dirname(tmpFolder)).replay.close();
	await replay.close();
	for (const name of names) expect(existsSync(join(tmpFolder, name))).toBe(true);
});

/** Lines that the importer of pi ignores. */
const LINE = Buffer.from(`{"type":"custom","data":"${"x".repeat(65_500)}"}\n`);

/** The report of `strata replay --json`. */
async function onCommandLine(file: string): Promise<ReplayReport> {
	const printed: string[] = [];
	const ignore = () => {};
	await main(["replay", file, "--json"], {
		...{ cwd: tempDir(), env: {}, write: ignore, printError: ignore },
		print: (line) => printed.push(line),
	});
	return JSON.parse(printed.join("\n"));
}

function setUp(agentDir = tempDir()) {
	const tmpFolder = join(agentDir, "tmp");
	const replay = new SessionReplay({ agentDir, cwd: agentDir, tmpFolder });
	atEnd(() => replay.close());
	return { replay, tmpFolder };
}

function aSession(): string {
	const writer = new SessionWriter();
	writer.user("a");
	writer.assistant("b", { cacheWrite: 5000 });
	writer.user("c");
	writer.assistant("d", { cacheRead: 5000, cacheWrite: 1000 });
	return writer.save();
}
