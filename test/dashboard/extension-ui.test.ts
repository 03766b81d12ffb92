import { expect, test } from "vitest";
import { applyUiEvent, NO_UI } from "../../src/dashboard/session/extension-ui.ts";
import type { Data } from "../../src/protocol/index.ts";

const request = (fields: object) =>
	({ type: "extension_ui_request", requestId: "q1", ...fields }) as Data<"SessionEvent">;
const confirm = request({ method: "confirm", title: "Sure?", message: "" });

test("a question waits until it is closed, and shows once though it is told twice", () => {
	const asked = [confirm, confirm].reduce(applyUiEvent, NO_UI);
	expect(asked.questions).toHaveLength(1);
	const closed: Data<"SessionEvent"> = {
		type: "extension_ui_closed",
		requestId: "q1",
		reason: "answered",
	};
	expect(applyUiEvent(asked, closed).questions).toEqual([]);
});

test("a question outlives a run that ended in order, and not one that the server's end cut off", () => {
	const asked = applyUiEvent(NO_UI, confirm);
	expect(applyUiEvent(asked, { type: "agent_settled" }).questions).toHaveLength(1);
	expect(applyUiEvent(asked, { type: "agent_settled", interrupted: true }).questions).toEqual([]);
});

test("a status and a widget stay until they are taken away", () => {
	const status = request({ method: "setStatus", statusKey: "k", statusText: "busy" });
	const widget = request({
		method: "setWidget",
		widgetKey: "w",
		widgetLines: ["a"],
		widgetPlacement: "belowEditor",
	});
	const shown = [status, widget].reduce(applyUiEvent, NO_UI);
	expect(shown.statuses.get("k")).toBe("busy");
	expect(shown.widgets.get("w")).toEqual({ lines: ["a"], isBelow: true });
	const gone = [
		request({ method: "setStatus", statusKey: "k" }),
		request({ method: "setWidget", widgetKey: "w" }),
	];
	expect(gone.reduce(applyUiEvent, shown)).toMatchObject({
		statuses: new Map(),
		widgets: new Map(),
	});
});

test("an extension cannot fill the page", () => {
	let ui = NO_UI;
	for (let at = 0; at < 1000; at++) {
		ui = applyUiEvent(ui, request({ method: "setStatus", statusKey: `k${at}`, statusText: "x" }));
	}
	expect(ui.statuses.size).toBeLessThanOrEqual(50);
});

test("another session behind the same id takes everything away", () => {
	const asked = applyUiEvent(NO_UI, confirm);
	expect(applyUiEvent(asked, { type: "session_replaced", reason: "new" })).toEqual(NO_UI);
});
