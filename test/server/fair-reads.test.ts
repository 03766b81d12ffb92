import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ResponseData } from "../../src/protocol/index.ts";
import { tempDir } from "../support/temp.ts";
import { FLOOD_TOKENS, writeFloodSession, writeTokens } from "./support/flood-session.ts";
import { type ReadFlood, type ReadFloodOptions, startReadFlood } from "./support/read-flood.ts";
import { type ServeProcess, startServe } from "./support/serve-process.ts";
import { connectWire, type WireClient } from "./support/wire-client.ts";

const CONNECTIONS = 39;
const DEPTH = 128;
const ALL = CONNECTIONS * DEPTH;
const MAX_FLOODS = 10;
/** Characters in the session: all answers together are several times what the server lets wait. */
const CHARACTERS = 100_000;

let server: ServeProcess;
let port = 0;
let owner: WireClient;
let other: WireClient;
let last = 0;

beforeAll(async () => {
	const agentDir = tempDir("agent");
	const tokenFile = writeTokens(agentDir, FLOOD_TOKENS);
	const sessionPath = writeFloodSession(agentDir, agentDir, CHARACTERS);
	server = startServe(["--port", "0", "--token-file", tokenFile, "--json"], { agentDir });
	({ port = 0 } = await server.ready());
	const url = `ws://127.0.0.1:${port}`;
	owner = await connectWire(url, FLOOD_TOKENS.flood);
	other = await connectWire(url, FLOOD_TOKENS.other);
	for (const client of [owner, other]) await client.ask({ type: "subscribe", lifecycle: "own" });
	const loaded = await owner.ask({ type: "load_session", sessionPath, sessionId: "s" });
	expect(loaded).toMatchObject({ success: true });
	await other.ask({ type: "create_session", sessionId: "mine", cwd: agentDir });
});

afterAll(async () => {
	owner.close();
	other.close();
	server.child.kill("SIGTERM");
	expect((await server.exited).code).toBe(0);
	expect(server.err()).toBe("");
});

describe("while one principal has all the reads in flight that it may", () => {
	test.each(["get_messages", "get_tree"])(
		"another's are answered between its %s",
		{ tags: "slow" },
		async (type) => {
			// The process of this test takes the flood in, too: it may see only some answers of one flood in between, and on a busy
			// machine it counts answers that came after the other's. Without turns, each waits at least for the last fifth.
			const between: number[] = [];
			const isShown = () => between.length > 5 && Math.min(...between) < ALL / 10;
			for (let floods = 0; floods < MAX_FLOODS && !isShown(); floods++) {
				const flood = await start(type);
				while (flood.answers() < ALL * 0.8 && flood.cutOff() === 0) {
					const before = flood.answers();
					const answer = await other.ask({ type: "get_state", sessionId: "mine" });
					expect(answer.success).toBe(true);
					if (before > 0) between.push(flood.answers() - before);
				}
				await flood.over;
				expect({ answers: flood.answers(), cutOff: flood.cutOff() }).toEqual({
					answers: ALL,
					cutOff: 0,
				});
				flood.close();
			}
			// One at a time in rounds with thousands: each waits for a slice or two, not for a share of all.
			expect(between.length).toBeGreaterThan(5);
			expect(Math.min(...between)).toBeLessThan(ALL / 10);
		},
	);

	test("another's are answered between those of one id, and no connection is cut off", {
		tags: "slow",
	}, async () => {
		const before = new Set<string>();
		for (let floods = 0; floods < MAX_FLOODS && before.size <= 5; floods++) {
			const flood = await start("get_messages", {
				read: () => '{"type":"get_messages","id":"the-same","sessionId":"s"}',
			});
			while (flood.answers() < ALL * 0.8 && flood.cutOff() === 0) {
				before.add(`${floods} ${flood.answers()}`);
				await other.ask({ type: "get_state", sessionId: "mine" });
			}
			await flood.over;
			expect({ answers: flood.answers(), cutOff: flood.cutOff() }).toEqual({
				answers: ALL,
				cutOff: 0,
			});
			flood.close();
		}
		expect(before.size).toBeGreaterThan(5);
	});

	test("changes, aborts and its own small reads are answered too", { tags: "slow" }, async () => {
		const flood = await start("get_messages");
		while (flood.answers() === 0) await owner.ask({ type: "health_check" });
		const small = await owner.ask({ type: "get_state", sessionId: "s" });
		const change = await owner.ask({ type: "set_session_name", sessionId: "s", name: "named" });
		const stop = await owner.ask({ type: "abort", sessionId: "s" });
		const answered = flood.answers();
		expect([small, change, stop].map(({ success }) => success)).toEqual([true, true, true]);
		expect(answered).toBeLessThan(ALL);
		await flood.over;
		expect({ answers: flood.answers(), cutOff: flood.cutOff() }).toEqual({
			answers: ALL,
			cutOff: 0,
		});
		flood.close();
	});

	test("those of its connections that read slowly are not cut off, and hold up no others", {
		tags: "slow",
	}, async () => {
		const flood = await start("get_messages", {
			connections: 8,
			depth: DEPTH,
			slow: { connections: 4, pauseMs: 2 },
		});
		await flood.over;
		expect({ answers: flood.answers(), cutOff: flood.cutOff() }).toEqual({
			answers: 8 * DEPTH,
			cutOff: 0,
		});
		flood.close();
	});

	test("nothing is left over when all of its connections are gone", {
		tags: "slow",
	}, async () => {
		const flood = await start("get_tree");
		while (flood.answers() === 0) await other.ask({ type: "health_check" });
		flood.close();
		const commandsPending = async () => {
			const { data } = await other.ask({ type: "get_metrics" });
			return (data as unknown as ResponseData["get_metrics"]).commands.pending;
		};
		await expect.poll(commandsPending).toBe(1); // this one
	});
});

function start(type: string, more: Partial<ReadFloodOptions> = {}): Promise<ReadFlood> {
	const number = ++last;
	return startReadFlood({
		port,
		token: FLOOD_TOKENS.flood,
		connections: CONNECTIONS,
		depth: DEPTH,
		read: (read) => `{"type":"${type}","id":"flood-${number}-${read}","sessionId":"s"}`,
		...more,
	});
}
