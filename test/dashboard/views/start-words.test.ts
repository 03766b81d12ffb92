import { expect, test } from "vitest";
import { startWords } from "../../../src/dashboard/views/server/server-view.tsx";

test("a first start tells of no process before it", () => {
	expect(startWords({ crashed: false, sessions: 0 })).toBe("It began without sessions.");
});

test("a later start tells how the process before it ended, and what it left", () => {
	expect(startWords({ crashed: false, sessions: 1 })).toBe(
		"The process before it had shut down in order; 1 session was there.",
	);
	expect(startWords({ crashed: true, sessions: 0 })).toBe(
		"The process before it did not shut down in order; 0 sessions were there.",
	);
});
