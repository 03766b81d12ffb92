/** What a call did stands on its folded line in pi's terminal. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI, Theme, ToolDefinition } from "@earendil-works/pi-coding-agent";
import { Text } from "@earendil-works/pi-tui";
import { describe, expect, test } from "vitest";
import { type Renderers, withEffect } from "../../src/extension/effect-line.ts";
import strata from "../../src/extension/index.ts";
import { showEffects } from "../../src/extension/render.ts";
import { startLoopbackAnthropic } from "../support/loopback-anthropic.ts";
import { openLoopbackSession } from "../support/loopback-session.ts";
import { sdk } from "../support/pi-sdk.ts";
import { startPi } from "../support/pi-session.ts";
import { atEnd, tempDir } from "../support/temp.ts";

sdk.initTheme?.();
const theme = { fg: (_: string, text: string) => text, bold: (text: string) => text } as Theme;

/** The rows of a call, folded, as pi's terminal draws them: call first, then its result. */
function folded(
	renderers: Renderers,
	args: object,
	result: object,
	state: object = {},
	width = 90,
) {
	const context = {
		args,
		state,
		toolCallId: "c",
		cwd: "/project",
		invalidate() {},
		lastComponent: undefined,
		executionStarted: true,
		argsComplete: true,
		isPartial: false,
		expanded: false,
		showImages: false,
		isError: (result as { isError?: boolean }).isError === true,
	};
	const call = renderers.renderCall?.(args as never, theme, context as never);
	const options = { expanded: false, isPartial: false };
	renderers.renderResult?.(result as never, options as never, theme, context as never);
	return call?.render(width).map((line) => line.trimEnd()) ?? [];
}

describe("the folded line of a call", () => {
	test("of a repeated read says that nothing was sent", async () => {
		let read: ToolDefinition | undefined;
		const pi = await startPi({
			extensions: [
				{
					name: "strata",
					factory: (api) =>
						strata({
							...api,
							registerTool(tool: ToolDefinition) {
								if (tool.name === "read") read = tool;
								api.registerTool(tool);
							},
						} as ExtensionAPI),
				},
			],
		});
		pi.write("cart.ts", "export const cart = 1;\n".repeat(20));
		const read1 = { tool: "read", args: { path: "cart.ts" }, id: "r1" };
		await pi.run("read it twice", [read1, { ...read1, id: "r2" }, "done"]);
		const results = pi.toolResults();
		const rows = results.map(({ text, details }) =>
			folded(
				read as Renderers,
				{ path: "cart.ts" },
				{ content: [{ type: "text", text }], details },
			).join("\n"),
		);
		expect(rows[0]).toMatch(/^read .*cart\.ts · 2[01] lines$/);
		expect(rows[1]).toMatch(/^read .*cart\.ts · unchanged, 2[01] lines not sent$/);
	});

	test("of a command is pi's own before 1.5: a line above the editor names the lines that were folded", async () => {
		const loop = await startLoopbackAnthropic();
		atEnd(() => loop.close());
		const folder = tempDir();
		const blobs = { dir: join(tempDir(), "blobs") };
		writeFileSync(join(folder, "strata.json"), JSON.stringify({ blobs }));
		const widgets: unknown[] = [];
		let canDraw = false;
		const session = await openLoopbackSession({
			...{ loop, folder },
			extensions: [
				{
					name: "strata",
					factory(api) {
						canDraw = "registerToolRenderer" in api;
						strata(api);
					},
				},
			],
			...{ mode: "tui", tools: ["read", "bash"] },
			uiContext: {
				...{ notify() {}, setStatus() {} },
				setWidget: (_key: string, lines: unknown) => void widgets.push(lines),
			},
		});
		const waiting = Array(80).fill("waiting for the server to start");
		const log = ["start", ...waiting, ...Array.from({ length: 30 }, (_, at) => `ready ${at}`)];
		writeFileSync(join(folder, "log.txt"), log.join("\n"));
		const command = "cat log.txt";
		const input = { command };
		loop.script([{ content: [{ type: "tool_use", id: "t1", name: "bash", input }] }, "Done."]);
		// A prompt that is long enough to be cached: shorter ones are left as they are.
		await session.prompt(`run it ${"and say what you saw ".repeat(2_000)}`);
		const line = expect.stringMatching(
			/^strata: bash cat log\.txt · [\d.]+ s · .*\d+ lines folded$/,
		);
		expect(widgets).toEqual(canDraw ? [] : [[line], undefined]);
	});

	const shell: Renderers = {
		renderCall: (args) => new Text(`$ ${(args as { command: string }).command}`, 0, 0),
		renderResult: () => new Text("", 0, 0),
	};
	const output = "x\n[strata: 212 more lines like this]\n\nCommand exited with code 3";
	const failed = { content: [{ type: "text", text: output }], isError: true };

	test("of a command says how long it took and how it ended", () => {
		const row = folded(withEffect("bash", shell), { command: "npm test" }, failed, {
			startedAt: 1000,
			endedAt: 1400,
		});
		expect(row).toEqual(["$ npm test · 0.4 s · exit 3"]);
	});

	test("goes to a line of its own where it does not fit", () => {
		const row = folded(withEffect("bash", shell), { command: "a ".repeat(10) }, failed, {}, 22);
		expect(row.length).toBeGreaterThan(1);
		expect(row.at(-1)).toBe(" · exit 3");
	});

	test("of pi's own tools is drawn where pi lets an extension do it", () => {
		let resolver: ((name: string, next: () => Renderers) => Renderers) | undefined;
		showEffects({ registerToolRenderer: (one: never) => (resolver = one) } as never);
		const drawn = resolver?.("bash", () => shell);
		expect(folded(drawn ?? {}, { command: "npm test" }, failed)).toEqual(["$ npm test · exit 3"]);
		expect(resolver?.("mine", () => shell)).toBe(shell);
		expect(() => showEffects({} as never)).not.toThrow();
	});
});
