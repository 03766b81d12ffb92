import { type AssistantMessage, fauxAssistantMessage, fauxToolCall } from "@earendil-works/pi-ai";
import { startSessions, type TestSessions } from "./start-sessions.ts";

/** An answer of the scripted model. */
export function say(text: string): AssistantMessage {
	return fauxAssistantMessage(text);
}

/** An answer that calls a tool. */
export function call(name: string, args: Record<string, string>, id = "call-1"): AssistantMessage {
	return fauxAssistantMessage([fauxToolCall(name, args, { id })], { stopReason: "toolUse" });
}

/** A server with the session `s`, which has had so many exchanges. */
export async function withSession(
	exchanges = 0,
	options: Parameters<typeof startSessions>[0] = {},
): Promise<TestSessions> {
	const server = await startSessions(options);
	await server.run("create_session", { sessionId: "s" });
	for (let number = 1; number <= exchanges; number++) {
		server.script(say(`answer ${number}`));
		await server.run("prompt", { message: `question ${number}`, waitFor: "settled" });
	}
	return server;
}
