import { beforeEach, expect, test, vi } from "vitest";
import { FoldedNotice } from "../../src/extension/folded-notice.ts";
import { fakeSession } from "../support/fake-host.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));

function notice(mode: "tui" | "rpc" = "tui") {
	const widgets: unknown[][] = [];
	const ui = { setWidget: (...widget: unknown[]) => void widgets.push(widget) };
	const session = fakeSession({ mode, ui: ui as never }).view;
	const system = new FoldedNotice();
	function call(toolName: string, args: object, ended: { text: string; savedChars?: number }) {
		const one = { toolCallId: "t", toolName };
		system.onProgress({ kind: "call", call: { ...one, args } }, session);
		vi.advanceTimersByTime(400);
		system.onProgress({ kind: "call", call: { ...one, args }, output: {} }, session);
		const birth = ended.savedChars === undefined ? {} : { birth: { savedChars: ended.savedChars } };
		const content = [{ type: "text", text: ended.text }];
		const isError = ended.text.includes("exited");
		system.onProgress(
			{ kind: "called", call: one, ended: { content, details: birth, isError } },
			session,
		);
	}
	return { system, session, widgets, call };
}

const FOLDED = "x\n[strata: 212 more lines like this]\n\nCommand exited with code 3";

test("a shortened result is named above the editor until the run ends", () => {
	const { system, session, widgets, call } = notice();
	call("bash", { command: "npm test" }, { text: FOLDED, savedChars: 9_000 });
	const line = "strata: bash npm test · 0.4 s · exit 3 · 212 lines folded";
	expect(widgets).toEqual([["strata-folded", [line]]]);
	system.onProgress({ kind: "run", isRunning: false }, session);
	expect(widgets[1]).toEqual(["strata-folded", undefined]);
	system.onProgress({ kind: "run", isRunning: false }, session);
	expect(widgets).toHaveLength(2);
});

test("nothing is said about results as pi shows them, about reads, or outside a terminal", () => {
	const { widgets, call } = notice();
	call("bash", { command: "ls" }, { text: "a" });
	call("read", { path: "a.ts" }, { text: FOLDED, savedChars: 9_000 });
	expect(widgets).toEqual([]);
	const other = notice("rpc");
	other.call("bash", { command: "npm test" }, { text: FOLDED, savedChars: 9_000 });
	expect(other.widgets).toEqual([]);
});

test("a command cannot control the terminal", () => {
	const { widgets, call } = notice();
	call("bash", { command: "echo \u001b[2J\nrm" }, { text: FOLDED, savedChars: 9_000 });
	expect(widgets[0]?.[1]).toEqual(["strata: bash echo rm · 0.4 s · exit 3 · 212 lines folded"]);
});
