import { describe, expect, test } from "vitest";
import { commandTypes } from "../../../src/protocol/command-table.ts";
import { rowOf } from "../../../src/protocol/index.ts";
import { holdLane, openSession, transports, useServer } from "../support/conformance-server.ts";
import { course, fresh, type WireClient } from "../support/wire-client.ts";

const server = useServer();

/** Fields with which a command succeeds on a session that has had one exchange; functions get the session's facts. */
type Fields = Record<string, unknown> | ((facts: Facts) => Record<string, unknown>);
interface Facts {
	entryId: string;
	sessionPath: string;
}

const reads: Record<string, Fields> = {
	code_search: { query: "x" },
	code_deps: { path: "x.ts" },
	code_usages: { symbol: "x" },
	get_context_piece: { pieceId: "none" },
	extension_ui_response: { requestId: "none", response: { cancelled: true } },
};

const changes: Record<string, Fields> = {
	prompt: { message: "say hello", waitFor: "settled" },
	steer: { message: "say steered" },
	follow_up: { message: "say followed" },
	clear_queue: {},
	abort: {},
	abort_bash: {},
	abort_compaction: {},
	abort_retry: {},
	set_model: { provider: "loop", modelId: "claude-loop" },
	cycle_model: {},
	set_thinking_level: { level: "off" },
	cycle_thinking_level: {},
	set_steering_mode: { mode: "all" },
	set_follow_up_mode: { mode: "all" },
	set_auto_compaction: { enabled: false },
	set_auto_retry: { enabled: false },
	set_session_name: { name: "n" },
	set_tools: { tools: ["read"] },
	bash: { command: "true" },
	export_html: {},
	reload: {},
	clone: {},
	fork: ({ entryId }) => ({ entryId }),
	new_session: {},
	switch_session_file: ({ sessionPath }) => ({ sessionPath }),
	navigate_tree: ({ entryId }) => ({ targetId: entryId }),
	compact: {},
};

/** Needs a summary of the model, which is beside the point: its version is that of a change that fails. */
const FAILING = new Set(["compact"]);

