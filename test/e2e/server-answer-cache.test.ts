import { describe, expect, test } from "vitest";
import type { TestSessions } from "../server/sessions/start-sessions.ts";
import { call, say, withSession } from "../server/sessions/with-session.ts";

/** Reads whose answers are kept, with a piece of the context that is always there. */
const READS = [
	["get_messages", {}],
	["get_tree", {}],
	["get_tree", { flat: true }],
	["get_entries", {}],
	["get_context_view", {}],
	["get_context_piece", { pieceId: "system" }],
] as const;

let asked = 0;

/** Every read says the same as one that nobody has asked before: a field that no command has makes it another. */
async function expectFresh(server: TestSessions): Promise<void> {
	for (const [type, fields] of READS) {
		const fresh = await server.run(type, { ...fields, unheardOf: ++asked } as never);
		expect(await server.run(type, fields as never)).toEqual(fresh);
	}
}

const extension = `
export default function (pi) {
	pi.registerCommand("mark", {
		description: "labels the last entry",
		handler: async (_args, ctx) => pi.setLabel(ctx.sessionManager.getLeafId(), "marked"),
	});
	pi.registerCommand("add", {
		description: "adds an entry and a message",
		handler: async () => {
			pi.appendEntry("added", { by: "extension" });
			pi.sendMessage({ customType: "note", content: "noted", display: true });
		},
	});
	pi.registerCommand("fewer", {
		description: "takes tools away",
		handler: async () => pi.setActiveTools(["read"]),
	});
}
`;

describe("an answer that is kept", () => {
	test("is the same as one that is made, after whatever changes a session", {
		tags: "slow",
	}, async () => {
		const server = await withSession(2, { extension });
		const say2 = async (message: string) => {
			server.script(say(`to ${message}`));
			await server.run("prompt", { message, waitFor: "settled" });
		};
		const command = (message: string) =>
			server.run("prompt", { message, waitFor: "settled" }) as Promise<unknown>;
		const entries = async () => (await server.run("get_entries", {})).entries;
		const changes: Record<string, () => Promise<unknown>> = {
			prompt: () => say2("more"),
			tool: async () => {
				server.write("a.txt", "text");
				server.script(call("read", { path: "a.txt" }), say("read"));
				await server.run("prompt", { message: "read it", waitFor: "settled" });
			},
			bash: () => server.run("bash", { command: "echo hello" }),
			name: () => server.run("set_session_name", { name: "another" }),
			thinking: () => server.run("set_thinking_level", { level: "high" }),
			model: () => server.run("set_model", { provider: "faux", modelId: "faux-2" }),
			tools: () => server.run("set_tools", { tools: ["read", "bash"] }),
			label: () => command("/mark"),
			entry: () => command("/add"),
			fewer: () => command("/fewer"),
			navigate: async () => {
				const target = (await entries()).find(({ type }) => type === "message");
				await server.run("navigate_tree", { targetId: target?.id ?? "" });
			},
			branch: () => say2("on another branch"),
			reload: () => server.run("reload", {}),
			clone: () => server.run("clone", {}),
			new: () => server.run("new_session", {}),
			first: () => say2("again"),
		};
		await expectFresh(server);
		for (const [name, change] of Object.entries(changes)) {
			await change();
			await expectFresh(server).catch((error) => {
				throw new Error(`stale after ${name}`, { cause: error });
			});
		}
	});

	test("is made once while the session stands still, and again by the next change", async () => {
		const server = await withSession(1);
		for (const [type, fields] of READS) {
			const first = await server.done(type, fields as never);
			expect(first.written).toBeDefined();
			expect((await server.done(type, fields as never)).written).toBe(first.written);
			await server.run("set_auto_retry", { enabled: true });
			expect((await server.done(type, fields as never)).written).not.toBe(first.written);
		}
	});

	test("is told from that to another question, and an unknown entry is not found each time", async () => {
		const server = await withSession(2);
		const { entries } = await server.run("get_entries", {});
		const since = entries[1]?.id ?? "";
		expect((await server.run("get_entries", { since })).entries).toEqual(entries.slice(2));
		expect((await server.run("get_entries", {})).entries).toEqual(entries);
		for (const _ of [1, 2]) {
			const missing = server.run("get_entries", { since: "none" });
			await expect(missing).rejects.toMatchObject({ code: "not_found" });
		}
	});

	test("is not that of a run that goes on", { tags: "slow" }, async () => {
		const server = await withSession(1, { tokensPerSecond: 20 });
		server.script(say("word ".repeat(1_000)));
		await server.run("prompt", { message: "go on" });
		expect(await server.run("get_state", {})).toMatchObject({ isStreaming: true });
		expect((await server.done("get_messages", {})).written).toBeUndefined();
		await server.run("abort", {});
		await expectFresh(server);
		expect((await server.done("get_messages", {})).written).toBeDefined();
	});

	test("is another session's if that takes the id of a deleted one", async () => {
		const server = await withSession(1);
		expect((await server.run("get_messages", {})).messages).not.toEqual([]);
		await server.run("delete_session", { sessionId: "s" });
		await server.run("create_session", { sessionId: "s" });
		expect((await server.run("get_messages", {})).messages).toEqual([]);
		await expectFresh(server);
	});
});
