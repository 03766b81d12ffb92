/** A system is one function and one line: what it can see and do, and what it cannot break. */
import { expect, test } from "vitest";
import { type CreateSystem, compose } from "../../src/extension/index.ts";
import type { System } from "../../src/session/index.ts";
import { startPi } from "../support/pi-session.ts";
import { copiesIn } from "../support/workset-session.ts";

const withSystem = (create: CreateSystem) => [
	{ name: "strata", factory: (api: Parameters<typeof compose>[0]) => void compose(api, [create]) },
];
const text = (one: string) => [{ type: "text" as const, text: one }];

test("a toy system hears all that happens, and acts on prompts, requests, results and turns", async () => {
	const seen: string[] = [];
	const note = (event: string) => void (seen.at(-1) !== event && seen.push(event));
	const toy: System = {
		name: "toy",
		status: () => ({ on: true, why: "it plays" }),
		readGuideline: "read also takes toy:.",
		start: (_session, reason) => note(`start ${reason}`),
		stop: () => note("stop"),
		async onPrompt(prompt) {
			note(`prompt ${prompt}`);
			return { customType: "toy", content: "of the toy", display: false, details: undefined };
		},
		onRunStart: () => note("run"),
		onRunEnd: () => note("run end"),
		async onRequest(messages, { cache }) {
			note(`request ${cache.coldness.cold ? "cold" : "warm"}`);
			return [...messages, { role: "user", content: text("at the end"), timestamp: 0 } as never];
		},
		onToolCall: async ({ toolName }) => note(`call ${toolName}`),
		onToolResult: async ({ toolName }) => {
			note(`result ${toolName}`);
			return { details: { toy: true } };
		},
		onAnswer: ({ failed }) => note(failed ? "failed" : "answer"),
		async onTurnEnd({ toolResultEntryIds: [targetId], entries }) {
			note("turn");
			if (targetId === undefined || entries.length > 0) return [];
			return [{ type: "context_edit", targetId, replacement: { content: text("edited") } }];
		},
	};
	const pi = await startPi({ extensions: withSystem(() => toy), mode: "rpc", thinking: "none" });
	pi.write("a.txt", "alpha\n");
	await pi.run("go", [{ tool: "read", args: { path: "a.txt" }, id: "r1" }, "done"]);
	expect(JSON.stringify(pi.lastContext())).toMatch(/read also takes toy:.*of the toy.*at the end/);
	expect(pi.seenTextOf("r1")).toBe("edited");
	expect(pi.toolResults()[0]).toMatchObject({ text: "alpha\n", details: { toy: true } });
	await pi.command("/strata");
	expect(pi.reports.at(-1)?.data).toMatchObject({ text: expect.stringMatching(/^on +toy +it/m) });
	await pi.newSession();
	const turn = ["answer", "call read", "result read", "turn"];
	expect(seen).toEqual([
		"start startup",
		"prompt go",
		"run",
		"request cold",
		...turn,
		"request warm",
		"answer",
		"turn",
		"run end",
		"stop",
		"start new",
	]);
});

test("a system that fails at everything but tool calls keeps no other from its work", async () => {
	let isBroken = true;
	const fail = (): never => {
		if (isBroken) throw new Error("broken");
		return undefined as never;
	};
	const broken: System = {
		name: "broken",
		start: fail,
		stop: fail,
		onPrompt: fail,
		onRunStart: fail,
		onRunEnd: fail,
		onRequest: fail,
		onPayload: fail,
		onMessage: fail,
		onToolResult: fail,
		onAnswer: fail,
		onTurnEnd: fail,
		onCompaction: fail,
		onBranch: fail,
	};
	const pi = await startPi({ extensions: withSystem(() => broken), mode: "rpc" });
	pi.write("a.txt", "alpha\n");
	pi.write("b.ts", "beta\n");
	await pi.command("/workset add b.ts");
	const read = { tool: "read", args: { path: "a.txt" } };
	await pi.run("go", [read, { ...read, id: "again" }, "done"]);
	expect(pi.textOf("again")).toMatch(/^\[readcache: unchanged/);
	expect(copiesIn(pi.lastContext())).toEqual([{ path: "b.ts", text: "beta\n" }]);
	await pi.compact("summary");
	await pi.newSession();
	expect(pi.notifications[0]?.message).toBe("pi-strata: broken could not be started: broken");
	const errors = pi.errors.splice(0).map(({ event, error }) => `${event}: ${error}`);
	expect([...new Set(errors)].sort()).toEqual([
		"agent_end: broken",
		"agent_end: broken: broken", // of the turns
		"agent_start: broken",
		"before_agent_start: broken",
		"context_with_system: broken",
		"message_end: broken",
		"message_start: broken",
		"session_compact: broken",
		"session_shutdown: broken could not be stopped: broken",
		"tool_result: broken",
	]);
	isBroken = false;
});
