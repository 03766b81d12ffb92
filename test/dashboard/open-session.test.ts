import { type Signal, signal } from "@preact/signals";
import { describe, expect, test, vi } from "vitest";
import { OpenSession } from "../../src/dashboard/session/open-session.ts";
import type { ShellCommand } from "../../src/dashboard/session/outbox.ts";
import { createClient } from "../../src/protocol/client.ts";
import type { Data } from "../../src/protocol/index.ts";
import { createFakeServer, type FakeServer } from "../protocol/fake-server.ts";
import { PATIENCE } from "../support/patience.ts";
import { atEnd } from "../support/temp.ts";
import { assistant, entriesOf, user, words } from "./events.ts";

const STATE = {
	sessionId: "s",
	cwd: "/p",
	thinkingLevel: "off",
	isStreaming: false,
	isCompacting: false,
	isBashRunning: false,
};

/** A page on session `s` with a fake server. */
async function opened(
	state: object = {},
	seq = 7,
	{
		entries = [user(1, "one")],
		shell,
	}: Partial<Load> & { shell?: Signal<readonly ShellCommand[]> } = {},
) {
	const server = createFakeServer();
	const client = createClient({ transport: server.transport, firstRetryMs: 1, lastRetryMs: 1 });
	const uiRequests: Data<"SessionEvent">[] = [];
	const session = new OpenSession("s", {
		client,
		onUiRequest: (event) => uiRequests.push(event),
		...(shell && { shell }),
		onNextFrame(work) {
			const timer = setTimeout(work);
			return () => clearTimeout(timer);
		},
	});
	atEnd(() => {
		session.close();
		client.close();
	});
	await answerLoad(server, { entries, state, seq });
	await vi.waitFor(() => expect(session.status.value.name).toBe("ready"), PATIENCE);
	return { server, session, uiRequests };
}

interface Load {
	entries: Parameters<typeof entriesOf>;
	state?: object;
	seq?: number;
}

/** Answers the commands of one load. */
async function answerLoad(
	server: FakeServer,
	{ entries, state = {}, seq = 7 }: Load,
): Promise<void> {
	await vi.waitFor(() => expect(asked(server, "get_state")).toBeDefined(), PATIENCE);
	if (asked(server, "subscribe")) answer(server, "subscribe", { seq });
	answer(server, "get_entries", entriesOf(...entries));
	answer(server, "get_state", { ...STATE, ...state });
}

const asked = (server: FakeServer, type: string) =>
	server.connections.at(-1)?.sent.find((sent) => sent.type === type);

/** Answers the latest command of a type, and removes it. */
function answer(server: FakeServer, type: string, data: object): void {
	const { latest } = server;
	latest.answer(type, { data });
	latest.sent = latest.sent.filter((sent) => sent.type !== type);
}

function say(server: FakeServer, seq: number, event: Data<"SessionEvent">): void {
	server.latest.say({ type: "event", sessionId: "s", seq, event });
}

const texts = (session: OpenSession) =>
	session.conversation.value.items.map((item) => (item.kind === "user" ? item.text : item.kind));

