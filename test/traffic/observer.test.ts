import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Book } from "../../src/traffic/book.ts";
import { TrafficObserver } from "../../src/traffic/observer.ts";
import { framesOf } from "../support/frames.ts";
import { atEnd, tempDir } from "../support/temp.ts";
import { StandIn, says, step } from "./stand-in.ts";

function observing(options: { folder?: string; maxQueuedBytes?: number } = {}) {
	const { folder = join(tempDir(), "traffic"), ...limits } = options;
	const observer = new TrafficObserver({ folder, keepDays: 30, keepTexts: false, ...limits });
	atEnd(() => observer.close());
	const provider = new StandIn();
	// The worker goes by the real clock.
	provider.nowMs = Date.now() - 60_000;
	return { folder, observer, provider };
}

const first = [says("question")];

describe("the observer", () => {
	test("books exchanges in a worker, in their order, and moves their bodies there", {
		tags: "slow",
	}, async () => {
		const { folder, observer, provider } = observing();
		let messages = first;
		const exchanges = Array.from({ length: 10 }, (_, at) => {
			const exchange = provider.exchange({ messages });
			messages = [...messages, ...step(`${at}`)];
			return exchange;
		});
		for (const exchange of exchanges) observer.add(exchange);
		observer.add({ ...provider.exchange({ messages }), path: "/v1/models" });
		await observer.drain();
		expect(exchanges.map(({ requestBody }) => requestBody?.byteLength)).toEqual(Array(10).fill(0));
		expect(observer.counts).toMatchObject({ booked: 10, other: 1, dropped: 0, failed: 0 });
		await observer.close();
		const book = await Book.openForReading(folder);
		atEnd(() => book?.close());
		const [sums, ...others] = book?.sums({ ids: observer.conversations }) ?? [];
		expect(others).toEqual([]);
		const written = provider.bills.slice(0, 10).reduce((sum, { write }) => sum + write, 0);
		expect(sums).toMatchObject({ requests: 10, misses: 0, tokens: { write: written } });
	});

	test("keeps the order of a WebSocket's requests, however long their answers are", {
		tags: "slow",
	}, async () => {
		const { folder, observer, provider } = observing();
		const { answerBody: _, ...exchange } = provider.exchange({ messages: first });
		const socket = { ...exchange, method: "GET", path: "/v1/responses", status: 101 };
		const answered = (id: string, text: string) => [
			JSON.stringify({ type: "response.output_text.delta", delta: text }),
			JSON.stringify({
				type: "response.completed",
				response: { id, usage: { input_tokens: 1000, output_tokens: 5 } },
			}),
		];
		const create = (id: string, text: string, previous?: string) => ({
			...socket,
			requestBody: new Uint8Array(
				Buffer.from(JSON.stringify({ input: text, previous_response_id: previous })),
			),
			frames: framesOf(answered(id, text.repeat(id === "r1" ? 500_000 : 1))),
		});
		observer.add(create("r1", "eins →"));
		observer.add(create("r2", "zwei", "r1"));
		await observer.close();
		const book = await Book.openForReading(folder);
		atEnd(() => book?.close());
		expect(book?.requests(1).map(({ step, ended }) => [step, ended])).toEqual([
			["start", "complete"],
			["next", "complete"],
		]);
	});

	test("copies a body that shares its memory with others", { tags: "slow" }, async () => {
		const { observer, provider } = observing();
		const exchange = provider.exchange({ messages: first });
		const { requestBody = new Uint8Array(), answerBody = new Uint8Array() } = exchange;
		const both = new Uint8Array([...requestBody, ...answerBody]);
		observer.add({
			...exchange,
			requestBody: both.subarray(0, requestBody.length),
			answerBody: both.subarray(requestBody.length),
		});
		await observer.drain();
		expect(both.byteLength).toBe(requestBody.length + answerBody.length);
		expect(observer.counts).toMatchObject({ booked: 1 });
	});

	test("copies a body in memory that Node shares among buffers", { tags: "slow" }, async () => {
		const { observer, provider } = observing();
		const { requestBody, ...exchange } = provider.exchange({ messages: [says("question", 10)] });
		const pooled = Buffer.from(Buffer.from(requestBody ?? []).toString("latin1"), "latin1");
		expect(pooled.buffer.byteLength).toBeGreaterThan(pooled.byteLength);
		observer.add({ ...exchange, requestBody: pooled });
		await observer.drain();
		expect(observer.counts).toMatchObject({ booked: 1, failed: 0 });
	});

	test("drops exchanges while too many bytes wait, and counts them", { tags: "slow" }, async () => {
		const { observer, provider } = observing({ maxQueuedBytes: 50_000 });
		for (let at = 0; at < 10; at++) observer.add(provider.exchange({ messages: first }));
		await observer.drain();
		const { booked, dropped } = observer.counts;
		expect(booked).toBeGreaterThan(0);
		expect(dropped).toBeGreaterThan(0);
		expect(booked + dropped).toBe(10);
		observer.add(provider.exchange({ messages: first }));
		await observer.drain();
		expect(observer.counts.booked).toBe(booked + 1);
	});

	test("books what is queued when it is closed, and takes nothing afterwards", {
		tags: "slow",
	}, async () => {
		const { observer, provider } = observing();
		for (let at = 0; at < 5; at++) observer.add(provider.exchange({ messages: first }));
		await observer.close();
		observer.add(provider.exchange({ messages: first }));
		expect(observer.counts).toMatchObject({ booked: 5, dropped: 1 });
	});

	test("counts what cannot be booked, says why, and goes on once it can", {
		tags: "slow",
	}, async () => {
		const folder = join(tempDir(), "traffic");
		writeFileSync(folder, "a file in the way");
		const { observer, provider } = observing({ folder });
		observer.add(provider.exchange({ messages: first }));
		await observer.drain();
		expect(observer.counts).toMatchObject({ failed: 1, booked: 0 });
		expect(observer.lastFailure).toContain("it is not a folder");
		rmSync(folder);
		observer.add(provider.exchange({ messages: first }));
		await observer.drain();
		expect(observer.counts).toMatchObject({ failed: 1, booked: 1 });
	});
});
