import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import type { ResponseData } from "../../../src/protocol/index.ts";
import { withSession } from "./with-session.ts";

test("a fork is named after where it begins, a copy after its origin", {
	tags: "slow",
}, async () => {
	const server = await withSession(2);
	const { messages } = await server.run("get_fork_messages", {});
	const second = messages.find(({ text }) => text === "question 2");
	await server.run("fork", { entryId: second?.entryId ?? "" });
	expect(await server.run("get_state", {})).toMatchObject({ sessionName: "Fork: question 2" });
	await server.run("clone", {});
	expect(await server.run("get_state", {})).toMatchObject({
		sessionName: "Copy: Fork: question 2",
	});
});

test("a stored session is read though its folder is gone", { tags: "slow" }, async () => {
	const server = await withSession(1);
	const { sessionFile = "", cwd } = await server.run("get_state", {});
	await server.run("delete_session", { sessionId: "s" });
	rmSync(cwd, { recursive: true });
	const read = (await server.run("get_stored_session", {
		sessionPath: sessionFile,
	})) as ResponseData["get_stored_session"];
	expect(read).toMatchObject({ stored: { cwd, firstMessage: "question 1" }, skipped: 0 });
	const roles = read.entries.flatMap(({ message }) => message?.role ?? []);
	expect(roles.slice(-2)).toEqual(["user", "assistant"]);
});
