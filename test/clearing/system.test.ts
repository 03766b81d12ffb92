import { expect, test } from "vitest";
import { ClearingSystem } from "../../src/clearing/system.ts";
import { fakeSession } from "../support/fake-host.ts";

const FACTS = { fileTouchOf: () => undefined, touchesExcluded: () => false };
const MODEL = { provider: "anthropic", id: "claude-opus-5-5", api: "anthropic-messages" };
const ANSWER = {
	role: "assistant",
	stopReason: "stop",
	provider: "anthropic",
	model: "claude-opus-5-5",
	timestamp: 1,
	usage: { input: 10, output: 1, cacheRead: 0, cacheWrite: 90, totalTokens: 101 },
};

async function open(model: object = MODEL) {
	const fake = fakeSession({ model });
	const system = new ClearingSystem(fake.session, FACTS);
	await fake.run([system]);
	/** What replaced the payload. */
	const send = async (payload: object) => {
		await fake.emit("context_with_system", { messages: [{ role: "toolResult" }] });
		const sent = await fake.emit("before_provider_request", { payload });
		await fake.emit("message_end", { message: ANSWER });
		return sent.filter((one) => one !== undefined);
	};
	return { ...fake, system, send };
}

/** Calls with results, with a breakpoint on the system prompt and at the end. */
function payloadOf(calls: number, ttls = ["5m", "5m"]) {
	const [first, last] = ttls.map((ttl) => ({ type: "ephemeral", ttl }));
	const messages = Array.from({ length: calls }, (_, at) => [
		{ role: "assistant", content: [{ type: "tool_use", id: `t${at}`, name: "read", input: {} }] },
		{
			role: "user",
			content: [
				{
					...{ type: "tool_result", tool_use_id: `t${at}`, content: "text ".repeat(4000) },
					...(at === calls - 1 && { cache_control: last }),
				},
			],
		},
	]);
	const system = [{ type: "text", text: "You are an agent.", cache_control: first }];
	return { model: "claude-opus-5-5", system, messages: messages.flat() };
}

test("a request that cannot be simulated is sent, and counts nothing", async () => {
	const { send, system, view } = await open();
	// A long lifetime behind a short one: no provider accepts it.
	expect(await send(payloadOf(12, ["5m", "1h"]))).toEqual([]);
	expect(system.savings(view())).toEqual([]);
});

test("results that the session does not know are not cleared", async () => {
	const { send, system, view } = await open();
	expect(await send(payloadOf(12))).toEqual([]);
	expect(system.savings(view())).toEqual([]);
});

test("other providers' requests are not looked at", async () => {
	const { send } = await open({ provider: "openai", id: "gpt-5.6", api: "openai-responses" });
	expect(await send({ input: [] })).toEqual([]);
});
