import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { TestSessions } from "./start-sessions.ts";
import { say, withSession } from "./with-session.ts";

/** A server whose session of three exchanges is closed, and its file. */
async function stored() {
	const server = await withSession(3);
	const { sessionFile: file = "" } = await server.run("get_state", {});
	return { server, file };
}

/** Garbles the line with a text, and says where it is. */
function garble(file: string, text: string): { number: number; from: number; to: number } {
	const lines = readFileSync(file, "utf8").split("\n");
	const at = lines.findIndex((line) => line.includes(text));
	const from = Buffer.byteLength(lines.slice(0, at).join("\n")) + 1;
	const line = lines[at] ?? "";
	lines[at] = `\u0000${line.slice(1)}`;
	writeFileSync(file, lines.join("\n"));
	return { number: at + 1, from, to: from + Buffer.byteLength(line) };
}

function notices(server: TestSessions): string[] {
	return server
		.events()
		.flatMap((event) =>
			event.type === "extension_ui_request" && event.method === "notify" ? event.message : [],
		);
}

describe("a damaged session file", () => {
	test("is reported with what is lost and what is out of view when its session is opened again", async () => {
		const { server, file } = await stored();
		const { number, from, to } = garble(file, "question 2");
		const before = readFileSync(file, "utf8");
		server.forgetEvents();
		await server.restart();
		const { messages } = await server.run("get_messages", {});
		expect(JSON.stringify(messages)).toContain("answer 3");
		const [warning = ""] = notices(server);
		expect(warning).toContain(`line ${number} (bytes ${from} to ${to}) cannot be read`);
		expect(warning).toMatch(/is hidden: \d+ entries, including 3 messages/);
		expect(readFileSync(file, "utf8").startsWith(before)).toBe(true);

		// The way back is the one that the warning names.
		const [, targetId = ""] = /navigate_tree to (\w+)/.exec(warning) ?? [];
		await server.run("navigate_tree", { targetId });
		expect(await server.run("get_last_assistant_text", {})).toEqual({ text: "answer 1" });
		server.script(say("answer 4"));
		await server.run("prompt", { message: "question 4", waitFor: "settled" });
		expect(readFileSync(file, "utf8").startsWith(before)).toBe(true);
	});

	test("is not one whose first entry names no parent at all", async () => {
		const { server, file } = await stored();
		const text = readFileSync(file, "utf8");
		expect(text).toContain('"parentId":null,');
		writeFileSync(file, text.replace('"parentId":null,', ""));
		server.forgetEvents();
		await server.restart();
		const { messages } = await server.run("get_messages", {});
		expect(JSON.stringify(messages)).toContain("question 1");
		expect(notices(server)).toEqual([]);
	});

	test("is reported in lists, in the answer to load_session, and by switch_session_file", async () => {
		const { server, file } = await stored();
		await server.run("delete_session", {});
		const listed = async () => (await server.run("list_stored_sessions", {})).sessions[0];
		expect(await listed()).not.toHaveProperty("damagedLines");
		garble(file, "answer 1");
		expect(await listed()).toMatchObject({ sessionPath: file, damagedLines: 1 });
		const loaded = await server.run("load_session", { sessionPath: file, sessionId: "s" });
		expect(loaded).toMatchObject({ warning: expect.stringContaining("cannot be read") });
		await server.run("new_session", {});
		server.forgetEvents();
		await server.run("switch_session_file", { sessionPath: file });
		expect(notices(server).join()).toContain("cannot be read");
	});

	test("may lack nothing but the half line at its end", async () => {
		const { server, file } = await stored();
		truncateSync(file, statSync(file).size - 20);
		server.forgetEvents();
		await server.restart();
		await server.run("get_state", {});
		expect(notices(server).join()).toMatch(
			/cannot be read and is lost\. No other entries are hidden/,
		);
		expect(notices(server).join()).toContain("lacks the last entry that this server wrote");
	});

	test("says nothing about one that is whole", async () => {
		const { server } = await stored();
		server.forgetEvents();
		await server.restart();
		await server.run("set_session_name", { name: "whole" });
		expect(notices(server)).toEqual([]);
	});
});

describe("a session file without a first line", () => {
	test.each([
		["of 0 bytes", "", /empty \(0 bytes\)/],
		["that is garbled", '{"type":"sess\n{"type":"message","id":"a"}\n', /not a valid pi session/],
	])("%s is refused with what is lost, and left as it is", async (_what, content, why) => {
		const { server, file } = await stored();
		await server.restart();
		writeFileSync(file, content);
		for (const read of [server.run("get_messages", {}), server.run("get_state", {})]) {
			await expect(read).rejects.toMatchObject({
				code: "wrong_state",
				message: expect.stringMatching(why),
			});
			await expect(read).rejects.toThrow(/Its 7 messages cannot be read/);
		}
		expect(readFileSync(file, "utf8")).toBe(content);
		expect((await server.run("list_sessions", {})).sessions).toHaveLength(1);
	});

	test("of 0 bytes is not loaded, and says why", async () => {
		const { server, file } = await stored();
		await server.run("delete_session", {});
		writeFileSync(file, "");
		const loading = server.run("load_session", { sessionPath: file });
		await expect(loading).rejects.toThrow(/is empty \(0 bytes\)/);
		expect(statSync(file).size).toBe(0);
	});
});
