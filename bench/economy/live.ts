/** The overhead that watching a session adds to each request: a conversation of 1,000 messages, with cache hits and misses. */

import { CostAccount } from "../../src/economy/index.ts";
import type { ModelInfo } from "../../src/economy/rules.ts";
import { readPayload } from "../../src/wire/index.ts";
import { type Line, median, sized } from "../support.ts";

const MESSAGES = sized(1000, 20);
const ROUNDS = sized(200, 4);
const model: ModelInfo = {
	provider: "anthropic",
	id: "claude-opus-4-5",
	cost: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
};

export function liveLines(): Line[] {
	const baseline = { name: "writing the request as JSON", value: writingMs() };
	return [
		{
			case: `live account: a request of ${MESSAGES} messages, read from the cache`,
			unit: "ms",
			value: perRequest(0),
			digits: 3,
			target: 1,
			baseline,
		},
		{
			case: `live account: the same, missed and diagnosed`,
			unit: "ms",
			value: perRequest(400_000),
			digits: 3,
			baseline,
		},
	];
}

function perRequest(missed: number): number {
	const account = new CostAccount();
	const times: number[] = [];
	for (let round = 0; round < ROUNDS; round++) {
		// Pi builds every request from scratch, so no object is shared with the request before.
		const payload = payloadOf(round);
		const read = 500_000 + 800 * round - (round % 2) * missed;
		const tokens = { input: 3, read, write: 800, writeOneHour: 0 };
		const start = performance.now();
		const { pieces = [] } = readPayload(payload) ?? {};
		account.add({ atMs: round, gapMs: 1, model: model.id, tokens, pieces }, model);
		times.push(performance.now() - start);
	}
	// Every second request misses, so the average is what a session feels.
	return missed > 0 ? 2 * (times.reduce((sum, ms) => sum + ms, 0) / ROUNDS) : median(times);
}

function writingMs(): number {
	const times: number[] = [];
	for (let round = 0; round < ROUNDS; round++) {
		const payload = payloadOf(round);
		const start = performance.now();
		JSON.stringify(payload);
		times.push(performance.now() - start);
	}
	return median(times);
}

function payloadOf(round: number): object {
	const messages = Array.from({ length: MESSAGES + round }, (_, at) => ({
		role: at % 2 === 0 ? "user" : "assistant",
		content: [{ type: "text", text: `message ${at} `.repeat(150) }],
	}));
	return { tools: [{ name: "read" }], system: "rules", messages };
}