describe("a session that is open on the page", () => {
	test("a notice that only repeats the report above it is no moment; others are", async () => {
		const { server, uiRequests } = await opened();
		const notify = (message: string): Data<"SessionEvent"> =>
			({ type: "extension_ui_request", requestId: message, method: "notify", message }) as const;
		const data = { text: "pi-strata\nread cache: on" };
		const report = { type: "custom", customType: "strata-report", data };
		const [entry] = entriesOf(report).entries;
		if (!entry) throw new Error("no entry");
		say(server, 8, notify("pi-strata"));
		say(server, 9, { type: "entry_appended", entry });
		say(server, 10, notify("pi-strata"));
		say(server, 11, notify("pi-strata"));
		say(server, 12, { type: "entry_appended", entry });
		say(server, 13, notify("look"));
		await vi.waitFor(() => expect(uiRequests).toHaveLength(3), PATIENCE);
		expect(uiRequests.map((event) => "message" in event && event.message)).toEqual([
			"pi-strata",
			"pi-strata",
			"look",
		]);
	});

	test("shows what the file has, then what happens", async () => {
		const { server, session } = await opened();
		expect(texts(session)).toEqual(["one"]);
		say(server, 8, { type: "message_end", message: user(2, "two") });
		await vi.waitFor(() => expect(texts(session)).toEqual(["one", "two"]), PATIENCE);
	});

	test.each([
		[
			"events were lost",
			(server: FakeServer) =>
				server.latest.say({ type: "gap", sessionId: "s", fromSeq: 8, toSeq: 9 }),
		],
		[
			"another session stands behind the id",
			(server: FakeServer) => say(server, 8, { type: "session_replaced", reason: "fork" }),
		],
	])("loads everything anew when %s", async (_, happens) => {
		const { server, session } = await opened();
		happens(server);
		await answerLoad(server, { entries: [user(5, "anew")] });
		await vi.waitFor(() => expect(texts(session)).toEqual(["anew"]), PATIENCE);
	});

	test("keeps what happens while it loads", async () => {
		const { server, session } = await opened();
		session.reload();
		await vi.waitFor(() => expect(asked(server, "get_state")).toBeDefined(), PATIENCE);
		say(server, 8, { type: "message_end", message: user(2, "meanwhile") });
		await answerLoad(server, { entries: [user(1, "one")] });
		await vi.waitFor(() => expect(texts(session)).toEqual(["one", "meanwhile"]), PATIENCE);
	});

	test("a name given while it loads is not undone by the load's older answer", async () => {
		const { server, session } = await opened({ sessionName: "before" });
		server.latest.say({ type: "gap", sessionId: "s", fromSeq: 8, toSeq: 9 });
		await vi.waitFor(() => expect(asked(server, "get_entries")).toBeDefined(), PATIENCE);
		answer(server, "get_state", { ...STATE, sessionName: "before" });
		say(server, 10, { type: "session_info_changed", name: "after" });
		await vi.waitFor(() => expect(asked(server, "get_state")).toBeDefined(), PATIENCE);
		answer(server, "get_state", { ...STATE, sessionName: "after" });
		await vi.waitFor(() => expect(session.state.value?.sessionName).toBe("after"), PATIENCE);
		answer(server, "get_entries", entriesOf(user(1, "one"), user(2, "two")));
		await vi.waitFor(() => expect(texts(session)).toEqual(["one", "two"]), PATIENCE);
		expect(session.state.value?.sessionName).toBe("after");
	});

	test("goes on after a lost connection, and a run that died with the server no longer runs", {
		tags: "slow",
	}, async () => {
		const { server, session } = await opened();
		say(server, 8, { type: "agent_start" });
		await vi.waitFor(() => expect(session.conversation.value.isRunning).toBe(true), PATIENCE);
		server.latest.end();
		await vi.waitFor(() => expect(server.connections).toHaveLength(2), PATIENCE);
		await answerLoad(server, { entries: [user(1, "one"), user(2, "two")], seq: 8 });
		await vi.waitFor(() => expect(texts(session)).toEqual(["one", "two"]), PATIENCE);
		expect(session.conversation.value.isRunning).toBe(false);
	});

	test("looks back for the beginning of an answer that is being written, without repeating notices", async () => {
		const { server, session, uiRequests } = await opened({ isStreaming: true }, 3);
		await vi.waitFor(
			() => expect(asked(server, "subscribe")).toMatchObject({ after: 0 }),
			PATIENCE,
		);
		const notice = {
			type: "extension_ui_request",
			requestId: "n",
			method: "notify",
			message: "old",
		} as const;
		say(server, 1, notice);
		say(server, 2, { type: "message_start", message: assistant(3) });
		say(server, 3, {
			type: "message_update",
			assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: "be" },
		});
		answer(server, "subscribe", { seq: 3 });
		say(server, 4, {
			type: "message_update",
			assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: "gin" },
		});
		await vi.waitFor(() => {
			const last = session.conversation.value.items.at(-1);
			expect(last).toMatchObject({ isStreaming: true, blocks: [{ kind: "text", text: "begin" }] });
		});
		expect(uiRequests).toEqual([]);
		say(server, 5, { ...notice, message: "new" });
		await vi.waitFor(() => expect(uiRequests).toHaveLength(1), PATIENCE);
		say(server, 6, { type: "message_end", message: assistant(3, words("begin.")) });
	});

	test("shows its own shell commands while they run, also when it loads meanwhile", async () => {
		const shell = signal<readonly ShellCommand[]>([{ id: "b1", command: "make" }]);
		const bash = {
			...{ role: "bashExecution", timestamp: 1, command: "make", output: "", exitCode: 0 },
			...{ cancelled: false, truncated: false },
		};
		const { server, session } = await opened({}, 7, { shell, entries: [bash] });
		const commands = () =>
			session.conversation.value.items.map((item) => item.kind === "bash" && item.state);
		// The one in the file is an earlier one.
		expect(commands()).toEqual(["done", "running"]);
		say(server, 8, { type: "bash_execution_update", id: "b1", delta: "half" });
		session.reload();
		await answerLoad(server, { entries: [bash] });
		await vi.waitFor(() => expect(commands()).toEqual(["done", "running"]));
		shell.value = [];
		await answerLoad(server, { entries: [bash, { ...bash, timestamp: 2, cancelled: true }] });
		await vi.waitFor(() => expect(commands()).toEqual(["done", "cancelled"]));
	});

	test("keeps the result of a shell command that pi has not written yet, until another session is there", async () => {
		const shell = signal<readonly ShellCommand[]>([]);
		const { server, session } = await opened({}, 7, { shell });
		const states = () =>
			session.conversation.value.items.flatMap((item) => (item.kind === "bash" ? item.state : []));
		shell.value = [{ id: "b1", command: "make" }];
		expect(states()).toEqual(["running"]);
		const result = { output: "half", cancelled: true, truncated: false };
		shell.value = [{ id: "b1", command: "make", result }];
		expect(states()).toEqual(["cancelled"]);
		await answerLoad(server, { entries: [user(1, "one")] });
		await vi.waitFor(() => expect(session.status.value.name).toBe("ready"));
		expect(states()).toEqual(["cancelled"]);
		const written = { role: "bashExecution", timestamp: 2, command: "make", ...result };
		session.reload();
		await answerLoad(server, { entries: [user(1, "one"), written] });
		await vi.waitFor(() => {
			const last = session.conversation.value.items.at(-1);
			expect(last).toMatchObject({
				key: "bash:b1",
				state: "cancelled",
				entryId: expect.any(String),
			});
		});
		expect(states()).toEqual(["cancelled"]);

		shell.value = [{ id: "b2", command: "make" }];
		shell.value = [{ id: "b2", command: "make", result }];
		await answerLoad(server, { entries: [user(1, "one"), written] });
		expect(states()).toEqual(["cancelled", "cancelled"]);
		say(server, 8, { type: "session_replaced", reason: "new" });
		await answerLoad(server, { entries: [] });
		await vi.waitFor(() => expect(session.conversation.value.items).toEqual([]));
	});

	test("asks whether a shell command of another client runs when it prints, and when it failed", async () => {
		const { server, session } = await opened();
		for (const seq of [8, 9, 10]) {
			say(server, seq, { type: "bash_execution_update", id: "b", delta: "x" });
		}
		await vi.waitFor(() => expect(asked(server, "get_state")).toBeDefined(), { timeout: 10_000 });
		expect(server.latest.sent.filter(({ type }) => type === "get_state")).toHaveLength(1);
		answer(server, "get_state", { ...STATE, isBashRunning: true });
		await vi.waitFor(() => expect(session.state.value?.isBashRunning).toBe(true));
		const data = {
			commandId: "b",
			commandType: "bash",
			sessionId: "s",
			dependsOn: [],
			success: false,
		};
		server.latest.say({ type: "command_finished", data });
		await answerLoad(server, { entries: [] });
		await vi.waitFor(() => expect(session.state.value?.isBashRunning).toBe(false), PATIENCE);
	});

	test("shows settings that another client changed", async () => {
		const { server, session } = await opened();
		const data = {
			commandId: "c",
			commandType: "set_model",
			sessionId: "s",
			dependsOn: [],
			success: true,
		};
		server.latest.say({ type: "command_finished", data });
		await vi.waitFor(() => expect(asked(server, "get_state")).toBeDefined(), PATIENCE);
		answer(server, "get_state", { ...STATE, thinkingLevel: "high" });
		await vi.waitFor(() => expect(session.state.value?.thinkingLevel).toBe("high"), PATIENCE);
	});

	test("asks for commands when one is wanted, and anew once extensions were loaded again", async () => {
		const { server, session } = await opened();
		const { commandList } = session;
		const names = () => commandList.commands.value?.map(({ name }) => name);
		expect(asked(server, "get_commands")).toBeUndefined();
		commandList.ensure();
		await vi.waitFor(
			() => expect(asked(server, "get_commands")).toMatchObject({ sessionId: "s" }),
			PATIENCE,
		);
		answer(server, "get_commands", { commands: [{ name: "old", source: "extension" }] });
		await vi.waitFor(() => expect(names()).toEqual(["old"]), PATIENCE);
		commandList.ensure();
		expect(asked(server, "get_commands")).toBeUndefined();

		say(server, 8, { type: "session_replaced", reason: "reload" });
		await answerLoad(server, { entries: [user(1, "one")] });
		commandList.ensure();
		await vi.waitFor(() => expect(asked(server, "get_commands")).toBeDefined(), PATIENCE);
		answer(server, "get_commands", { commands: [{ name: "new", source: "extension" }] });
		await vi.waitFor(() => expect(names()).toEqual(["new"]), PATIENCE);
	});

	test("says when the session is gone", async () => {
		const { server, session } = await opened();
		server.latest.say({ type: "session_deleted", data: { sessionId: "s" } });
		await vi.waitFor(() => expect(session.status.value).toEqual({ name: "gone" }), PATIENCE);
	});
});
