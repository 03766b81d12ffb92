/** A new system is one folder and one line: here a toy one, in a real pi. */
import { expect, test } from "vitest";
import { compose } from "../../src/extension/index.ts";
import type { Spine, System } from "../../src/session/index.ts";
import { startPi } from "../support/pi-session.ts";

/** What would be `src/toy/system.ts`: it counts what it is asked, and answers one path of `read` itself. */
function createToySystem({ host }: Spine): System & { asked: string[] } {
	const asked: string[] = [];
	const note = (what: string) => void asked.push(what);
	host.registerCommand("toy", {
		description: "What the toy was asked",
		handler: async (_args, ctx) => host.report(ctx, asked.join(" ")),
	});
	return {
		name: "toy",
		asked,
		status: () => ({ on: true, why: "it plays" }),
		start: () => note("start"),
		async read({ path }) {
			if (path !== "toy:") return undefined;
			return { content: [{ type: "text", text: "a toy" }], details: undefined };
		},
		async onPrompt() {
			note("prompt");
			return undefined;
		},
		async onRequest(messages, { cache }) {
			note(cache.coldness.cold ? "cold" : "warm");
			return messages;
		},
		async onToolResult({ toolName }) {
			note(toolName);
			return undefined;
		},
		onAnswer: ({ failed }) => note(failed ? "failed" : "answer"),
		async onTurnEnd() {
			note("turn");
			return [];
		},
		stop: () => note("stop"),
	};
}

test("a system that is listed once takes part in everything", async () => {
	let toy: ReturnType<typeof createToySystem> | undefined;
	const pi = await startPi({
		mode: "tui",
		extensions: [
			{
				name: "strata",
				factory: (api) => void compose(api, [(spine) => (toy = createToySystem(spine))]),
			},
		],
	});
	await pi.run("go", [{ tool: "read", args: { path: "toy:" }, id: "t1" }, "done"]);
	expect(pi.toolResults().find(({ toolCallId }) => toolCallId === "t1")?.text).toBe("a toy");
	expect(toy?.asked).toEqual([
		"start",
		"prompt",
		"cold",
		"answer",
		"read",
		"turn",
		"warm",
		"answer",
		"turn",
	]);
	await pi.command("/strata");
	expect(pi.reports.at(-1)?.data).toMatchObject({
		text: expect.stringMatching(/on {3}toy +it plays/),
	});
	await pi.close();
	expect(toy?.asked.at(-1)).toBe("stop");
});
