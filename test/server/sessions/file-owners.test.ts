import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TestSessions } from "./start-sessions.ts";
import { say, withSession } from "./with-session.ts";

const ben = { principal: "ben" };

describe("a session file that nobody has open any more", () => {
	test("belongs to whose session wrote it, whichever way it was left", {
		tags: "slow",
	}, async () => {
		const server = await withSession(2);
		const left = [await fileOf(server)];
		const [, second] = (await server.run("get_fork_messages", {})).messages;
		await server.run("fork", { entryId: second?.entryId ?? "" });
		left.push(await fileOf(server));
		await server.run("clone", {});
		left.push(await fileOf(server));
		await server.run("new_session", {});
		server.script(say("in a new one"));
		await server.run("prompt", { message: "here", waitFor: "settled" });
		left.push(await fileOf(server));
		await server.run("switch_session_file", { sessionPath: left[0] ?? "" });
		await server.run("delete_session", { sessionId: "s" });
		expect(new Set(left).size).toBe(4);
		for (const _process of ["the same", "the next"]) {
			expect(await stored(server, "anna")).toEqual(left.toSorted());
			expect(await stored(server, "ben")).toEqual([]);
			for (const path of left) await isNotThere(server, path);
			await server.restart();
		}
		const again = { sessionPath: left[1] ?? "", sessionId: "again" };
		expect(await server.run("load_session", again)).toMatchObject({ sessionId: "again" });
	});

	test("is its owner's wherever it is moved, copied or linked to", async () => {
		const server = await withSession(1);
		const file = await fileOf(server);
		await server.run("delete_session", { sessionId: "s" });
		const moved = join(server.agentDir, "sessions", "moved", "renamed.jsonl");
		mkdirSync(dirname(moved));
		renameSync(file, moved);
		const copied = server.write(".pi/sessions/copied.jsonl", "");
		copyFileSync(moved, copied);
		for (const path of [moved, copied]) await isNotThere(server, path);
		expect(await stored(server, "ben")).toEqual([]);
		expect(await stored(server, "anna")).toEqual([moved]);
	});

	test("stays its owner's also if it is moved while the session is open", async () => {
		const server = await withSession(1);
		const file = await fileOf(server);
		const moved = join(dirname(file), "moved.jsonl");
		renameSync(file, moved);
		await server.run("delete_session", { sessionId: "s" });
		await isNotThere(server, moved);
	});

	test("was written behind the back of the journal: a fork is its parent's", async () => {
		const server = await withSession(1);
		const parent = await fileOf(server);
		await server.run("delete_session", { sessionId: "s" });
		const { cwd } = server;
		const header = { type: "session", id: "fork", cwd, parentSession: parent };
		const fork = handwritten(server, "fork.jsonl", header);
		await isNotThere(server, fork);
		expect(await stored(server, "anna")).toContain(fork);
	});
});

describe("a session file of pi's own", () => {
	test("is everybody's until somebody opens it, and theirs from then on", async () => {
		const server = await withSession();
		const { cwd } = server;
		const free = handwritten(server, "free.jsonl", { type: "session", id: "free", cwd });
		expect(await stored(server, "anna")).toEqual([free]);
		expect(await stored(server, "ben")).toEqual([free]);
		expect(await server.sessions.readableFile("anna", free)).toBe(free);
		await server.run("load_session", { sessionPath: free, sessionId: "b" }, ben);
		expect(await stored(server, "anna")).toEqual([]);
		await server.run("delete_session", { sessionId: "b" }, ben);
		await server.restart();
		expect(await stored(server, "anna")).toEqual([]);
		expect(await stored(server, "ben")).toEqual([free]);
		await isNotThere(server, free, "anna");
	});

	test("of the same id in another project is another one", async () => {
		const server = await withSession();
		const other = join(server.cwd, "other");
		mkdirSync(other);
		const here = handwritten(server, "1.jsonl", { type: "session", id: "w", cwd: server.cwd });
		const there = handwritten(server, "2.jsonl", { type: "session", id: "w", cwd: other });
		await server.run("load_session", { sessionPath: here, sessionId: "b" }, ben);
		expect(await stored(server, "anna")).toEqual([there]);
	});
});

