import { describe, expect, test, vi } from "vitest";
import { Latencies } from "../../../src/server/engine/replies.ts";
import { createHarness, response } from "./harness.ts";

describe("a connection", () => {
	test("has its answers when all its commands have ended, its repetitions too", async () => {
		const harness = createHarness();
		harness.hold("get_metrics");
		const client = harness.client();
		const order: string[] = [];
		await harness.engine.whenAnswered(client); // nothing under way
		const read = { type: "get_metrics", id: "r" };
		await harness.send(client, read, read, { type: "get_metrics", id: "other" });
		harness.engine.whenAnswered(client).then(() => order.push(`${client.frames.at(-1)?.id}`));
		await harness.held[0]?.finish();
		expect(order).toEqual([]);
		await harness.held[1]?.finish();
		expect(order).toEqual(["other"]);
	});

	test("can wait for what others' commands do, and not for its own", async () => {
		const harness = createHarness();
		const [asking, other] = [harness.client(), harness.client()];
		const sends = [asking, other].map((client) => vi.spyOn(client, "send"));
		await harness.send(asking, { type: "get_metrics" });
		const [own = [], others = []] = sends.map(({ mock }) =>
			mock.calls.map(([message, canWait = false]) => [message.value.type, canWait]),
		);
		const lifecycle = ["command_accepted", "command_started", "command_finished"];
		expect(own).toEqual([...lifecycle, "response"].map((type) => [type, false]));
		expect(others).toEqual(lifecycle.map((type) => [type, true]));
	});

	test("that is gone waits for nothing", async () => {
		const harness = createHarness();
		harness.hold("get_metrics");
		const client = harness.client();
		await harness.send(client, { type: "get_metrics" });
		const answered = harness.engine.whenAnswered(client);
		harness.engine.disconnect(client);
		await answered;
		await harness.engine.whenAnswered(client);
	});
});

describe("a repetition", () => {
	test("that is answered well is told of, with its connection and the answer, whether joined or replayed", async () => {
		const answeredAgain: unknown[] = [];
		const harness = createHarness({
			onAnsweredAgain: ({ command, client, principal }, data) =>
				void answeredAgain.push([command.type, client.id, principal, data()]),
		});
		harness.hold("subscribe");
		const [first, second, third] = [harness.client(), harness.client(), harness.client()];
		const subscribe = { type: "subscribe", id: "s", lifecycle: "own" };
		await harness.send(first, subscribe);
		await harness.send(second, subscribe);
		await harness.held[0]?.finish({ data: { lifecycle: "own" } });
		await harness.send(third, subscribe);
		expect(answeredAgain).toEqual([
			["subscribe", second.id, "ann", { lifecycle: "own" }],
			["subscribe", third.id, "ann", { lifecycle: "own" }],
		]);
		expect(response(third, "s")).toMatchObject({ replayed: true, success: true });
	});

	test("of a failure has done nothing for its connection", async () => {
		const answeredAgain: unknown[] = [];
		const harness = createHarness({ onAnsweredAgain: (call) => void answeredAgain.push(call) });
		harness.on("subscribe", async () => {
			throw new Error("no");
		});
		const subscribe = { type: "subscribe", id: "s", lifecycle: "own" };
		await harness.send(harness.client(), subscribe);
		await harness.send(harness.client(), subscribe);
		expect(answeredAgain).toEqual([]);
	});
});

describe("latency", () => {
	test("is told of the latest commands from acceptance to response, and not before there was one", async () => {
		let clock = 0;
		const harness = createHarness({ clock: () => clock });
		harness.hold("get_metrics");
		const client = harness.client();
		expect(harness.engine.latencyMs()).toBeUndefined();
		for (let n = 1; n <= 100; n++) {
			await harness.send(client, { type: "get_metrics" });
			clock += n;
			await harness.held.at(-1)?.finish();
		}
		expect(harness.engine.latencyMs()).toEqual({ p50: 50, p90: 90, p99: 99 });
	});

	test("forgets what was long ago", () => {
		const latencies = new Latencies();
		latencies.note(9_999);
		for (let n = 0; n < 1_024; n++) latencies.note(1);
		expect(latencies.percentiles()).toEqual({ p50: 1, p90: 1, p99: 1 });
	});
});
