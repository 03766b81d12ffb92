/** What watching a session adds to each request: a conversation of 1,000 messages, answered from the cache or not. */
import { createAccount, type ModelInfo } from "../../src/economy/index.ts";
import { type Line, median, rounded } from "../support.ts";

const MESSAGES = 1000;
const ROUNDS = 200;
const model: ModelInfo = {
	provider: "anthropic",
	id: "claude-opus-4-5",
	cost: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
};

export function liveLines(): Line[] {
	return [
		{
			case: `live account: a request of ${MESSAGES} messages, read from the cache`,
			unit: "ms",
			value: rounded(perRequest(0), 3),
			target: 1,
		},
		{
			case: `live account: the same, missed and diagnosed`,
			unit: "ms",
			value: rounded(perRequest(400_000), 3),
		},
	];
}

function perRequest(missed: number): number {
	const account = createAccount();
	const times: number[] = [];
	for (let round = 0; round < ROUNDS; round++) {
		// Pi makes every request anew, so no object is the one of the request before.
		const payload = payloadOf(round);
		const read = 500_000 + 800 * round - (round % 2) * missed;
		const tokens = { input: 3, read, write: 800, writeOneHour: 0 };
		const start = performance.now();
		account.add({ atMs: round, gapMs: 1, model: model.id, tokens, payload }, model);
		times.push(performance.now() - start);
	}
	// Every second request misses: what all of them take on average is what a session feels.
	return missed > 0 ? 2 * (times.reduce((sum, ms) => sum + ms, 0) / ROUNDS) : median(times);
}

function payloadOf(round: number): object {
	const messages = Array.from({ length: MESSAGES + round }, (_, at) => ({
		role: at % 2 === 0 ? "user" : "assistant",
		content: [{ type: "text", text: `message ${at} `.repeat(150) }],
	}));
	return { tools: [{ name: "read" }], system: "rules", messages };
}