describe("a file of a sub-agent", () => {
	test("is of the owner of the session that it lies below", async () => {
		const server = await withSession(1);
		const { owned, nested, transcript } = await subagentFiles(server);
		const below = [owned, nested, transcript];
		for (const path of [owned, nested]) await isNotThere(server, path);
		for (const path of below) {
			expect(await server.sessions.storedFile("ben", path)).toBeUndefined();
			expect(await server.sessions.storedFile("anna", path)).toMatchObject({ path });
		}
		expect(await server.sessions.readableFile("anna", nested)).toBe(nested);
		await server.run("delete_session", { sessionId: "s" });
		await server.restart();
		for (const path of below) {
			expect(await server.sessions.storedFile("ben", path)).toBeUndefined();
			expect(await server.sessions.storedFile("anna", path)).toMatchObject({ path });
		}
	});

	test("below a session without an owner is open to all", async () => {
		const server = await withSession(1);
		const { cwd } = server;
		handwritten(server, "free.jsonl", { type: "session", id: "free", cwd });
		const path = handwritten(server, "free/run/a.jsonl", { type: "session", id: "a", cwd });
		for (const principal of ["anna", "ben"]) {
			expect(await server.sessions.storedFile(principal, path)).toMatchObject({ path });
			expect(await server.sessions.readableFile(principal, path)).toBe(path);
		}
	});

	test("whose session is unknown is hidden while another principal owns a session", async () => {
		const server = await withSession(1);
		const { cwd } = server;
		const session = await fileOf(server);
		const { nested, transcript } = await subagentFiles(server);
		const artifacts = handwritten(server, "artifacts/run_transcript.jsonl", { recordType: "m" });
		const headed = handwritten(server, "artifacts/run.jsonl", { type: "session", id: "r", cwd });
		await server.run("delete_session", { sessionId: "s" });
		rmSync(session);
		const unknown = [nested, transcript, artifacts, headed];
		const shownTo = async (principal: string) => {
			const files = unknown.map((path) => server.sessions.storedFile(principal, path));
			return (await Promise.all(files)).filter((file) => file !== undefined).length;
		};
		expect([await shownTo("anna"), await shownTo("ben")]).toEqual([4, 0]);
		for (const path of [nested, headed]) await isNotThere(server, path);
		expect(await stored(server, "ben")).toEqual([]);
		await server.run("create_session", { sessionId: "b" }, ben);
		expect([await shownTo("anna"), await shownTo("ben")]).toEqual([0, 0]);
		await isNotThere(server, headed, "anna");
	});
});

test("a list has what is one's own, also behind many newer files of somebody else", {
	tags: "slow",
}, async () => {
	const server = await withSession(1);
	const own = await fileOf(server);
	await server.run("create_session", { sessionId: "b" }, ben);
	server.script(say("hello"));
	await server.run("prompt", { sessionId: "b", message: "hi", waitFor: "settled" }, ben);
	const { sessionFile: foreign = "" } = await server.run("get_state", { sessionId: "b" }, ben);
	for (let n = 0; n < 250; n++) copyFileSync(foreign, join(dirname(foreign), `copy-${n}.jsonl`));
	expect(await stored(server, "anna")).toEqual([own]);
	expect(await server.run("list_stored_sessions", {}, ben)).toMatchObject({ truncated: true });
});

test("a session that is left before it said anything leaves no owner behind", async () => {
	const server = await withSession();
	const own = server.owners.written.length;
	expect(own).toBe(1);
	for (let n = 0; n < 3; n++) await server.run("new_session", {});
	await server.run("delete_session", { sessionId: "s" });
	const owned = new Map<string, boolean>();
	for (const record of server.owners.written) {
		if (record.kind === "owner") owned.set(record.conversation, record.owns);
	}
	expect([...owned.values()]).toEqual([false, false, false, false]);
});

test("sessions of a journal that knew no owners own their files", async () => {
	const server = await withSession(1);
	const file = await fileOf(server);
	server.forgetOwners();
	await server.restart();
	await server.run("delete_session", { sessionId: "s" });
	expect(existsSync(file)).toBe(true);
	await isNotThere(server, file);
});

test("without a journal that can be read nobody's files are shown or read", async () => {
	const server = await withSession(1);
	const file = await fileOf(server);
	server.owners.unreadable = true;
	const code = "journal_unavailable";
	await expect(stored(server, "anna")).rejects.toMatchObject({ code });
	await expect(server.sessions.readableFile("ben", file)).rejects.toMatchObject({ code });
	server.owners.unreadable = false;
	rmSync(file);
});

async function fileOf(server: TestSessions): Promise<string> {
	return (await server.run("get_state", {})).sessionFile ?? "";
}

async function stored(server: TestSessions, principal: string): Promise<string[]> {
	const { sessions } = await server.run("list_stored_sessions", {}, { principal });
	return sessions.map(({ sessionPath }) => sessionPath).toSorted();
}

/** For this principal the file is no other than one that does not exist. */
async function isNotThere(server: TestSessions, sessionPath: string, principal = "ben") {
	const refused = (field = "sessionPath") => ({
		code: "not_found",
		message: `${field}: there is no file "${sessionPath}"`,
	});
	const sessionId = "own";
	await server.run("create_session", { sessionId }, { principal });
	for (const attempt of [
		() => server.run("load_session", { sessionPath, sessionId: "loaded" }, { principal }),
		() => server.run("switch_session_file", { sessionPath, sessionId }, { principal }),
		() => server.sessions.readableFile(principal, sessionPath),
	]) {
		await expect(attempt()).rejects.toMatchObject(refused());
	}
	const parent = { parentSession: sessionPath, sessionId };
	const child = server.run("new_session", parent, { principal });
	await expect(child).rejects.toMatchObject(refused("parentSession"));
	await server.run("delete_session", { sessionId }, { principal });
}

/** Files below the session's own, as pi-subagents writes them. */
async function subagentFiles(server: TestSessions) {
	const folder = (await fileOf(server)).replace(/\.jsonl$/, "");
	const header = (id: string) => ({ type: "session", id, cwd: server.cwd });
	return {
		owned: written(join(folder, "session.jsonl"), header("sub-1")),
		nested: written(join(folder, "session", "run", "session.jsonl"), header("sub-2")),
		transcript: written(join(folder, "run", "transcript.jsonl"), { recordType: "message" }),
	};
}

function handwritten(server: TestSessions, name: string, header: object): string {
	return written(join(server.agentDir, "sessions", "by-hand", name), header);
}

function written(path: string, header: object): string {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, `${JSON.stringify(header)}\n`);
	return path;
}
