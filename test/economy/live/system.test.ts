import { describe, expect, test } from "vitest";
import { EconomySystem } from "../../../src/economy/system.ts";
import { fakeSession } from "../../support/fake-host.ts";

const MODELS = [
	{ provider: "anthropic", id: "claude-a", cost: prices(0.5) },
	{ provider: "anthropic", id: "claude-b", cost: prices(0.25) },
	{ provider: "strata-demo", id: "scripted", cost: prices(0.5) },
];

describe("the account of a running session", () => {
	test("counts answers that were stopped or failed midway, for the provider bills their prompts", async () => {
		const { answer, report } = watch();
		await answer({ cacheWrite: 50_000 });
		await answer({ cacheRead: 50_000, cacheWrite: 1000 }, { stopReason: "aborted" });
		await answer({ cacheRead: 51_000, cacheWrite: 1000 }, { stopReason: "error" });
		await answer({}, { stopReason: "error" });
		expect(await report()).toContain("3 requests, 153,000 prompt tokens");
	});

	test("says in its notice of a miss that the prices of the demo are made up", async () => {
		for (const [provider, isMarked] of [
			["anthropic", false],
			["strata-demo", true],
		] as const) {
			const model = { provider, model: isMarked ? "scripted" : "claude-a" };
			const { answer, emit, notices } = watch();
			await answer({ cacheWrite: 50_000 }, model);
			await emit("session_tree", {});
			await answer({ cacheWrite: 50_000 }, model);
			expect(notices).toHaveLength(1);
			expect(notices[0]).toContain("50,000 cached tokens were paid for again");
			expect(notices[0]?.includes("(a made-up price)")).toBe(isMarked);
		}
	});

	test("says that the user went to another branch", async () => {
		const { answer, emit, report } = watch();
		await answer({ cacheWrite: 50_000 });
		await emit("session_tree", {});
		await answer({ cacheWrite: 50_000 });
		await answer({ cacheWrite: 50_000 });
		const [, , , first, second] = (await report()).split("\n");
		expect(first).toContain("the session moved to another branch");
		expect(second).toContain("nothing changed on our side");
	});

	test("takes the thinking level that a request was sent with, whatever it is when the answer is there", async () => {
		const { answer, report, think } = watch();
		await answer({ cacheWrite: 50_000 }, {}, () => think("high"));
		await answer({ cacheWrite: 50_000 });
		await answer({ cacheWrite: 50_000 });
		const [, , , first, second] = (await report()).split("\n");
		expect(first).toContain("the thinking level changed");
		expect(second).toContain("nothing changed on our side");
	});

	test("prices the requests of a resumed session by the models that made them", async () => {
		const usage = { input: 0, cacheRead: 100_000, cacheWrite: 0 };
		const entries = MODELS.slice(0, 2).map(({ provider, id }, at) => ({
			type: "message",
			message: { role: "assistant", provider, model: id, usage, timestamp: at + 1 },
		}));
		const { report } = watch(entries);
		// A tenth of one, a twentieth of the other.
		expect(await report()).toContain("cost in plain input tokens: 15,000, ");
	});

	test("knows of pings before the session was resumed", async () => {
		const minute = 60_000;
		const message = {
			role: "assistant",
			provider: "anthropic",
			model: "claude-a",
			stopReason: "stop",
		};
		const usage = { input: 0, cacheRead: 0, cacheWrite: 50_000 };
		const at = (ms: number) => new Date(ms).toISOString();
		const entries = [
			{ type: "message", message: { ...message, usage, timestamp: minute } },
			{ type: "usage", kind: "cache_warm", timestamp: at(5 * minute), usage },
			{ type: "message", message: { ...message, usage, timestamp: 9 * minute } },
		];
		expect(await watch(entries).report()).toContain("the request was not observed");
		entries.splice(1, 1);
		expect(await watch(entries).report()).toContain("the pause was longer");
	});
});

function prices(cacheRead: number) {
	return { input: 5, output: 25, cacheRead, cacheWrite: 6.25 };
}

/** The system in a session on a fake host. */
function watch(entries: object[] = []) {
	const session = fakeSession({
		model: MODELS[0] as object,
		modelRegistry: {
			find: (provider: string, id: string) =>
				MODELS.find((model) => model.provider === provider && model.id === id),
		},
		sessionManager: { getEntries: () => entries },
	});
	const system = new EconomySystem();
	const { state, view } = session;
	const emit = session.emit.bind(session);
	const started = session.run([system]);
	return {
		emit,
		notices: session.notices,
		think(level: string) {
			state.thinking = level;
		},
		async answer(billed: object, fields: object = {}, meanwhile = () => {}) {
			await started;
			const payload = { system: "rules", messages: [{ role: "user", content: "hello" }] };
			await emit("before_provider_request", { payload });
			meanwhile();
			const usage = { input: 0, cacheRead: 0, cacheWrite: 0, ...billed };
			const model = { provider: "anthropic", model: "claude-a", stopReason: "stop" };
			const message = { role: "assistant", ...model, usage, ...fields };
			await emit("message_end", { message });
		},
		async report() {
			await started;
			return await system.costReport(view());
		},
	};
}
