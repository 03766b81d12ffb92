// @module-tag slow
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Check } from "typebox/value";
import { describe, expect, test } from "vitest";
import { serverCommands } from "../../../src/protocol/server-commands.ts";
import { ServerEvent } from "../../../src/protocol/server-events.ts";
import type { Call } from "../../../src/server/engine/call.ts";
import type { Client } from "../../../src/server/engine/message.ts";
import { ServerTraffic } from "../../../src/server/traffic/server-traffic.ts";
import { trafficFolder } from "../../../src/traffic/index.ts";
import { Recorder } from "../../../src/traffic/recorder.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { StandIn, says, step, TOOLS } from "../../traffic/stand-in.ts";

/** A server's part in traffic, on an agent folder without a book. */
function setUp() {
	const agentDir = tempDir();
	const folder = trafficFolder({ PI_CODING_AGENT_DIR: agentDir });
	const traffic = new ServerTraffic(agentDir, { pollMs: 20 });
	atEnd(() => traffic.close());
	const { signal } = new AbortController();
	const { list_conversations, get_conversation } = traffic.handlers;
	const list = async (limit?: number, principal = "ann") => {
		const command = { type: "list_conversations" as const, ...(limit && { limit }) };
		const call = { command, principal, signal } as Call<"list_conversations">;
		const { data } = await list_conversations(call);
		expect(Check(serverCommands.list_conversations.data, data)).toBe(true);
		return data;
	};
	const report = async (conversation: number, limit?: number) => {
		const command = { type: "get_conversation" as const, conversation, ...(limit && { limit }) };
		const call = { command, principal: "ann", signal } as Call<"get_conversation">;
		const { data } = await get_conversation(call);
		expect(Check(serverCommands.get_conversation.data, data)).toBe(true);
		return data;
	};
	return { agentDir, folder, traffic, list, report };
}

/** A client that keeps what it gets: the conversation and the number of each request. */
function subscriber(gone = false) {
	const billed: [conversation: number, request: number][] = [];
	/** Those that stand for others too. */
	const partial: number[] = [];
	const client = {
		...{ id: "1", principal: "ann", lifecycle: "none", gone },
		send({ value }) {
			expect(Check(ServerEvent, value)).toBe(true);
			if (value.type !== "request_billed") return;
			billed.push([value.data.conversation, value.data.request.id]);
			if (value.data.more) partial.push(value.data.request.id);
		},
	} satisfies Client;
	return { client: client as Client, billed, partial };
}

async function recording(folder: string) {
	const recorder = await Recorder.open({ folder, keepDays: 30, keepTexts: false });
	atEnd(() => recorder.close());
	const provider = new StandIn();
	provider.nowMs = Date.now() - 60_000;
	const send = (...given: Parameters<StandIn["exchange"]>) =>
		recorder.add(provider.exchange(...given));
	return { send, provider };
}

const QUESTION = [says("question"), ...step("a", 4000, "/w/long.ts")];

/** A session with a title request, a provoked miss and a sub-agent. */
async function fill(folder: string) {
	const { send, provider } = await recording(folder);
	const session = { "user-agent": "claude-cli/2.1.325", "x-claude-code-session-id": "s1" };
	await send({ tools: [], system: "title", messages: [says("title", 10)] });
	await send({ messages: QUESTION.slice(0, 1) });
	await send({ messages: QUESTION });
	await send({ tools: [...TOOLS, "Web"], messages: [...QUESTION, ...step("b")] });
	await send(
		{ tools: ["Grep"], system: "explore", messages: [says("look around")] },
		{ requestHeaders: { ...session, "x-claude-code-agent-id": "explorer" } },
	);
	return { send, provider };
}

