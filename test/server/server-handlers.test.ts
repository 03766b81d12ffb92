import { describe, expect, test } from "vitest";
import type { Command, CommandOf, CommandType, Data } from "../../src/protocol/index.ts";
import type { Handlers } from "../../src/server/engine/call.ts";
import type { Client } from "../../src/server/engine/message.ts";
import type {
	CommandHistoryEntry,
	CommandHistoryQuery,
	Recovered,
} from "../../src/server/journal/journal.ts";
import { createAttachments, createServerHandlers } from "../../src/server/server-handlers.ts";
import type { Streams } from "../../src/server/streams/streams.ts";

describe("subscribing", () => {
	test("passes on where to begin, and shows the dialogs that wait", async () => {
		const { run, calls, sent } = setUp();
		expect(await run({ type: "subscribe", sessionId: "s", after: 3 })).toEqual({
			data: { seq: 7, lifecycle: "all" },
		});
		expect(calls).toEqual(["subscribe s after 3"]);
		expect(sent).toEqual([{ type: "event", sessionId: "s", event: dialog }]);
	});

	test("sets which lifecycle events the connection gets, with or without a session", async () => {
		const { run, client, calls } = setUp();
		expect(await run({ type: "subscribe", lifecycle: "own" })).toEqual({
			data: { lifecycle: "own" },
		});
		expect(client.lifecycle).toBe("own");
		expect(calls).toEqual([]);
	});

	test("turns the events of traffic on and off, without a session", async () => {
		const { run, calls } = setUp();
		expect(await run({ type: "subscribe", traffic: true })).toEqual({
			data: { lifecycle: "all", traffic: true },
		});
		await run({ type: "subscribe", traffic: false });
		expect(calls).toEqual(["subscribe traffic", "unsubscribe traffic"]);
	});

	test("switch_session is the same from now on, with the session's state", async () => {
		const { run, calls } = setUp();
		expect(await run({ type: "switch_session", sessionId: "s" })).toEqual({
			data: { sessionInfo: { sessionId: "s" }, seq: 7 },
		});
		expect(calls).toEqual(["get_state s", "subscribe s after undefined"]);
	});

	test.each(["subscribe", "switch_session", "unsubscribe"] as const)(
		"%s of a session that is not there, or another's, fails",
		async (type) => {
			const { run, calls } = setUp();
			await expect(run({ type, sessionId: "other" })).rejects.toMatchObject({
				code: "unknown_session",
			});
			expect(calls).toEqual([]);
		},
	);

	test("a client that is gone meanwhile is not subscribed for ever", async () => {
		const { run, calls } = setUp({ gone: true });
		await run({ type: "subscribe", sessionId: "s" });
		expect(calls).toEqual([]);
	});
});

describe("a repetition over another connection", () => {
	const opened = { sessionId: "s" };
	test.each([
		[{ type: "create_session" }, opened, "subscribe s after 0"],
		[{ type: "load_session", sessionPath: "/s.jsonl" }, opened, "subscribe s after undefined"],
		[{ type: "subscribe", sessionId: "s", after: 3 }, {}, "subscribe s after 3"],
		[{ type: "subscribe", sessionId: "s" }, {}, "subscribe s after undefined"],
		[{ type: "switch_session", sessionId: "s" }, {}, "subscribe s after undefined"],
	] satisfies [Command, unknown, string][])(
		"of %o subscribes that one, once",
		async (command, data, call) => {
			const { repeat, calls, sent } = setUp();
			repeat(command, data);
			repeat(command, data);
			expect(calls).toEqual([call]);
			await Promise.resolve();
			expect(sent).toEqual([{ type: "event", sessionId: "s", event: dialog }]);
		},
	);

	test("of a subscription to lifecycle events counts for that one", () => {
		const { repeat, client, calls } = setUp();
		repeat({ type: "subscribe", lifecycle: "none" }, {});
		expect(client.lifecycle).toBe("none");
		expect(calls).toEqual([]);
	});

	test("of a subscription to traffic counts for that one", () => {
		const { repeat, calls } = setUp();
		repeat({ type: "subscribe", traffic: true }, {});
		expect(calls).toEqual(["subscribe traffic"]);
	});

	test("of what is gone by now, or has nothing to do with connections, does nothing", () => {
		const { repeat, calls } = setUp();
		repeat({ type: "create_session" }, { sessionId: "gone" });
		repeat({ type: "get_state", sessionId: "s" }, {});
		expect(calls).toEqual([]);
	});
});

