import { describe, expect, test, vi } from "vitest";
import { Outbox, returnsToDraft } from "../../src/dashboard/session/outbox.ts";
import { createClient } from "../../src/protocol/client.ts";
import { createFakeServer, type FakeServer } from "../protocol/fake-server.ts";
import { PATIENCE } from "../support/patience.ts";
import { atEnd } from "../support/temp.ts";

/** The storage of a tab, which survives a reload. */
function memory() {
	let stored = "";
	return {
		read: () => stored,
		write(text: string) {
			stored = text;
		},
		get texts(): readonly { text: string }[] {
			return JSON.parse(stored || "[]");
		},
	};
}

/** A page with the outbox of session `s`. */
async function openPage(server: FakeServer, store = memory()) {
	const client = createClient({ transport: server.transport, firstRetryMs: 1, lastRetryMs: 1 });
	atEnd(() => client.close());
	const done: unknown[] = [];
	const failed: unknown[] = [];
	const outbox = new Outbox({
		client,
		sessionId: "s",
		store,
		onDone: ({ type }, data) => done.push([type, data]),
		onFailed: (text, { type }, { code }) => failed.push([text, type, code]),
	});
	const isOpen = () => vi.waitFor(() => expect(client.state.name).toBe("open"));
	if (!server.isDown) await isOpen();
	const waiting = () => outbox.waiting.value.map(({ text, isSent }) => ({ text, isSent }));
	return { client, outbox, done, failed, store, waiting, isOpen };
}

describe("what is sent", () => {
	test("with a connection does not wait, and is forgotten when it is answered", async () => {
		const server = createFakeServer();
		const { outbox, store, done, waiting } = await openPage(server);
		expect(outbox.send("hello")).toBeUndefined();
		expect(waiting()).toEqual([]);
		expect(store.texts).toMatchObject([{ text: "hello" }]);
		expect(server.latest.sent).toMatchObject([
			{ type: "prompt", sessionId: "s", message: "hello" },
		]);
		server.latest.answer("prompt");
		await vi.waitFor(() => expect(done).toEqual([["prompt", {}]]));
		expect(outbox.pending.value).toEqual([]);
		expect(store.texts).toEqual([]);
	});

	test("while the server is away waits, and is sent once when it is back", async () => {
		const server = createFakeServer();
		server.isDown = true;
		const { outbox, done, waiting, isOpen } = await openPage(server);
		outbox.send("one", "steer");
		outbox.send("!ls");
		expect(waiting()).toEqual([
			{ text: "one", isSent: false },
			{ text: "!ls", isSent: false },
		]);
		expect(outbox.shell.value).toEqual([]);
		server.isDown = false;
		await isOpen();
		// The shell command is a row of the conversation now.
		expect(waiting()).toEqual([{ text: "one", isSent: true }]);
		expect(outbox.shell.value).toMatchObject([{ command: "ls" }]);
		expect(server.latest.sent).toMatchObject([
			{ type: "prompt", message: "one", streamingBehavior: "steer" },
			{ type: "bash", command: "ls" },
		]);
		server.latest.answer("prompt");
		const result = { output: "a", exitCode: 0, cancelled: false, truncated: false };
		server.latest.answer("bash", { data: result });
		await vi.waitFor(() => expect(done).toHaveLength(2));
		expect(waiting()).toEqual([]);
		expect(outbox.shell.value).toMatchObject([{ command: "ls", result }]);
	});

	test("and lost its answer with the connection is sent again under the same id", async () => {
		const server = createFakeServer();
		const { outbox, waiting } = await openPage(server);
		outbox.send("hello");
		const [first] = server.latest.sent;
		server.latest.end();
		await vi.waitFor(() => expect(waiting()).toEqual([{ text: "hello", isSent: true }]));
		await vi.waitFor(() => expect(server.connections).toHaveLength(2));
		await vi.waitFor(() => expect(server.latest.sent).toEqual([first]));
		server.latest.answer("prompt", { replayed: true });
		await vi.waitFor(() => expect(waiting()).toEqual([]));
	});

	test("and not answered when the page is loaded again is sent by the next page, under the same id", async () => {
		const server = createFakeServer();
		const first = await openPage(server);
		first.outbox.send("hello", "followUp");
		first.outbox.send("/compact");
		const sent = server.latest.sent;
		expect(sent).toHaveLength(2);
		server.isDown = true;
		const second = await openPage(server, first.store);
		expect(second.waiting()).toMatchObject([{ text: "hello" }, { text: "/compact" }]);
		server.isDown = false;
		await second.isOpen();
		await vi.waitFor(() => expect(server.latest.sent).toEqual(sent));
		server.latest.answer("prompt", { replayed: true });
		server.latest.answer("compact", { replayed: true });
		await vi.waitFor(() => expect(second.outbox.pending.value).toEqual([]));
		expect(first.store.texts).toEqual([]);
	});

	test("again by the next page is not given back by a busy server, which may have it", {
		tags: "slow",
	}, async () => {
		const server = createFakeServer();
		const first = await openPage(server);
		first.outbox.send("hello");
		const second = await openPage(server, first.store);
		await vi.waitFor(() => expect(server.latest.sent).toHaveLength(1));
		server.latest.answer("prompt", { success: false, code: "busy", error: "too much" });
		await vi.waitFor(() => expect(server.latest.sent).toHaveLength(2), PATIENCE);
		expect(second.failed).toEqual([]);
		server.latest.answer("prompt", { replayed: true });
		await vi.waitFor(() => expect(second.outbox.pending.value).toEqual([]));
	});

	test("and refused is given back", async () => {
		const server = createFakeServer();
		const { outbox, failed, store } = await openPage(server);
		outbox.send("/zzz");
		server.latest.answer("prompt", { success: false, code: "unknown_command", error: "none" });
		await vi.waitFor(() => expect(failed).toEqual([["/zzz", "prompt", "unknown_command"]]));
		expect(store.texts).toEqual([]);
		expect(outbox.send("/tree")).toContain("Use the Tree button");
		expect(outbox.pending.value).toEqual([]);
	});

	test("to a server that lets the page in no more stays kept for the next page", async () => {
		const server = createFakeServer();
		const { outbox, failed, store, client } = await openPage(server);
		outbox.send("hello");
		server.latest.end({ code: 1008, reason: "the token is not valid" });
		await vi.waitFor(() => expect(client.state.name).toBe("closed"));
		expect(outbox.waiting.value).toHaveLength(1);
		expect(store.texts).toMatchObject([{ text: "hello" }]);
		expect(failed).toEqual([]);
	});
});

test.each([
	["prompt", "busy", true],
	["prompt", "interrupted", true],
	["bash", "journal_unavailable", true],
	["bash", "interrupted", false],
	["bash", "timeout", false],
	["prompt", "not_durable", false],
] as const)("a %s that failed with %s goes back to where it was typed: %s", (type, code, back) => {
	expect(returnsToDraft(type, code)).toBe(back);
});