describe("the book of traffic", () => {
	test("that is not there is empty", async () => {
		const { list, report } = setUp();
		expect(await list()).toEqual({ conversations: [], truncated: false });
		await expect(report(1)).rejects.toMatchObject({
			code: "not_found",
			message: "There is no conversation 1",
		});
	});

	test("lists conversations, with title requests and sub-agents below their session", async () => {
		const { folder, list } = setUp();
		await fill(folder);
		const { conversations, truncated } = await list();
		expect(truncated).toBe(false);
		expect(conversations.map(({ id, parent, isSubagent }) => [id, parent, isSubagent])).toEqual([
			[3, 2, true],
			[2, undefined, false],
			[1, 2, false],
		]);
		expect(conversations[1]).toMatchObject({
			...{ agent: "claude-code", model: "claude-opus-5", requests: 3, misses: 1, unpriced: 0 },
			lastMiss: { cause: "tools", changed: "tool Web" },
		});
		expect(conversations[1]?.cost.dollars).toBeGreaterThan(0);
	});

	test("says which of its conversations it leaves out", async () => {
		const { folder, list } = setUp();
		await fill(folder);
		const { conversations, truncated } = await list(1);
		expect(truncated).toBe(true);
		// Its session is not listed, so it stands alone.
		expect(conversations.map(({ id, parent }) => [id, parent])).toEqual([[3, undefined]]);
	});

	test("has each request of a conversation, its miss, and what fills the window", async () => {
		const { folder, report } = setUp();
		const { provider } = await fill(folder);
		const { conversation, requests, window } = await report(2);
		expect(conversation).toMatchObject({ id: 2, requests: 3, misses: 1 });
		const billed = provider.bills.slice(1, 4); // the first is that of the title
		expect(
			requests.map(({ read, write, input, output }) => ({ read, write, input, output })),
		).toEqual(billed.map(({ read, write, input, output }) => ({ read, write, input, output })));
		expect(requests.map(({ miss }) => miss?.cause)).toEqual([undefined, undefined, "tools"]);
		expect(requests[2]?.miss?.cost.dollars).toBeGreaterThan(0);
		expect(window.byTool.parts[0]?.name).toBe("results of Read");
		expect(window.byFile.parts.map(({ name }) => name)).toContain("/w/long.ts");
		expect((await report(2, 1)).requests).toEqual(requests.slice(-1));
	});

	test("is read in turn: who asks too much is refused, and others are answered", async () => {
		const { list } = setUp();
		const answered: string[] = [];
		const asked = Array.from({ length: 40 }, () =>
			list().then(
				() => answered.push("ann"),
				({ code }) => code,
			),
		);
		await list(1, "bob");
		expect(answered.length).toBeLessThan(10);
		const refused = (await Promise.all(asked)).filter((outcome) => outcome === "busy");
		expect([answered.length, refused.length]).toEqual([33, 7]);
	});

	test("of a newer version is not read, and the error has no path of the server", async () => {
		const { agentDir, folder, list } = setUp();
		mkdirSync(folder, { recursive: true });
		const database = new DatabaseSync(join(folder, "book.sqlite"));
		database.exec("PRAGMA user_version = 99");
		database.close();
		const error = await list().catch((fault: Error) => fault);
		expect(error).toMatchObject({
			code: "failed",
			message: expect.stringContaining("book.sqlite was written by a newer pi-strata"),
		});
		expect(String(error)).not.toContain(agentDir);
	});
});

describe("events of traffic", () => {
	test("begin when a client subscribes, also without a book, and end with the subscription", async () => {
		const { folder, traffic, list } = setUp();
		const one = subscriber();
		const other = subscriber();
		const gone = subscriber(true);
		for (const { client } of [one, gone]) traffic.subscribe(client);
		await list(); // by now, the first subscription counts
		const { send } = await recording(folder);
		await send({ messages: QUESTION.slice(0, 1) });
		await expect.poll(() => one.billed).toEqual([[1, 1]]);
		traffic.subscribe(other.client);
		traffic.unsubscribe(one.client);
		await send({ messages: QUESTION });
		await expect.poll(() => other.billed).toEqual([[1, 2]]);
		traffic.unsubscribe(other.client);
		await send({ messages: [...QUESTION, ...step("b")] });
		const late = subscriber();
		traffic.subscribe(late.client);
		await list();
		await send({ messages: [...QUESTION, ...step("b"), ...step("c")] });
		await expect.poll(() => late.billed).toEqual([[1, 4]]);
		expect([one.billed, other.billed, gone.billed]).toEqual([[[1, 1]], [[1, 2]], []]);
	});

	test("have every request that is booked after the subscription was answered", async () => {
		const { folder, traffic } = setUp();
		const { send } = await recording(folder);
		for (const at of Array.from({ length: 10 }, (_, index) => index + 1)) {
			const { client, billed } = subscriber();
			await traffic.subscribe(client);
			await send({ messages: QUESTION.slice(0, 1) });
			await expect.poll(() => billed.map(([, request]) => request)).toEqual([at]);
			traffic.unsubscribe(client);
		}
	});

	test("after many requests at once are those of the latest", async () => {
		const { folder, traffic, list } = setUp();
		const { send } = await recording(folder);
		await send({ messages: QUESTION.slice(0, 1) });
		const { client, billed, partial } = subscriber();
		traffic.subscribe(client);
		await list();
		multiply(folder, 1_000);
		await expect.poll(() => billed.at(-1)).toEqual([1, 1001]);
		expect(billed).toHaveLength(50);
		// The last one says that there were more, perhaps of other conversations.
		expect(partial).toEqual([1001]);
		await send({ messages: QUESTION });
		await expect.poll(() => billed.at(-1)).toEqual([1, 1002]);
		expect(partial).toEqual([1001]);
	});
});

test("a book of 100,000 requests is answered in parts of bounded size", async () => {
	const { folder, list, report } = setUp();
	await fill(folder);
	multiply(folder, 100_000);
	const { conversations } = await list();
	expect(conversations.find(({ id }) => id === 1)?.requests).toBe(100_001);
	const { requests, conversation } = await report(1);
	expect([requests.length, conversation.requests]).toEqual([500, 100_001]);
	expect((await report(1, 2_000)).requests).toHaveLength(2_000);
});

/** Writes the first request of the book `count` more times, in one transaction. */
function multiply(folder: string, count: number): void {
	const database = new DatabaseSync(join(folder, "book.sqlite"));
	const names = database
		.prepare("SELECT name FROM pragma_table_info('request') WHERE name <> 'id'")
		.all()
		.map(({ name }) => String(name));
	database
		.prepare(
			`WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?)
			INSERT INTO request (${names}) SELECT ${names.map((name) => `r.${name}`)} FROM n, request r WHERE r.id = 1`,
		)
		.run(count);
	database.close();
}