describe("the life of a session", () => {
	test("who creates one gets its events from the first", async () => {
		const { run, calls } = setUp();
		expect(await run({ type: "create_session" })).toMatchObject({ data: { sessionId: "s" } });
		expect(calls).toEqual(["create_session", "subscribe s after 7"]);
	});

	test("who loads one that is open already gets its events from now on", async () => {
		const { run, calls } = setUp();
		await run({ type: "load_session", sessionPath: "/s.jsonl" });
		expect(calls).toEqual(["load_session", "subscribe s after undefined"]);
	});

	test("the stream of a deleted one ends, and not before it is deleted", async () => {
		const { run, calls } = setUp();
		await run({ type: "delete_session", sessionId: "s" });
		expect(calls).toEqual(["delete_session", "remove s"]);
	});
});

describe("reports", () => {
	test("recovery tells a principal of its own sessions and commands only", async () => {
		const { run } = setUp();
		expect(await run({ type: "get_startup_recovery" })).toEqual({
			data: {
				startedAtMs: 1_000,
				crashed: true,
				sessions: 1,
				interrupted: [
					{
						commandId: "c1",
						commandType: "prompt",
						sessionId: "s",
						atMs: 5,
						finishedAtMs: 9,
						success: false,
						error: "interrupted",
						code: "interrupted",
					},
				],
			},
		});
	});

	test("history asks for one more than it shows, to know whether there is more", async () => {
		const { run, queries } = setUp();
		expect(
			await run({
				type: "get_command_history",
				sessionIdFilter: "s",
				fromTimestamp: 1,
				toTimestamp: 9,
				limit: 2,
			}),
		).toMatchObject({
			data: {
				enabled: true,
				initState: "failed",
				filters: { sessionIdFilter: "s", fromTimestamp: 1, toTimestamp: 9, limit: 2 },
				returned: 2,
				truncated: true,
			},
		});
		expect(queries).toEqual([{ principal: "ann", sessionId: "s", fromMs: 1, toMs: 9, limit: 3 }]);
	});

	test("history without a question has the last hundred, and says so", async () => {
		const answer = await setUp().run({ type: "get_command_history" });
		expect(answer.data).toMatchObject({ enabled: true, filters: { limit: 100 } });
	});

	test("health says what does not work", async () => {
		expect(await setUp().run({ type: "health_check" })).toMatchObject({
			data: { status: "degraded", problems: ["disk full"], sessions: 1 },
		});
	});

	test("session files are listed for the principal, a page at a time", async () => {
		const { run, calls } = setUp();
		await run({ type: "list_agent_sessions" });
		await run({ type: "list_agent_sessions", filter: "codex", limit: 5, after: "1:a" });
		expect(calls).toEqual([
			'list 50 of ann with "" after undefined',
			'list 5 of ann with "codex" after 1:a',
		]);
	});

	test("a replay needs a checked file, a listed file or a text, and only one of them", async () => {
		const { run, calls } = setUp();
		await run({ type: "replay_session", sessionPath: "/a.jsonl" });
		await run({ type: "replay_session", content: "text" });
		await run({ type: "replay_session", fileId: "f1" });
		expect(calls).toEqual([
			"replay file /real of ann/a.jsonl",
			"replay content text",
			"replay file /found/f1 of ann",
		]);
		for (const both of [
			{},
			{ sessionPath: "/a.jsonl", content: "text" },
			{ sessionPath: "/a.jsonl", fileId: "f1" },
		]) {
			await expect(run({ type: "replay_session", ...both })).rejects.toMatchObject({
				code: "invalid_command",
			});
		}
	});
});

const dialog = {
	type: "extension_ui_request",
	requestId: "r1",
	method: "confirm",
	title: "t",
	message: "m",
} as const;

