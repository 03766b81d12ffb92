import { describe, expect, test } from "vitest";
import { openSession, useServer } from "../support/conformance-server.ts";
import type { WireClient } from "../support/wire-client.ts";

const tokens = { ann: "ann-ann-ann-ann-ann-ann", bob: "bob-bob-bob-bob-bob-bob" };
const server = useServer({ tokens });

describe("a session file that was left behind", () => {
	let paths: string[] = [];

	test("is listed for its owner and does not exist for another principal", {
		tags: "slow",
	}, async () => {
		const ann = await server.client("websocket", tokens.ann);
		const sessionId = await openSession(ann);
		const say = (message: string) =>
			ann.ask({ type: "prompt", sessionId, message, waitFor: "settled" });
		await say("say secret");
		await say("say and another");
		const messages = (await ann.ask({ type: "get_fork_messages", sessionId })).data as unknown as {
			messages: { entryId: string }[];
		};
		await ann.ask({ type: "fork", sessionId, entryId: messages.messages[1]?.entryId });
		await ann.ask({ type: "new_session", sessionId });
		paths = await listed(ann);
		expect(paths).toHaveLength(2);
		await areHidden(paths);
	});

	test("also after SIGKILL, and when the session is deleted and the server killed again", {
		tags: "slow",
	}, async () => {
		await server.restart();
		await areHidden(paths);
		const ann = await server.client("websocket", tokens.ann);
		const { sessions } = (await ann.ask({ type: "list_sessions" })).data as unknown as {
			sessions: { sessionId: string }[];
		};
		for (const { sessionId } of sessions) await ann.ask({ type: "delete_session", sessionId });
		await areHidden(paths);
		await server.restart();
		await areHidden(paths);
		const again = await server.client("websocket", tokens.ann);
		expect(await listed(again)).toEqual(paths);
		const loaded = await again.ask({ type: "load_session", sessionPath: paths[0] });
		expect(loaded).toMatchObject({ success: true });
		const { sessionId } = loaded.data as unknown as { sessionId: string };
		const messages = await again.ask({ type: "get_messages", sessionId });
		expect(JSON.stringify(messages.data)).toContain("secret");
	});
});

async function areHidden(paths: readonly string[]): Promise<void> {
	const bob = await server.client("websocket", tokens.bob);
	expect(await listed(bob)).toEqual([]);
	for (const sessionPath of paths) {
		for (const type of ["load_session", "replay_session"]) {
			const answer = await bob.ask({ type, sessionPath });
			expect([type, answer.code]).toEqual([type, "not_found"]);
		}
	}
}

async function listed(client: WireClient): Promise<string[]> {
	const { data } = await client.ask({ type: "list_stored_sessions" });
	const { sessions } = data as unknown as { sessions: { sessionPath: string }[] };
	return sessions.map(({ sessionPath }) => sessionPath).toSorted();
}
