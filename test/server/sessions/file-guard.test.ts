import {
	appendFileSync,
	chmodSync,
	existsSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { describe, expect, test } from "vitest";
import type { TestSessions } from "./start-sessions.ts";
import { say, withSession } from "./with-session.ts";

const FOREIGN = { type: "custom", id: "f0e1d2c3", parentId: null, timestamp: "", customType: "x" };

async function fileOf(server: TestSessions): Promise<string> {
	return (await server.run("get_state", {})).sessionFile ?? "";
}

async function said(server: TestSessions): Promise<string[]> {
	const { messages } = await server.run("get_fork_messages", {});
	return messages.map(({ text }) => text);
}

describe("the file of a session", () => {
	test("is left at the end of the run in which another program wrote to it", async () => {
		const server = await withSession(1);
		const file = await fileOf(server);
		server.script(() => {
			appendFileSync(file, `${JSON.stringify(FOREIGN)}\n`);
			return say("answer 2");
		});
		await server.run("prompt", { message: "question 2", waitFor: "settled" });
		const copy = await fileOf(server);
		expect(copy).not.toBe(file);
		expect(readFileSync(copy, "utf8")).not.toContain(FOREIGN.id);
		expect(readFileSync(file, "utf8")).toContain(FOREIGN.id);
		await server.restart();
		expect(await said(server)).toEqual(["question 1", "question 2"]);
		expect(await server.run("get_last_assistant_text", {})).toEqual({ text: "answer 2" });
	});

	test("is left to another program that has put something else in its place", async () => {
		const server = await withSession(1);
		const file = await fileOf(server);
		const theirs = "notes, and no session\n";
		server.script(() => {
			writeFileSync(file, theirs);
			return say("answer 2");
		});
		await server.run("prompt", { message: "question 2", waitFor: "settled" });
		// The answer of the run in flight ends up behind it.
		expect(readFileSync(file, "utf8")).toContain(theirs);
		expect(await fileOf(server)).not.toBe(file);
		await server.restart();
		expect(await said(server)).toEqual(["question 1", "question 2"]);
		expect(await server.run("get_last_assistant_text", {})).toEqual({ text: "answer 2" });
	});

	test("is left at the place in the tree where the session was", async () => {
		const server = await withSession(2);
		const [, second] = (await server.run("get_fork_messages", {})).messages;
		await server.run("navigate_tree", { targetId: second?.entryId ?? "" });
		const { leafId } = await server.run("get_tree", { flat: true });
		const file = await fileOf(server);
		appendFileSync(file, `${JSON.stringify(FOREIGN)}\n`);
		await server.run("set_auto_retry", { enabled: true });
		expect(await fileOf(server)).not.toBe(file);
		expect(await server.run("get_tree", { flat: true })).toMatchObject({ leafId });
		await server.restart();
		expect(await server.run("get_tree", { flat: true })).toMatchObject({ leafId });
		expect(await server.run("get_last_assistant_text", {})).toEqual({ text: "answer 1" });
	});

	test("belongs to its principal when it is a copy, too", async () => {
		const server = await withSession(1);
		appendFileSync(await fileOf(server), `${JSON.stringify(FOREIGN)}\n`);
		await server.run("set_session_name", { name: "mine" });
		const sessionPath = await fileOf(server);
		await server.run("delete_session", {});
		const stranger = server.run("load_session", { sessionPath }, { principal: "bert" });
		await expect(stranger).rejects.toMatchObject({ code: "not_found" });
		const { sessionInfo } = await server.run("load_session", { sessionPath });
		expect(sessionInfo).toMatchObject({ sessionName: "mine" });
	});

	test("is as private when it was written again, or copied, as it was", async () => {
		const server = await withSession(1);
		const file = await fileOf(server);
		chmodSync(file, 0o600);
		writeFileSync(file, readFileSync(file, "utf8").split("\n").toSpliced(2, 1).join("\n"));
		await server.run("set_session_name", { name: "whole" });
		expect(statSync(file).mode & 0o777).toBe(0o600);
		appendFileSync(file, `${JSON.stringify(FOREIGN)}\n`);
		await server.run("set_session_name", { name: "copied" });
		const copy = await fileOf(server);
		expect(copy).not.toBe(file);
		expect(statSync(copy).mode & 0o777).toBe(0o600);
	});

	test("is written again before the next change if it was deleted", async () => {
		const server = await withSession(1);
		const file = await fileOf(server);
		rmSync(file);
		await server.run("set_session_name", { name: "still here" });
		expect(existsSync(file)).toBe(true);
		await server.restart();
		expect(await said(server)).toEqual(["question 1"]);
		expect(await server.run("get_state", {})).toMatchObject({ sessionName: "still here" });
	});

	test("may end in another's branch: the session stays in its own, however often it is opened", async () => {
		const server = await withSession(1);
		appendFileSync(await fileOf(server), `${JSON.stringify(FOREIGN)}\n`);
		for (const _time of [1, 2, 3]) {
			await server.restart();
			expect(await said(server)).toEqual(["question 1"]);
		}
		server.script(say("answer 2"));
		await server.run("prompt", { message: "question 2", waitFor: "settled" });
		await server.restart();
		expect(await said(server)).toEqual(["question 1", "question 2"]);
	});

	test("holds entries of extensions that came without a command, which are no surprise", async () => {
		const server = await withSession(1, {
			extension: `export default function (pi) {
				for (const event of ["session_start", "session_shutdown"]) {
					pi.on(event, () => pi.appendEntry("noted", { event }));
				}
			}`,
		});
		server.forgetEvents();
		for (const _time of [1, 2]) {
			await server.restart();
			await server.run("get_state", {});
		}
		const { entries } = await server.run("get_entries", {});
		expect(entries.filter(({ type }) => type === "custom").length).toBeGreaterThan(2);
		const notices = server
			.events()
			.filter((event) => event.type === "extension_ui_request" && event.method === "notify");
		expect(notices).toEqual([]);
	});
});
