import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { withClearing } from "../../src/clearing/index.ts";
import { clearingText } from "../../src/cli/traffic.ts";
import { costOf, rulesFor } from "../../src/economy/rules.ts";
import { Book } from "../../src/traffic/book.ts";
import { clearingShadow } from "../../src/traffic/index.ts";
import { Recorder } from "../../src/traffic/recorder.ts";
import {
	createLoopbackCache,
	type LoopbackBody,
	loopbackTokens,
} from "../support/loopback-cache.ts";
import { CLEARED_TEXT, clearToolUses } from "../support/loopback-clearing.ts";
import { atEnd, tempDir } from "../support/temp.ts";
import { bodyOf, type Prompt, StandIn, says, step } from "./stand-in.ts";

/** A conversation with a result in each request, and a pause before the tenth. */
async function recorded(results: number, prompt: Partial<Prompt> = {}) {
	const folder = join(tempDir(), "traffic");
	const provider = new StandIn();
	const recorder = await Recorder.open({ folder, keepTexts: false, keepDays: 30 }, () =>
		Math.round(provider.nowMs),
	);
	const sent: { atMs: number; body: LoopbackBody }[] = [];
	for (let count = 0; count <= results; count++) {
		const steps = Array.from({ length: count }, (_, at) => step(`r${at}`, 2000));
		const asked: Prompt = { ttl: "5m", ...prompt, messages: [says("go"), ...steps.flat()] };
		await recorder.add(provider.exchange(asked, { pauseMs: count === 10 ? 600_000 : 1000 }));
		sent.push({ atMs: provider.nowMs, body: bodyOf(asked) as unknown as LoopbackBody });
	}
	recorder.close();
	const book = (await Book.openForReading(folder)) as Book;
	atEnd(() => book.close());
	const id = book.conversations()[0]?.id as number;
	return { book, id, sent };
}

describe("clearing in shadow, from the book", () => {
	test("is the difference of two bills for the same conversation, within a hundredth", async () => {
		const { book, id, sent } = await recorded(14);
		const shadow = clearingShadow(book, id);
		// All but the newest five at the pause; the rest waits for a batch that pays.
		expect(shadow?.results).toBe(5);
		const rules = rulesFor({ provider: "anthropic", id: "claude-opus-5" });
		let nowMs = 0;
		const tokensOf = (json: string) => (json.includes(CLEARED_TEXT) ? 15 : loopbackTokens(json));
		const cache = () =>
			createLoopbackCache({ minTokens: rules.minimumTokens, tokensOf, now: () => nowMs });
		const [own, agent] = [cache(), cache()];
		const costs = { own: 0, agent: 0 };
		const cost = (usage: ReturnType<typeof own.bill>) =>
			costOf(
				{
					...{ input: usage.input, read: usage.cacheRead, write: usage.cacheWrite },
					writeOneHour: usage.cacheWrite1h,
				},
				rules,
			);
		for (const [at, { atMs, body }] of sent.entries()) {
			nowMs = atMs;
			const edited = withClearing(body, at < 10 ? 0 : 5, at <= 10 ? 0 : 5) ?? body;
			costs.own += cost(own.bill(clearToolUses(edited as LoopbackBody).seen));
			costs.agent += cost(agent.bill(body));
		}
		const share = (shadow?.costOfAgent ?? 0) / costs.agent;
		expect(share).toBeGreaterThan(0.99);
		expect(share).toBeLessThan(1.01);
		expect((shadow?.cost ?? 0) / (shadow?.costOfAgent ?? 1)).toBeCloseTo(
			costs.own / costs.agent,
			2,
		);
		expect(clearingText(shadow).join()).toMatch(/5 results would be cleared .* \d+\.\d % of/);
	});

	test("says nothing about a short conversation", async () => {
		const { book, id } = await recorded(4);
		expect(clearingText(clearingShadow(book, id))).toEqual([]);
	});

	test("is not computed for models of others", async () => {
		const { book, id } = await recorded(12, { model: "glm-5.2" });
		expect(clearingShadow(book, id)).toBeUndefined();
	});
});
