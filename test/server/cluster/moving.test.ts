import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { createBlobStore } from "../../../src/core/blob-store.ts";
import { PATIENCE } from "../../support/patience.ts";
import { postgresPrograms, sharedPostgres, withPostgres } from "../../support/postgres.ts";
import { tempDir } from "../../support/temp.ts";
import { type ServeProcess, startServe } from "../support/serve-process.ts";
import { connectWire, type WireClient } from "../support/wire-client.ts";

interface Server {
	readonly process: ServeProcess;
	readonly client: WireClient;
	readonly agentDir: string;
	metric(name: string): Promise<number | undefined>;
	stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** A server of the database, with folders of its own unless given. */
async function start(
	url: string,
	{ agentDir = tempDir(), words = [] as string[], env = {} as NodeJS.ProcessEnv } = {},
): Promise<Server> {
	const process = startServe(
		["--port", "0", "--auth", "none", "--json", "--database", url, ...words],
		{ agentDir, env: { XDG_CACHE_HOME: join(agentDir, "cache"), ...env } },
	);
	const { port } = await process.ready();
	const client = await connectWire(`ws://127.0.0.1:${port}`);
	return {
		process,
		client,
		agentDir,
		async metric(name) {
			const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
			const value = new RegExp(`^strata_${name} (\\S+)$`, "m").exec(text)?.[1];
			return value === undefined ? undefined : Number(value);
		},
		async stop(signal = "SIGTERM") {
			client.close();
			process.child.kill(signal);
			await process.exited;
		},
	};
}

const newDatabase = async () => (await sharedPostgres()).database();
const PARKING = ["--limit", "parkMs=100"];

async function parked({ metric }: Server, count = 0): Promise<void> {
	await vi.waitFor(async () => expect(await metric("sessions")).toBe(count), PATIENCE);
}

const textOf = (answer: object) => JSON.stringify(answer);
const seqOf = ({ data }: { data?: unknown }) => (data as { seq: number }).seq;

describe.runIf(postgresPrograms)(
	withPostgres("a session on several servers"),
	{ tags: "slow" },
	() => {
		test("that could not be created leaves its name free for all servers", async () => {
			const url = await newDatabase();
			const a = await start(url);
			const command = { type: "create_session", sessionId: "s", cwd: tempDir() };
			const inTheWay = join(a.agentDir, "sessions");
			writeFileSync(inTheWay, "in the way of pi's folder");
			expect(await a.client.ask(command)).toMatchObject({ success: false });
			rmSync(inTheWay);
			const b = await start(url);
			expect(await b.client.ask(command)).toMatchObject({ success: true });
			expect(await a.client.ask(command)).toMatchObject({ code: "session_exists" });
		});

		test("has the database's entries after a restart on its data folder, whatever pi's file lost", async () => {
			const url = await newDatabase();
			const a = await start(url);
			const { agentDir } = a;
			await a.client.ask({ type: "create_session", sessionId: "s", cwd: tempDir() });
			for (const word of ["first", "second"]) {
				await a.client.ask({ type: "bash", sessionId: "s", command: `echo the ${word}` });
			}
			const state = await a.client.ask({ type: "get_state", sessionId: "s" });
			const { sessionFile: file } = state.data as unknown as { sessionFile: string };
			await a.stop("SIGKILL");
			const lines = readFileSync(file, "utf8").split("\n");
			const cut = lines.findIndex((line) => line.includes("the second"));
			writeFileSync(file, `${lines.slice(0, cut).join("\n")}\n`);
			const again = await start(url, { agentDir });
			const entries = await again.client.ask({ type: "get_entries", sessionId: "s" });
			expect(textOf(entries)).toContain("the first");
			expect(textOf(entries)).toContain("the second");
			expect(readFileSync(file, "utf8")).toContain("the second");
		});

		test("counts leases and claims where metrics are read", async () => {
			const url = await newDatabase();
			const a = await start(url);
			// Before there is another server that might get it.
			await a.client.ask({ type: "create_session", sessionId: "s", cwd: tempDir() });
			const b = await start(url);
			expect(await a.metric("lease_seconds_left")).toBeGreaterThan(0);
			expect(await b.metric("sessions_claimed_total")).toBe(0);
			await a.stop();
			expect(await b.client.ask({ type: "get_state", sessionId: "s" })).toMatchObject({
				success: true,
			});
			expect(await b.metric("sessions_claimed_total")).toBe(1);
			expect(await b.metric("sessions_lost_total")).toBe(0);
			expect(await b.metric("buried_total")).toBe(0);
		});

		test("has the full texts behind its stubs on the server that claims it", async () => {
			const url = await newDatabase();
			const home = tempDir();
			const a = await start(url, { env: { HOME: home } });
			const cwd = tempDir();
			const blobs = { dir: join(tempDir(), "blobs"), enabled: true, maxBytes: 1e6, maxAgeDays: 1 };
			const text = "a long result\n".repeat(100);
			const file = writeStubbed(a.agentDir, cwd, text, createBlobStore(blobs).nameOf(text).path);
			await a.client.ask({ type: "load_session", sessionId: "s", sessionPath: file });
			await a.client.ask({ type: "set_session_name", sessionId: "s", name: "moves" });
			await a.stop();
			const agentDir = tempDir();
			mkdirSync(agentDir, { recursive: true });
			writeFileSync(join(agentDir, "strata.json"), JSON.stringify({ blobs: { dir: blobs.dir } }));
			const b = await start(url, { agentDir, env: { HOME: home } });
			expect(existsSync(blobs.dir)).toBe(false);
			const moved = await b.client.ask({ type: "get_state", sessionId: "s" });
			expect(moved).toMatchObject({ success: true, data: { sessionName: "moves" } });
			const [name = ""] = readdirSync(blobs.dir).filter((one) => one.endsWith(".txt"));
			expect(readFileSync(join(blobs.dir, name), "utf8")).toBe(text);
		});
	},
);

describe.runIf(postgresPrograms)(withPostgres("a parked session"), { tags: "slow" }, () => {
	test("is listed and claimed by any server, with its versions, events and entries", async () => {
		const url = await newDatabase();
		const a = await start(url, { words: PARKING });
		const cwd = tempDir();
		await a.client.ask({ type: "create_session", sessionId: "s", cwd });
		await a.client.ask({ type: "bash", sessionId: "s", command: "echo of a" });
		const b = await start(url);
		const { sessionVersion = 0 } = await a.client.ask({
			type: "set_session_name",
			sessionId: "s",
			name: "parked",
		});
		const before = seqOf(await a.client.ask({ type: "subscribe", sessionId: "s" }));
		expect(await a.metric("sessions")).toBe(1);
		await a.client.ask({ type: "unsubscribe", sessionId: "s" });
		await parked(a);
		expect(await a.metric("sessions_parked_total")).toBe(1);
		for (const { client } of [a, b]) {
			expect(await client.ask({ type: "list_sessions" })).toMatchObject({
				data: { sessions: [{ sessionId: "s", sessionName: "parked", cwd, isStreaming: false }] },
			});
		}
		const renamed = { type: "set_session_name", sessionId: "s", name: "of b" };
		expect(await b.client.ask(renamed)).toMatchObject({ sessionVersion: sessionVersion + 1 });
		const entries = await b.client.ask({ type: "get_entries", sessionId: "s" });
		expect(textOf(entries)).toContain("of a");
		const joined = await b.client.ask({ type: "subscribe", sessionId: "s" });
		expect(seqOf(joined)).toBeGreaterThan(before);
		expect(await a.client.ask({ type: "get_state", sessionId: "s" })).toMatchObject({
			data: { sessionName: "of b" },
		});
	});

	test("comes back for commands, subscribers and its file, on the server that parked it", async () => {
		const url = await newDatabase();
		const a = await start(url, { words: PARKING });
		const cwd = tempDir();
		await a.client.ask({ type: "create_session", sessionId: "s", cwd });
		await a.client.ask({ type: "bash", sessionId: "s", command: "echo kept" });
		const { data } = await a.client.ask({ type: "get_state", sessionId: "s" });
		const { sessionFile: sessionPath } = data as unknown as { sessionFile: string };
		await a.client.ask({ type: "unsubscribe", sessionId: "s" });
		await parked(a);
		expect(textOf(await a.client.ask({ type: "get_entries", sessionId: "s" }))).toContain("kept");
		await parked(a);
		const loaded = await a.client.ask({ type: "load_session", sessionPath });
		expect(loaded).toMatchObject({ success: true, data: { sessionId: "s" } });
		await a.client.ask({ type: "unsubscribe", sessionId: "s" });
		await parked(a);
		const many = await Promise.all(
			Array.from({ length: 8 }, () => a.client.ask({ type: "get_state", sessionId: "s" })),
		);
		expect(many.every(({ success }) => success)).toBe(true);
		expect(readdirSync(join(sessionPath, "..")).filter((one) => one.includes(".old"))).toEqual([]);
	});

	test.each(["always", "never"])(
		"that named no folder comes back on a server with --workspace (--demo %s)",
		async (demo) => {
			const workspace = tempDir("workspace");
			const words = [...PARKING, "--workspace", workspace, "--demo", demo];
			const a = await start(await newDatabase(), { words });
			const created = await a.client.ask({ type: "create_session", sessionId: "s" });
			if (demo === "never") expect(textOf(created)).toContain(JSON.stringify(workspace));
			await a.client.ask({ type: "unsubscribe", sessionId: "s" });
			await parked(a);
			const state = await a.client.ask({ type: "get_state", sessionId: "s" });
			expect(state).toMatchObject({ success: true });
		},
	);

	test("is not taken by a restart, and a subscriber claims it", async () => {
		const url = await newDatabase();
		const a = await start(url, { words: PARKING });
		for (const sessionId of ["idle", "wanted"]) {
			await a.client.ask({ type: "create_session", sessionId, cwd: tempDir() });
		}
		await a.client.ask({ type: "unsubscribe", sessionId: "idle" });
		await parked(a, 1);
		await a.stop("SIGKILL");
		const again = await start(url, { agentDir: a.agentDir });
		expect(await again.metric("sessions")).toBe(1);
		const joined = await again.client.ask({ type: "subscribe", sessionId: "idle", after: 0 });
		expect(joined).toMatchObject({ success: true });
		expect(await again.metric("sessions")).toBe(2);
	});
});

/** A session file in which a tool's result was replaced by a stub that names a blob. */
function writeStubbed(agentDir: string, cwd: string, text: string, blob: string): string {
	const folder = join(agentDir, "sessions", "by-hand");
	mkdirSync(folder, { recursive: true });
	const timestamp = "2026-01-02T03:04:05.678Z";
	const at = Date.parse(timestamp);
	const id = (n: number) => createHash("sha256").update(String(n)).digest("hex").slice(0, 8);
	const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 };
	const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
	const answer = {
		role: "assistant",
		content: [{ type: "toolCall", id: "call-1", name: "bash", arguments: { command: "x" } }],
		api: "anthropic-messages",
		provider: "anthropic",
		model: "m",
		usage: { ...usage, cost },
		stopReason: "toolUse",
		timestamp: at,
	};
	const result = {
		role: "toolResult",
		toolCallId: "call-1",
		toolName: "bash",
		content: [{ type: "text", text }],
		isError: false,
		timestamp: at,
	};
	const stub = `(Pruned) bash(command="x"): ${text.length} chars. "a long result" Full text: read ${blob}`;
	const entries = [
		{ type: "session", version: 3, id: "stubbed", timestamp, cwd },
		{ type: "message", message: { role: "user", content: "go", timestamp: at } },
		{ type: "message", message: answer },
		{ type: "message", message: result },
		{
			type: "context_edit",
			targetId: id(3),
			replacement: { content: [{ type: "text", text: stub }] },
		},
	];
	const lines = entries.map((entry, n) =>
		JSON.stringify(
			n === 0 ? entry : { ...entry, id: id(n), parentId: n === 1 ? null : id(n - 1), timestamp },
		),
	);
	const file = join(folder, "2026-01-02T03-04-05-678Z_stubbed.jsonl");
	writeFileSync(file, `${lines.join("\n")}\n`);
	return file;
}
