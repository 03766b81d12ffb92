import { describe, expect, test } from "vitest";
import type { Data } from "../../../src/protocol/index.ts";
import { Dialogs } from "../../../src/server/sessions/dialogs.ts";

function startDialogs() {
	const sent: Data<"SessionEvent">[] = [];
	return { sent, dialogs: new Dialogs({ emit: (event) => sent.push(event) }) };
}

describe("dialogs", () => {
	test("are closed when the signal they were asked with is aborted, before or after", async () => {
		const { dialogs, sent } = startDialogs();
		const { ui } = dialogs;
		expect(await ui.confirm("a", "b", { signal: AbortSignal.abort() })).toBe(false);
		expect(sent).toEqual([]);
		const stop = new AbortController();
		const answer = ui.input("a", undefined, { signal: stop.signal });
		expect(dialogs.current()).toHaveLength(1);
		stop.abort();
		expect(await answer).toBeUndefined();
		expect(dialogs.current()).toEqual([]);
		expect(sent.at(-1)).toMatchObject({ type: "extension_ui_closed", reason: "aborted" });
	});

	test("of an extension that asks without end are refused from some point on", async () => {
		const { dialogs } = startDialogs();
		const { ui } = dialogs;
		const answers = Array.from({ length: 500 }, (_, index) => ui.input(`${index}`));
		expect(dialogs.current().length).toBeLessThanOrEqual(100);
		dialogs.cancelAll();
		expect(await Promise.all(answers)).toEqual(Array(500).fill(undefined));
	});

	test("keep the latest statuses and widgets only, and none that is huge", () => {
		const { dialogs } = startDialogs();
		const { ui } = dialogs;
		for (let index = 0; index < 1000; index++) ui.setStatus(`k${index}`, "on");
		ui.setWidget("big", ["x".repeat(100_000)]);
		ui.setWidget("drawn", (() => ({})) as never);
		expect(dialogs.current()).toHaveLength(64);
		expect(dialogs.current().at(-1)).toMatchObject({ statusKey: "k999" });
		ui.setStatus("k999", undefined);
		expect(dialogs.current()).toHaveLength(63);
		dialogs.reset();
		expect(dialogs.current()).toEqual([]);
	});

	test("have every method as a property of their own, since pi copies the object", () => {
		expect(Object.keys({ ...startDialogs().dialogs.ui })).toEqual(
			expect.arrayContaining([
				"select",
				"confirm",
				"input",
				"editor",
				"notify",
				"setStatus",
				"setWidget",
			]),
		);
	});
});
