import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SessionMirror } from "../../../src/server/sessions/session-mirror.ts";
import { tempDir } from "../../support/temp.ts";

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => vi.useRealTimers());

/** A mirror whose next look at the processes ends as the test says. */
async function followed() {
	const original = join(tempDir(), "a.jsonl");
	writeFileSync(original, '{"type":"session"}\n');
	const answer = Promise.withResolvers<Map<string, number>>();
	let looks = 0;
	const piProcesses = () =>
		looks++ === 0 ? Promise.resolve(new Map([[original, 1]])) : answer.promise;
	const mirror = await SessionMirror.open({ original, folder: tempDir(), piProcesses });
	const onChange = vi.fn();
	mirror.follow(onChange);
	await vi.advanceTimersByTimeAsync(3_000);
	expect(looks).toBe(2);
	return { mirror, answer, onChange };
}

test("a mirror that was closed reports nothing, although it was just looking", async () => {
	const { mirror, answer, onChange } = await followed();
	mirror.close();
	answer.resolve(new Map());
	await new Promise(setImmediate);
	expect(onChange).not.toHaveBeenCalled();
});

test("a look that fails, or a report that does, is not the end of the server", async () => {
	const unhandled = vi.fn();
	process.on("unhandledRejection", unhandled);
	try {
		const first = await followed();
		first.answer.reject(new Error("the folder cannot be read"));
		const second = await followed();
		second.onChange.mockImplementation(() => {
			throw new Error("the copy is gone");
		});
		second.answer.resolve(new Map());
		await new Promise(setImmediate);
		expect(second.onChange).toHaveBeenCalled();
		expect(unhandled).not.toHaveBeenCalled();
		first.mirror.close();
		second.mirror.close();
	} finally {
		process.off("unhandledRejection", unhandled);
	}
});
