import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { ColdPruner } from "../../../src/economy/live/cold-notice.ts";
import { EconomySystem } from "../../../src/economy/system.ts";
import { type FakeContext, fakeSession } from "../../support/fake-host.ts";

const MODEL = {
	provider: "anthropic",
	id: "claude-opus-4-5",
	api: "anthropic-messages",
	cost: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
};
const HOUR = 3_600_000;

interface Options {
	mode?: "tui" | "rpc" | "print";
	hasUI?: boolean;
	settings?: object;
	tokens?: number;
	model?: object;
	/** Whether the user pays by subscription. */
	isSubscribed?: boolean;
	/** Time since the last answer. */
	pauseMs?: number;
	/** Begins of the choices that the user takes, one for each question; `undefined` for Escape. */
	answers?: (string | undefined)[];
	compactionError?: string;
	/** What the user types while the question or the compaction is in flight. */
	typed?: string;
	pruner?: ColdPruner<unknown>;
}

/** A session that was resumed after a pause. `send` returns whether the prompt goes on. */
async function resumed(options: Options = {}) {
	const { mode = "tui", hasUI = true, tokens = 200_000, pauseMs = HOUR, answers = [] } = options;
	const usage = { input: 0, cacheRead: 0, cacheWrite: tokens };
	const message = { role: "assistant", provider: "anthropic", model: MODEL.id, usage };
	const timestamp = Date.now() - pauseMs;
	const entries = [{ type: "message", message: { ...message, timestamp }, timestamp: "" }];
	const questions: { title: string; choices: string[] }[] = [];
	const notices: string[] = [];
	const editor: string[] = [];
	const compactions: object[] = [];
	const context = {
		mode,
		hasUI,
		model: options.model ?? MODEL,
		ui: {
			notify: (text: string) => void notices.push(text),
			setStatus: () => {},
			getEditorText: () => options.typed ?? "",
			setEditorText: (text: string) => void editor.push(text),
			select: async (title: string, choices: string[]) => {
				questions.push({ title, choices });
				const wanted = answers.shift();
				return choices.find((choice) => wanted !== undefined && choice.startsWith(wanted));
			},
		},
		getContextUsage: () => ({ tokens, contextWindow: 1_000_000, percent: 0 }),
		compact: (asked?: {
			onComplete?: (result: never) => void;
			onError?: (error: Error) => void;
		}) => {
			compactions.push({});
			if (options.compactionError) asked?.onError?.(new Error(options.compactionError));
			else asked?.onComplete?.({} as never);
		},
		sessionManager: { getEntries: () => entries },
		...(options.isSubscribed && { modelRegistry: { isUsingOAuth: () => true } }),
	} as unknown as FakeContext;
	const session = fakeSession(context);
	if (options.settings) {
		const settings = JSON.stringify({ economy: options.settings });
		writeFileSync(join(session.host.agentDir, "strata.json"), settings);
	}
	await session.run([new EconomySystem(options.pruner)], "resume");
	const send = async (text = "go on", more: object = {}) => {
		const results = await session.emit("input", { text, source: "interactive", ...more });
		return !results.some((result) => (result as { action?: string })?.action === "handled");
	};
	const answer = async () => {
		await session.emit("before_provider_request", { payload: {} });
		await session.emit("message_end", { message: { ...message, timestamp: Date.now() } });
	};
	return { send, answer, questions, notices, editor, compactions };
}