function setUp({ gone = false } = {}) {
	const calls: string[] = [];
	const sent: Data<"ServerMessage">[] = [];
	const queries: CommandHistoryQuery[] = [];
	const client: Client = {
		id: "1",
		principal: "ann",
		lifecycle: "all",
		gone,
		send: (message) => sent.push(message.value),
	};
	const opened = { sessionId: "s", sessionInfo: {} };
	const sessionHandlers: Partial<Handlers> = {
		async create_session() {
			calls.push("create_session");
			return { data: opened, opened: true };
		},
		async load_session() {
			calls.push("load_session");
			return { data: opened };
		},
		async delete_session() {
			calls.push("delete_session");
			return { data: { deleted: true }, removed: "s" };
		},
		async get_state({ command }) {
			calls.push(`get_state ${command.sessionId}`);
			return { data: { sessionId: command.sessionId } };
		},
	};
	const stored = { principal: "ann", id: "c1", type: "prompt", sessionId: "s", fingerprint: "f" };
	const recovered: Recovered = {
		crashed: true,
		cutOff: [],
		sessions: ["ann", "bob"].map((principal) => ({
			principal,
			id: "s",
			cwd: "/",
			createdAtMs: 0,
			settings: {},
			version: 1,
		})),
		interrupted: ["ann", "bob"].map((principal) => ({
			...stored,
			principal,
			atMs: 5,
			finishedAtMs: 9,
			response: {
				type: "response",
				command: "prompt",
				success: false,
				error: "interrupted",
				code: "interrupted",
			},
		})),
	};
	const subscribed = new Set<string>();
	const sessions = {
		handlers: sessionHandlers as Handlers,
		has: (principal: string, sessionId: string) => principal === "ann" && sessionId === "s",
		count: () => 1,
		openDialogs: () => [dialog],
		readableFile: async (principal: string, path: string) => `/real of ${principal}${path}`,
	};
	const streams: Pick<
		Streams,
		| "seqAtStart"
		| "hasUiRequest"
		| "subscribe"
		| "isSubscribed"
		| "unsubscribe"
		| "unsubscribeAll"
		| "remove"
	> = {
		seqAtStart: () => 7,
		hasUiRequest: () => true,
		async subscribe(_client, { sessionId }, after) {
			calls.push(`subscribe ${sessionId} after ${after}`);
			subscribed.add(sessionId);
			return { seq: 7 };
		},
		isSubscribed: (_client, { sessionId }) => subscribed.has(sessionId),
		unsubscribe() {},
		unsubscribeAll() {},
		remove: ({ sessionId }) => void calls.push(`remove ${sessionId}`),
	};
	const traffic = {
		handlers: {} as never,
		subscribe: async () => void calls.push("subscribe traffic"),
		unsubscribe: () => void calls.push("unsubscribe traffic"),
	};
	const attachments = createAttachments(sessions, streams, traffic);
	const handlers = createServerHandlers({
		sessions,
		streams,
		attachments,
		journal: {
			recovered,
			health: () => ({ ok: false, why: "disk full" }),
			commandHistory(query) {
				queries.push(query);
				const entry: CommandHistoryEntry = { commandId: "c", commandType: "prompt", atMs: 1 };
				return Array.from({ length: query.limit }, () => entry);
			},
		},
		finder: {
			async list({ filter, limit, after }, { principal }) {
				calls.push(`list ${limit} of ${principal} with "${filter}" after ${after}`);
				return { files: [] };
			},
			fileOf: async (fileId, { principal }) => `/found/${fileId} of ${principal}`,
		},
		replay: {
			async ofFile(file) {
				calls.push(`replay file ${file}`);
				return {} as never;
			},
			async ofContent(content) {
				calls.push(`replay content ${content}`);
				return {} as never;
			},
		},
		traffic,
		usage: { handlers: {} as never },
		history: { read: (minutes = 0) => ({ minutes, points: [] }) },
		metrics: () => ({ engine: {}, journal: {}, process: { uptimeSeconds: 0.005 } }) as never,
		now: () => 1_000,
	});
	const run = <Type extends CommandType>(command: CommandOf<Type> & { type: Type }) =>
		handlers[command.type]({
			command: command as never,
			principal: "ann",
			client,
			signal: new AbortController().signal,
		});
	const repeat = (command: Command, data: unknown) =>
		attachments.attachAgain({ command, principal: "ann", client }, () => data);
	return { run, repeat, calls, sent, queries, client };
}
