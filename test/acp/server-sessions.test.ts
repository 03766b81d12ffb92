import { expect, test } from "vitest";
import { createSession, findSession, listSessions } from "../../src/acp/server-sessions.ts";
import { type Client, ClientError } from "../../src/protocol/client.ts";

const open = (sessionId: string, day: number, more: object = {}) => ({
	...{ sessionId, cwd: "/p", sessionFile: `/sessions/x_${sessionId}.jsonl`, isStreaming: false },
	...{ createdAt: `2026-01-0${day}T00:00:00Z`, ...more },
});

/** A server that has room for two sessions. */
function fullServer(sessions: ReturnType<typeof open>[], stored: object[] = []) {
	const left = [...sessions];
	const request = async (type: string, fields: { sessionId?: string; cwd?: string } = {}) => {
		switch (type) {
			case "list_sessions":
				return { data: { sessions: [...left], startsIn: { folder: "/p" } } };
			case "list_stored_sessions":
				return { data: { sessions: stored } };
			case "delete_session":
				left.splice(
					left.findIndex(({ sessionId }) => sessionId === fields.sessionId),
					1,
				);
				return { data: { deleted: true } };
			default: {
				if (left.length >= 2) throw new ClientError("limit_reached", "full");
				const sessionId = fields.sessionId ?? "new";
				left.push(open(sessionId, 9));
				return { data: { sessionId, sessionInfo: { cwd: fields.cwd ?? "/p" } } };
			}
		}
	};
	return { client: { request } as unknown as Client, ids: () => left.map((one) => one.sessionId) };
}

test("a full server closes its oldest session without a run", async () => {
	const busy = open("a", 1, { isStreaming: true });
	const { client, ids } = fullServer([busy, open("b", 2)]);
	expect(await createSession(client, "/p")).toMatchObject({ sessionId: "new", cwd: "/p" });
	expect(ids()).toEqual(["a", "new"]);
});

test("a session that could not be loaded again under its id is not closed", async () => {
	const moved = open("a", 1, { sessionFile: "/sessions/x_other.jsonl" });
	const { client, ids } = fullServer([moved, open("b", 2, { isStreaming: true })]);
	await expect(createSession(client, "/p")).rejects.toThrow("full");
	expect(ids()).toEqual(["a", "b"]);
});

const file = (piSessionId: string, day: number) => ({
	...{ piSessionId, sessionPath: `/sessions/x_${piSessionId}.jsonl`, cwd: "/p" },
	...{ modifiedAt: `2026-02-0${day}T00:00:00Z`, firstMessage: `About ${piSessionId}` },
});

test("a session is found on the server, else by its file, else not at all", async () => {
	const { client, ids } = fullServer([open("a", 1)], [file("c", 1)]);
	expect(await findSession(client, "a")).toMatchObject({ sessionId: "a" });
	expect(await findSession(client, "c")).toMatchObject({ sessionId: "c" });
	expect(ids()).toEqual(["a", "c"]);
	await expect(findSession(client, "d")).rejects.toThrow('no session "d"');
});

test("sessions are listed once, the latest used first, with what they are about", async () => {
	const { client } = fullServer([open("a", 1)], [file("a", 2), file("c", 3)]);
	const { sessions } = await listSessions(client, {});
	expect(sessions.map(({ sessionId, title }) => [sessionId, title])).toEqual([
		["c", "About c"],
		["a", "About a"],
	]);
	expect((await listSessions(client, { cwd: "/other" })).sessions).toEqual([]);
});
