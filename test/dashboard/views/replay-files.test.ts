import { describe, expect, test } from "vitest";
import {
	replayProblem,
	reportIn,
	sizeProblem,
} from "../../../src/dashboard/views/replay/send-file.ts";
import { emptyText, nameOf, withNext } from "../../../src/dashboard/views/replay/session-files.tsx";
import { MAX_UPLOAD } from "../../../src/text/upload-size.ts";
import { REPORT } from "./sample-answers.ts";

describe("a file", () => {
	test("that is too large is refused with its size, the limit and what to do", () => {
		const problem = sizeProblem({ name: "a.jsonl", bytes: 65 * 2 ** 20 });
		expect(problem).toContain(
			"a.jsonl is too large: 65.0 MiB, but the server accepts at most 64 MiB",
		);
		expect(problem).toContain("strata replay");
		expect(sizeProblem({ name: "a", bytes: MAX_UPLOAD + 1 })).toContain("64.1 MiB");
	});

	test("of 64 MiB is sent, an empty one is not", () => {
		expect(sizeProblem({ name: "a", bytes: MAX_UPLOAD })).toBeUndefined();
		expect(sizeProblem({ name: "a", bytes: 0 })).toBe("a is empty.");
	});

	test("that cannot be replayed is called by its name", () => {
		expect(replayProblem("content is not a session: it is binary", "photo $& 1.png")).toBe(
			"photo $& 1.png is not a session: it is binary",
		);
		expect(replayProblem("the replay was stopped", "a")).toBe("the replay was stopped");
	});

	test("is answered with a report, an error, or words of something in between", () => {
		expect(reportIn(JSON.stringify({ success: true, data: REPORT }), "a")).toEqual(REPORT);
		const refused = JSON.stringify({ success: false, error: "content is too large", code: "x" });
		expect(() => reportIn(refused, "a.db")).toThrow("a.db is too large");
		expect(() => reportIn("a valid token is needed\n", "a")).toThrow("a valid token is needed");
		for (const nothing of ["", "null", "7", "{}"]) {
			expect(() => reportIn(nothing, "a")).toThrow(/did not answer|failed/);
		}
	});
});

describe("the list of session files", () => {
	const file = (fileId: string) => ({
		...{ fileId, agent: "codex", name: `${fileId}.jsonl`, lastUseMs: 1, bytes: 1 },
	});

	test("goes on with the next page, and has no file twice", () => {
		const page = withNext(
			{ files: [file("a"), file("b")], next: "1" },
			{ files: [file("b"), file("c")], next: "2" },
		);
		expect(page.files.map(({ fileId }) => fileId)).toEqual(["a", "b", "c"]);
		expect(page.next).toBe("2");
		expect(withNext(page, { files: [] }).next).toBeUndefined();
	});

	test("names a session by its title or else by its file, and says why it is empty", () => {
		expect(nameOf({ title: "rename the store", name: "a.jsonl" })).toBe("rename the store");
		expect(nameOf({ name: "a.jsonl" })).toBe("a.jsonl");
		expect(emptyText(" ")).toContain("There are no session files");
		expect(emptyText("codex")).toContain("all of these words");
	});
});
