import { type FauxResponseStep, fauxAssistantMessage, fauxToolCall } from "@earendil-works/pi-ai";
import { describe, expect, test } from "vitest";
import type { Data } from "../../src/protocol/index.ts";
import { askingExtension } from "../server/sessions/asking-extension.ts";
import { startSessions, type TestSessions } from "../server/sessions/start-sessions.ts";

async function asking(options: Parameters<typeof startSessions>[0] = {}): Promise<TestSessions> {
	const server = await startSessions({ extension: askingExtension, ...options });
	await server.run("create_session", { sessionId: "s" });
	return server;
}

const ponder: FauxResponseStep[] = [
	fauxAssistantMessage([fauxToolCall("ponder", {}, { id: "c1" })], { stopReason: "toolUse" }),
	fauxAssistantMessage("done"),
];

const dialog = (server: TestSessions, method: Data<"ExtensionUiRequest">["method"]) =>
	server.event("extension_ui_request", (event) => event.method === method);

/** What the extension was told. */
async function answerOf(server: TestSessions): Promise<unknown> {
	const { entry } = await server.event("entry_appended");
	return (entry as { data?: { answer: unknown } }).data?.answer;
}

describe("a dialog of an extension", () => {
	test.each([
		["select", { value: "right" }, "right"],
		["confirm", { confirmed: true }, true],
		["input", { value: "Ada" }, "Ada"],
		["editor", { value: "two\nlines" }, "two\nlines"],
		["select", { cancelled: true }, null],
		["confirm", { cancelled: true }, false],
	] as const)("%s answered with %j gives %j", async (method, response, answer) => {
		const server = await asking();
		const prompt = server.run("prompt", { message: `/ask ${method}` });
		const { requestId } = await dialog(server, method);
		await server.run("extension_ui_response", { requestId, response });
		await prompt;
		expect(await answerOf(server)).toBe(answer);
		expect(await server.event("extension_ui_closed")).toMatchObject({
			requestId,
			reason: "answered",
		});
	});

	test("takes the first valid answer; a wrong one leaves it open, a late one is told so", async () => {
		const server = await asking();
		const prompt = server.run("prompt", { message: "/ask select" });
		const { requestId } = await dialog(server, "select");
		const answer = (response: object) =>
			server.run("extension_ui_response", { requestId, response } as never);
		await expect(answer({ value: "upwards" })).rejects.toMatchObject({ code: "invalid_command" });
		await expect(answer({ confirmed: true })).rejects.toMatchObject({ code: "invalid_command" });
		await answer({ value: "left" });
		await expect(answer({ value: "right" })).rejects.toMatchObject({ code: "not_found" });
		await prompt;
		expect(await answerOf(server)).toBe("left");
		const unknown = { requestId: "none", response: { cancelled: true as const } };
		const nowhere = server.run("extension_ui_response", unknown);
		await expect(nowhere).rejects.toMatchObject({ code: "not_found" });
	});

	test("is shown to those who come late, with the time that is left, until it is closed", async () => {
		const server = await asking();
		const stream = { principal: "anna", sessionId: "s" };
		const prompt = server.run("prompt", { message: "/ask input" });
		const request = await dialog(server, "input");
		const open = server.sessions.openDialogs(stream);
		expect(open).toContainEqual({ ...request, timeout: expect.any(Number) });
		expect(open).toContainEqual(
			expect.objectContaining({ method: "setStatus", statusText: "ready" }),
		);
		expect(open).toContainEqual(
			expect.objectContaining({ method: "setWidget", widgetLines: ["one", "two"] }),
		);
		expect(server.sessions.openDialogs({ ...stream, principal: "ben" })).toEqual([]);
		const { requestId } = request;
		await server.run("extension_ui_response", { requestId, response: { cancelled: true } });
		await prompt;
		const methods = server.sessions
			.openDialogs(stream)
			.map((event) => (event as Data<"ExtensionUiRequest">).method);
		expect(methods).not.toContain("input");
	});

	test("runs out of time, by its own clock or by the server's", async () => {
		const server = await asking({ dialogTimeoutMs: 30 });
		await server.run("prompt", { message: "/ask short" });
		expect(await server.event("extension_ui_closed")).toMatchObject({ reason: "timeout" });
		expect(await answerOf(server)).toBeNull();
		server.forgetEvents();
		await server.run("prompt", { message: "/ask confirm" });
		expect(await answerOf(server)).toBe(false);
	});

	test("asked by a tool is answered while the run goes on", async () => {
		const server = await asking();
		server.script(...ponder);
		const ended = server.run("prompt", { message: "think", waitFor: "settled" });
		const { requestId } = await dialog(server, "confirm");
		await server.run("extension_ui_response", { requestId, response: { confirmed: true } });
		await ended;
		const { result } = await server.event("tool_execution_end");
		expect(JSON.stringify(result)).toContain("the user said true");
	});

	test("is closed by abort, and abort does not wait for it", async () => {
		const server = await asking();
		server.script(...ponder);
		const ended = server.run("prompt", { message: "think", waitFor: "settled" });
		const { requestId } = await dialog(server, "confirm");
		await server.run("abort", {});
		expect(await server.event("extension_ui_closed")).toMatchObject({
			requestId,
			reason: "aborted",
		});
		await ended;
		server.forgetEvents();
		const command = server.run("prompt", { message: "/ask editor" });
		await dialog(server, "editor");
		await server.run("abort", {});
		await command;
		expect(await answerOf(server)).toBeNull();
	});

	test("does not keep a session from being deleted", async () => {
		const server = await asking();
		const command = server.run("prompt", { message: "/ask editor" });
		await dialog(server, "editor");
		await server.run("delete_session", { sessionId: "s" });
		await command;
		expect(server.sessions.count()).toBe(0);
		expect(server.sessions.openDialogs({ principal: "anna", sessionId: "s" })).toEqual([]);
	});
});

