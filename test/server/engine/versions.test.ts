import { describe, expect, test } from "vitest";
import { commandTable, commandTypes } from "../../../src/protocol/command-table.ts";
import { createHarness, finished, nameSession as name, phases, response } from "./harness.ts";

async function withSession() {
	const harness = createHarness();
	const client = harness.client();
	await harness.send(client, { type: "create_session", sessionId: "s", id: "create" });
	return { harness, client };
}

describe("versions", () => {
	test("§10 create_session starts at 0, also when the server makes up the id", async () => {
		const { harness, client } = await withSession();
		expect(response(client, "create").sessionVersion).toBe(0);
		await harness.send(client, { type: "create_session", id: "b" });
		const made = response(client, "b");
		expect(made.sessionVersion).toBe(0);
		expect(harness.engine.version("ann", made.data?.sessionId as string)).toBe(0);
	});

	test("§10 a successful change adds one, a failed change and a read add nothing", async () => {
		const { harness, client } = await withSession();
		await harness.send(client, name("a"), { type: "abort", sessionId: "s", id: "b" });
		expect(harness.engine.version("ann", "s")).toBe(2);
		harness.on("set_session_name", async () => {
			throw new Error("no");
		});
		await harness.send(client, name("c"), { type: "get_state", sessionId: "s", id: "d" });
		expect(harness.engine.version("ann", "s")).toBe(2);
		expect(response(client, "d").sessionVersion).toBe(2);
		expect(finished(client, "b").sessionVersion).toBe(2);
	});

	test("§10 what the table calls a change of a session counts, and nothing else does", {
		tags: "slow",
	}, async () => {
		const { harness } = await withSession();
		for (const type of commandTypes) {
			const row = commandTable[type];
			if (row.target !== "session") continue;
			const before = harness.engine.version("ann", "s") as number;
			const client = harness.client();
			await harness.send(client, { ...fieldsOf(type), type, sessionId: "s", id: `x-${type}` });
			expect(response(client, `x-${type}`)).toMatchObject({ success: true });
			const step = row.effect === "change" ? 1 : 0;
			expect([type, harness.engine.version("ann", "s")]).toEqual([type, before + step]);
		}
	});

	test("§10 delete_session removes the version; commands for the session then fail", async () => {
		const { harness, client } = await withSession();
		await harness.send(client, { type: "delete_session", sessionId: "s", id: "d" }, name("a"));
		expect(response(client, "d")).not.toHaveProperty("sessionVersion");
		expect(harness.engine.version("ann", "s")).toBeUndefined();
		expect(response(client, "a").code).toBe("unknown_session");
		expect(harness.calls).toEqual(["create_session", "delete_session"]);
	});

	test("a session that was loaded anew starts at 0, one that was open keeps its version", async () => {
		const { harness, client } = await withSession();
		await harness.send(client, name("a"));
		harness.on("load_session", async ({ principal }) => ({
			data: { sessionId: "s" },
			session: { principal, id: "s", cwd: "/", createdAtMs: 0, settings: {} },
		}));
		await harness.send(client, { type: "load_session", sessionPath: "/x.jsonl", id: "l" });
		expect(response(client, "l").sessionVersion).toBe(1);
		expect(client.frames.filter(({ type }) => type === "session_created")).toHaveLength(1);
	});

	test("only sessions that exist have a version, whatever a stray sessionId says", async () => {
		const { harness, client } = await withSession();
		await harness.send(client, { type: "list_sessions", sessionId: "ghost", id: "a" });
		expect(response(client, "a")).not.toHaveProperty("sessionVersion");
		expect(finished(client, "a")).not.toHaveProperty("sessionId");
		expect(harness.engine.version("ann", "ghost")).toBeUndefined();
	});

	test("another principal's session does not exist", async () => {
		const { harness } = await withSession();
		const bob = harness.client("bob");
		await harness.send(bob, { type: "get_state", sessionId: "s", id: "a" });
		expect(response(bob, "a").code).toBe("unknown_session");
		expect(harness.engine.version("bob", "s")).toBeUndefined();
	});
});

describe("ifSessionVersion", () => {
	test("§10.1 an exact match proceeds", async () => {
		const { harness, client } = await withSession();
		await harness.send(client, name("a", { ifSessionVersion: 0 }));
		expect(response(client, "a")).toMatchObject({ success: true, sessionVersion: 1 });
	});

	test("§10.1 a mismatch fails without started, says the version, and changes nothing", async () => {
		const { harness, client } = await withSession();
		await harness.send(client, name("a", { ifSessionVersion: 3 }));
		expect(phases(client, "a")).toEqual(["accepted", "finished", "response"]);
		expect(response(client, "a")).toMatchObject({
			success: false,
			code: "version_mismatch",
			sessionVersion: 0,
		});
		expect(harness.engine.version("ann", "s")).toBe(0);
	});

	test("§10.1 a missing session fails", async () => {
		const { harness, client } = await withSession();
		await harness.send(client, name("a", { sessionId: "none", ifSessionVersion: 0 }), {
			type: "delete_session",
			sessionId: "none",
			ifSessionVersion: 0,
			id: "b",
		});
		for (const id of ["a", "b"]) expect(response(client, id).code).toBe("unknown_session");
	});

	test("it is checked right before execution: after the commands ahead and the dependencies", async () => {
		const { harness, client } = await withSession();
		await harness.send(client, { type: "create_session", sessionId: "t" });
		harness.hold("bash");
		await harness.send(
			client,
			{ type: "bash", sessionId: "t", command: "x", id: "long" },
			name("a"),
			name("b", { ifSessionVersion: 1, dependsOn: ["long"] }),
			{ type: "abort", sessionId: "s", id: "abort" },
			name("c", { ifSessionVersion: 2 }),
		);
		expect(harness.engine.version("ann", "s")).toBe(2);
		await harness.held[0]?.finish();
		expect(response(client, "b").code).toBe("version_mismatch");
		expect(response(client, "c").success).toBe(true);
	});

	test("of two writers with the same version one wins", async () => {
		const { harness } = await withSession();
		const [one, two] = [harness.client(), harness.client()];
		await Promise.all([
			harness.send(one, name("one", { ifSessionVersion: 0 })),
			harness.send(two, name("two", { ifSessionVersion: 0 })),
		]);
		expect(response(one, "one").success).toBe(true);
		expect(response(two, "two")).toMatchObject({ code: "version_mismatch", sessionVersion: 1 });
	});
});

/** The least a command of the type must carry. */
function fieldsOf(type: string): object {
	const message = { message: "x" };
	const path = { sessionPath: "/x.jsonl" };
	const enabled = { enabled: true };
	const fields: Record<string, object> = {
		prompt: message,
		steer: message,
		follow_up: message,
		extension_ui_response: { requestId: "r", response: { confirmed: true } },
		set_model: { provider: "p", modelId: "m" },
		set_thinking_level: { level: "low" },
		set_steering_mode: { mode: "all" },
		set_follow_up_mode: { mode: "all" },
		set_auto_compaction: enabled,
		set_auto_retry: enabled,
		set_session_name: { name: "n" },
		set_tools: { tools: [] },
		bash: { command: "x" },
		switch_session_file: path,
		fork: { entryId: "e" },
		navigate_tree: { targetId: "t" },
		get_context_piece: { pieceId: "p" },
		code_search: { query: "q" },
		code_deps: { path: "p" },
		code_usages: { symbol: "s" },
	};
	return fields[type] ?? {};
}
