import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Data } from "../../../src/protocol/index.ts";
import { MAX_UPLOAD } from "../../../src/text/upload-size.ts";
import { writeAgentFiles } from "../../importers/agent-files.ts";
import { tempDir } from "../../support/temp.ts";
import { openSession, useServer } from "../support/conformance-server.ts";
import type { WireClient } from "../support/wire-client.ts";

const tokens = { ann: "ann-ann-ann-ann-ann-ann", bob: "bob-bob-bob-bob-bob-bob" };
const server = useServer({ tokens });

describe("a session file of any agent", { tags: "slow" }, () => {
	const files = writeAgentFiles(String(process.env.HOME), tempDir());

	test("is listed with its agent and project, and replayed by its id", async () => {
		const bob = await server.client("websocket", tokens.bob);
		const all = await filesOf(bob);
		const named = all.filter(({ agent }) => agent !== "pi");
		expect(named.map(({ agent, project }) => [agent, project])).toEqual([
			["claude-code", "/w/app"],
			["codex", "/w/app"],
			["opencode", "/w/app"],
			["opencode", undefined],
			["gemini-cli", "/w/of gemini"],
		]);
		for (const { agent, name, fileId } of named) {
			const { success, data } = await bob.ask({ type: "replay_session", fileId });
			expect([agent, success, data?.file]).toEqual([agent, true, name]);
		}
		for (const fileId of ["../../a.jsonl", files.codex, "A".repeat(64)]) {
			const { code } = await bob.ask({ type: "replay_session", fileId });
			expect(code).toBe("invalid_command");
		}
	});

	test("is replayed when it is sent, while others are answered, and is not kept", async () => {
		const bob = await server.client("websocket", tokens.bob);
		const send = (body: Buffer) =>
			fetch(`${server.url.replace("ws:", "http:")}/replay`, {
				method: "POST",
				headers: { authorization: `Bearer ${tokens.ann}` },
				body: new Uint8Array(body),
			});
		const content = readFileSync(files["claude-code"]);
		const large = Buffer.alloc(MAX_UPLOAD, `"${"x".repeat(65_533)}"\n`);
		content.copy(large);
		const [answer, health] = await Promise.all([send(large), bob.ask({ type: "health_check" })]);
		expect(health.success).toBe(true);
		expect(await answer.json()).toMatchObject({
			success: true,
			data: { file: "content", requests: 4, misses: [{ providerReason: "system_changed" }] },
		});
		const refused = await send(Buffer.alloc(65e6 + 3e6));
		expect(refused.status).toBe(413);
		expect(await refused.json()).toMatchObject({
			error: "content is too large: 64.9 MiB, but the server accepts at most 64 MiB",
		});
		expect(await (await send(Buffer.from("nonsense"))).json()).toMatchObject({
			success: false,
			error: expect.stringMatching(/^content is not a session/),
		});
		expect(readdirSync(join(server.process.dataDir, "strata-uploads"))).toEqual([]);
	});
});

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
	const ofPi = async (client: WireClient) =>
		(await filesOf(client)).filter(({ agent }) => agent === "pi");
	expect(await ofPi(bob)).toEqual([]);
	const found = await ofPi(await server.client("websocket", tokens.ann));
	// A fork is named after where it begins.
	const [first, ...forks] = found
		.map(({ title }) => title)
		.sort()
		.reverse();
	expect(first).toBe("say secret");
	expect(forks).toEqual(paths.slice(1).map(() => "Fork: say and another"));
	for (const { fileId } of found) {
		expect((await bob.ask({ type: "replay_session", fileId })).code).toBe("not_found");
	}
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

async function filesOf(client: WireClient): Promise<Data<"SessionFile">[]> {
	const { data, error } = await client.ask({ type: "list_agent_sessions" });
	expect(error).toBeUndefined();
	return (data as unknown as { files: Data<"SessionFile">[] }).files;
}