describe("an extension", () => {
	test("tells clients by notices, title, editor text and working message", async () => {
		const server = await asking();
		await server.run("prompt", { message: "/tell" });
		const told = server.events().filter((event) => event.type === "extension_ui_request");
		expect(told).toContainEqual(
			expect.objectContaining({ method: "notify", message: "look", notifyType: "warning" }),
		);
		expect(told).toContainEqual(expect.objectContaining({ method: "setTitle", title: "title" }));
		expect(told).toContainEqual(
			expect.objectContaining({ method: "set_editor_text", text: "typed" }),
		);
		expect(told).toContainEqual(
			expect.objectContaining({ method: "setWorkingMessage", message: "working" }),
		);
		const shown = server.sessions.openDialogs({ principal: "anna", sessionId: "s" });
		expect(shown).toContainEqual(expect.objectContaining({ method: "setTitle" }));
		expect(shown).not.toContainEqual(expect.objectContaining({ statusKey: "asks" }));
	});

	test("that fails shows as an event without the server's folders", async () => {
		const server = await asking();
		await server.run("prompt", { message: "/fail" });
		const failure = await server.event("extension_error");
		expect(failure.error).toBe("broken at place.ts");
		expect(JSON.stringify(failure)).not.toContain(server.agentDir);
	});

	test("may put a new session behind the id, and clients are told", async () => {
		const server = await asking();
		server.script(fauxAssistantMessage("hello"));
		await server.run("prompt", { message: "hello", waitFor: "settled" });
		await server.run("prompt", { message: "/renew" });
		expect(await server.event("session_replaced")).toMatchObject({ reason: "new" });
		expect(await server.run("get_last_assistant_text", {})).toEqual({ text: null });
		server.forgetEvents();
		server.script(fauxAssistantMessage("again"));
		await server.run("prompt", { message: "hello", waitFor: "settled" });
		expect(server.events().filter(({ type }) => type === "agent_settled")).toHaveLength(1);
	});
});
