import { expect, test } from "vitest";
import { startupSummary } from "../../../src/dashboard/views/server/server-view.tsx";

test("a first start tells of no process before it", () => {
	expect(startupSummary({ crashed: false, sessions: 0 })).toBe("No sessions were found.");
});

test("a later start tells how the process before it ended, and what it left", () => {
	expect(startupSummary({ crashed: false, sessions: 1 })).toBe(
		"The previous process shut down cleanly; 1 session was found.",
	);
	expect(startupSummary({ crashed: true, sessions: 0 })).toBe(
		"The previous process did not shut down cleanly; 0 sessions were found.",
	);
});