describe("a prompt after the cache has expired", () => {
	test("is asked about in the terminal, with what each way costs", async () => {
		const { send, questions, notices } = await resumed({ answers: ["Send"] });
		expect(notices).toEqual([]);
		expect(await send()).toBe(true);
		// 200,000 tokens at $6.25 or $0.50 a million. A compaction reads them at $5 and answers with 2,000 at $25.
		expect(questions).toEqual([
			{
				title:
					"pi-strata: the provider's cache has expired. The next request pays for 200,000 tokens again, about $1.25 instead of $0.10.",
				choices: [
					"Send everything: about $1.25",
					"Compact, then send with Enter: about $1.19, and less from then on",
				],
			},
		]);
	});

	test("is asked about once per cold moment", async () => {
		const { send, answer, questions } = await resumed({ answers: [undefined, "Send", "Send"] });
		expect(await send()).toBe(false);
		expect(await send()).toBe(true);
		await answer();
		expect(await send()).toBe(true);
		expect(questions).toHaveLength(1);
	});

	test("goes back to the editor if the user does not choose", async () => {
		const { send, editor, compactions } = await resumed({ answers: [undefined] });
		expect(await send("my prompt")).toBe(false);
		expect(editor).toEqual(["my prompt"]);
		expect(compactions).toEqual([]);
	});

	test("goes back to the editor after a compaction, since pi may send a queued prompt then", async () => {
		const { send, editor, notices, compactions } = await resumed({ answers: ["Compact"] });
		expect(await send("my prompt")).toBe(false);
		expect(compactions).toHaveLength(1);
		expect(editor).toEqual(["my prompt"]);
		expect(notices).toEqual(["pi-strata: compacted; Enter sends the prompt"]);
		expect(await send("my prompt")).toBe(true);
	});

	test("goes back to the editor if a compaction fails", async () => {
		const options = { answers: ["Compact"], compactionError: "no key" };
		const { send, editor, notices } = await resumed(options);
		expect(await send("my prompt")).toBe(false);
		expect(editor).toEqual(["my prompt"]);
		expect(notices).toEqual(["pi-strata: not sent: no key"]);
	});

	test.each([
		["a compaction", { answers: ["Compact"] }],
		["a compaction that fails", { answers: ["Compact"], compactionError: "no key" }],
		["no choice", { answers: [undefined] }],
	])("goes before what the user typed meanwhile, after %s", async (_name, options) => {
		const { send, editor } = await resumed({ ...options, typed: "and one more thing" });
		expect(await send("my prompt")).toBe(false);
		expect(editor).toEqual(["my prompt\nand one more thing"]);
	});

	test("can be sent pruned or whole, where pruning may take something out", async () => {
		const skipNext = vi.fn();
		const pruner = { preview: async () => ({ freedTokens: 80_000, bound: 0 }), skipNext };
		const pruned = await resumed({ answers: ["Prune"], pruner });
		expect(await pruned.send()).toBe(true);
		expect(skipNext).not.toHaveBeenCalled();
		expect(pruned.questions[0]?.choices[0]).toBe(
			"Prune 80k tokens of old output, then send: about $0.75",
		);
		const whole = await resumed({ answers: ["Send"], pruner });
		expect(await whole.send()).toBe(true);
		expect(skipNext).toHaveBeenCalledOnce();
	});

	test("says which results cannot be pruned since thinking is bound to them", async () => {
		const pruner = { preview: async () => ({ freedTokens: 0, bound: 3 }), skipNext: () => {} };
		const { send, questions } = await resumed({ answers: ["Send"], pruner });
		await send();
		expect(questions[0]?.title).toContain("3 old results cannot be pruned");
		expect(questions[0]?.choices.join()).not.toContain("Prune");
	});
});

describe("without a question", () => {
	const NOTICE = /pays for 200,000 tokens again, about \$1\.25 instead of \$0\.10/;

	test.each([
		["RPC mode", { mode: "rpc" as const }],
		["print mode", { mode: "print" as const, hasUI: false }],
		["a terminal with the setting notify", { settings: { coldNotice: "notify" } }],
	])("%s gets one notice, when the session starts", async (_name, options) => {
		const { send, questions, notices } = await resumed(options);
		expect(notices).toEqual([expect.stringMatching(NOTICE)]);
		expect(await send()).toBe(true);
		expect(notices).toHaveLength(1);
		expect(questions).toEqual([]);
	});

	test("a user with a subscription gets one notice in tokens, when the session starts", async () => {
		const { send, questions, notices } = await resumed({ isSubscribed: true });
		expect(notices).toEqual([
			"pi-strata: the provider's cache has expired. The next request sends 200,000 tokens that are not cached.",
		]);
		expect(await send()).toBe(true);
		expect(notices).toHaveLength(1);
		expect(questions).toEqual([]);
	});

	test("a prompt with images is sent with a notice, since it could not be given back", async () => {
		const { send, questions, notices } = await resumed();
		expect(await send("look", { images: [{}] })).toBe(true);
		expect(questions).toEqual([]);
		expect(notices).toEqual([expect.stringMatching(NOTICE)]);
	});

	test("a prompt of an extension is sent with a notice, for it must not wait", async () => {
		const { send, questions, notices } = await resumed();
		expect(await send("by a timer", { source: "extension" })).toBe(true);
		expect(questions).toEqual([]);
		expect(notices).toEqual([expect.stringMatching(NOTICE)]);
	});

	test("a message that steers a run is sent", async () => {
		const { send, questions, notices } = await resumed();
		expect(await send("faster", { streamingBehavior: "steer" })).toBe(true);
		expect([...questions, ...notices]).toEqual([]);
	});
});

test.each([
	["the setting is off", { settings: { coldNotice: "off" } }],
	["the request costs less than the threshold", { tokens: 70_000 }],
	["the threshold is higher", { settings: { coldThreshold: 2 } }],
	["the cache is still warm", { pauseMs: 60_000 }],
	["the model has no price", { model: { ...MODEL, cost: undefined } }],
	["the lifetime of the cache is not documented", { model: { ...MODEL, id: "other-1" } }],
	["Google documents no lifetime", { model: { ...MODEL, id: "gemini-3-pro" } }],
	["Amazon documents no lifetime", { model: { ...MODEL, id: "amazon.nova-pro-v1:0" } }],
])("nothing is said if %s", async (_name, options) => {
	const { send, questions, notices } = await resumed(options);
	expect(await send()).toBe(true);
	expect([...questions, ...notices]).toEqual([]);
});

test("a lifetime that pi or the user states counts as documented", async () => {
	const model = { ...MODEL, id: "gemini-3-pro", promptCache: { short: 600 } };
	const { send, questions } = await resumed({ model, answers: ["Send"] });
	expect(await send()).toBe(true);
	expect(questions).toHaveLength(1);
});
