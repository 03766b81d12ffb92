import { methods } from "@agentclientprotocol/sdk";
import { expect, test, vi } from "vitest";
import { startServe } from "../server/support/serve-process.ts";
import { PATIENCE } from "../support/patience.ts";
import { tempDir } from "../support/temp.ts";
import { kindsOf, openEditor, say, textOf } from "./editor.ts";

const { session } = methods.agent;
const DEMO = ["--demo", "always", "--port", "0", "--json"];

async function serverAndEditor() {
	const agentDir = tempDir("agent");
	const server = startServe(DEMO, { agentDir });
	await server.ready();
	const editor = openEditor({ agentDir });
	await editor.initialize();
	return { agentDir, server, editor };
}

test(
	"an editor drives a whole session, is killed, and continues it with its history",
	{
		tags: "slow",
	},
	async () => {
		const { agentDir, editor } = await serverAndEditor();
		const { agent, updates } = editor;
		const created = await agent.request(session.new, { cwd: agentDir, mcpServers: [] });
		const { sessionId } = created;
		expect(created.configOptions).toMatchObject([{ id: "model", category: "model" }]);
		const first = await agent.request(session.prompt, { sessionId, prompt: say("Find the bug") });
		console.log(JSON.stringify(first), JSON.stringify(updates, null, 1).slice(0, 12000));
		expect(first.stopReason).toBe("end_turn");
	},
	60_000,
);