describe.each(transports)("over %s", (transport) => {
	test("§10 create_session starts at version 0", { tags: "slow" }, async () => {
		const client = await server.client(transport);
		const sessionId = fresh("s");
		const created = await client.ask({ type: "create_session", sessionId });
		expect(created.sessionVersion).toBe(0);
		expect((await client.ask({ type: "create_session" })).sessionVersion).toBe(0);
		expect(await versionOf(client, sessionId)).toBe(0);
	});

	test("§10 no read of a session raises its version", { tags: "slow" }, async () => {
		const { client, sessionId } = await withSession();
		await client.ask({ type: "set_session_name", sessionId, name: "n" });
		const types = commandTypes.filter((type) => {
			const row = rowOf(type);
			return row?.target === "session" && row.effect === "read";
		});
		expect(types.length).toBeGreaterThan(20);
		for (const type of types) {
			const answer = await client.ask({ type, sessionId, ...(reads[type] as object) });
			expect([type, answer.code]).not.toEqual([type, "invalid_command"]);
			if (answer.success) expect([type, answer.sessionVersion]).toEqual([type, 1]);
		}
		for (const type of ["subscribe", "switch_session", "unsubscribe", "list_sessions"]) {
			await client.ask({ type, sessionId });
		}
		expect(await versionOf(client, sessionId)).toBe(1);
	});

	test("§10 every change of a session that succeeds raises its version by exactly 1", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withSession();
		const types = commandTypes.filter((type) => {
			const row = rowOf(type);
			return row?.target === "session" && row.effect === "change";
		});
		expect(Object.keys(changes).sort()).toEqual([...types].sort());
		let version = 0;
		let facts: Facts = { entryId: "", sessionPath: "" };
		for (const [type, fields] of Object.entries(changes)) {
			const answer = await client.ask({
				type,
				sessionId,
				...(typeof fields === "function" ? fields(facts) : fields),
			});
			if (!FAILING.has(type)) {
				expect([type, answer]).toEqual([type, expect.objectContaining({ success: true })]);
				version += 1;
				expect([type, answer.sessionVersion]).toEqual([type, version]);
			}
			expect([type, await versionOf(client, sessionId)]).toEqual([type, version]);
			if (type === "prompt") facts = await factsOf(client, sessionId);
		}
	});

	test("§10 a change that fails leaves the version alone", async () => {
		const { client, sessionId } = await withSession();
		const failing = [
			{ type: "set_model", provider: "loop", modelId: "none" },
			{ type: "set_tools", tools: ["none"] },
			{ type: "fork", entryId: "none" },
			{ type: "set_session_name", name: "   " },
			{ type: "switch_session_file", sessionPath: "/nowhere.jsonl" },
		];
		for (const command of failing) {
			expect(await client.ask({ ...command, sessionId })).toMatchObject({ success: false });
		}
		expect(await versionOf(client, sessionId)).toBe(0);
	});

	test("§10 what a run does by itself, and the answer to a dialog, raise nothing", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withSession();
		const held = await holdLane(client, sessionId);
		await held.release();
		expect(await versionOf(client, sessionId)).toBe(1);
		await client.ask({ type: "prompt", sessionId, message: "tokens 60", waitFor: "settled" });
		expect(await versionOf(client, sessionId)).toBe(2);
	});

	test("§10 each session has a version of its own", async () => {
		const { client, sessionId } = await withSession();
		const other = await openSession(client);
		for (const name of ["a", "b", "c"]) {
			await client.ask({ type: "set_session_name", sessionId, name });
		}
		expect([await versionOf(client, sessionId), await versionOf(client, other)]).toEqual([3, 0]);
	});

	test("§10 delete_session removes the version: the same id starts at 0 again", async () => {
		const { client, sessionId } = await withSession();
		await client.ask({ type: "set_session_name", sessionId, name: "n" });
		expect(await client.ask({ type: "delete_session", sessionId })).toMatchObject({
			success: true,
		});
		expect(await client.ask({ type: "get_state", sessionId, ifSessionVersion: 1 })).toMatchObject({
			success: false,
			code: "unknown_session",
		});
		const again = await client.ask({ type: "create_session", sessionId });
		expect(again).toMatchObject({ success: true, sessionVersion: 0 });
		expect(again.data?.sessionInfo).not.toHaveProperty("sessionName");
	});

	test("§10 load_session starts at 0, and leaves an open session at its version", async () => {
		const { client, sessionId } = await withSession();
		await client.ask({ type: "prompt", sessionId, message: "say hello", waitFor: "settled" });
		const { sessionPath } = await factsOf(client, sessionId);
		expect(await client.ask({ type: "load_session", sessionPath })).toMatchObject({
			success: true,
			data: { sessionId },
		});
		expect(await versionOf(client, sessionId)).toBe(1);
		await client.ask({ type: "delete_session", sessionId });
		const loaded = await client.ask({ type: "load_session", sessionPath, sessionId: fresh("l") });
		expect(loaded).toMatchObject({ success: true, sessionVersion: 0 });
	});

	test.each([
		["a read", { type: "get_state" }],
		["a change", { type: "set_session_name", name: "n" }],
		["delete_session", { type: "delete_session" }],
	])("§10.1 with ifSessionVersion, %s of a missing session fails", async (_what, command) => {
		const client = await server.client(transport);
		const id = fresh("missing");
		const sessionId = fresh("nobody");
		expect(await client.ask({ ...command, id, sessionId, ifSessionVersion: 0 })).toMatchObject({
			success: false,
			code: "unknown_session",
		});
		expect(course(client, id)).toEqual(["accepted", "finished", "response"]);
	});

	test.each([
		["a read", { type: "get_state" }],
		["a change", { type: "set_session_name", name: "n" }],
		["delete_session", { type: "delete_session" }],
		["a command of the control path", { type: "abort" }],
	])(
		"§10.1 %s with another version fails, is never started and says which it is",
		async (_what, command) => {
			const { client, sessionId } = await withSession();
			await client.ask({ type: "set_session_name", sessionId, name: "first" });
			const id = fresh("stale");
			expect(await client.ask({ ...command, id, sessionId, ifSessionVersion: 0 })).toMatchObject({
				success: false,
				code: "version_mismatch",
				sessionVersion: 1,
			});
			expect(course(client, id)).toEqual(["accepted", "finished", "response"]);
			const state = await client.ask({ type: "get_state", sessionId });
			expect(state).toMatchObject({ sessionVersion: 1, data: { sessionName: "first" } });
		},
	);

	test("§10.1 an exact match proceeds", async () => {
		const { client, sessionId } = await withSession();
		for (const ifSessionVersion of [0, 1, 2]) {
			expect(
				await client.ask({ type: "set_session_name", sessionId, name: "n", ifSessionVersion }),
			).toMatchObject({ success: true, sessionVersion: ifSessionVersion + 1 });
		}
		expect(await client.ask({ type: "get_state", sessionId, ifSessionVersion: 3 })).toMatchObject({
			success: true,
			sessionVersion: 3,
		});
		expect(
			await client.ask({ type: "delete_session", sessionId, ifSessionVersion: 3 }),
		).toMatchObject({ success: true });
	});

	test("§10.1 of changes made in ignorance of each other exactly one is taken", async () => {
		const { client, sessionId } = await withSession();
		const other = await server.client("websocket");
		const rename = (one: WireClient, name: string) =>
			one.ask({ type: "set_session_name", sessionId, name, ifSessionVersion: 0 });
		const outcomes = await Promise.all(
			[client, other, client, other].map((one, index) => rename(one, `name ${index}`)),
		);
		expect(outcomes.filter(({ success }) => success)).toHaveLength(1);
		expect(outcomes.filter(({ code }) => code === "version_mismatch")).toHaveLength(3);
		expect(await versionOf(client, sessionId)).toBe(1);
	});

	async function withSession() {
		const client = await server.client(transport);
		return { client, sessionId: await openSession(client) };
	}
});

async function versionOf(client: WireClient, sessionId: string) {
	return (await client.ask({ type: "get_state", sessionId })).sessionVersion;
}

async function factsOf(client: WireClient, sessionId: string): Promise<Facts> {
	const forkable = await client.ask({ type: "get_fork_messages", sessionId });
	const state = await client.ask({ type: "get_state", sessionId });
	const [first] = (forkable.data?.messages ?? []) as { entryId: string }[];
	return { entryId: first?.entryId ?? "", sessionPath: String(state.data?.sessionFile) };
}
