import { beforeEach, expect, test } from "vitest";
import { forgetAnswers, keepAnswer, keptAnswer } from "../../src/dashboard/kept-answers.ts";

beforeEach(forgetAnswers);

test("the last answers of views are kept, others never", () => {
	keepAnswer("get_cost", "one", 1);
	keepAnswer("get_cost", "one", 2);
	keepAnswer("list_sessions", "sessions", []);
	expect(keptAnswer("one")).toBe(2);
	expect(keptAnswer("sessions")).toBeUndefined();
});

test("few are kept, those asked for last", () => {
	for (let at = 0; at < 100; at++) {
		keepAnswer("get_cost", `session ${at}`, at);
		keepAnswer("get_cost", "session 0", 0);
	}
	expect(keptAnswer("session 0")).toBe(0);
	expect(keptAnswer("session 99")).toBe(99);
	const count = Array.from({ length: 100 }, (_, at) => keptAnswer(`session ${at}`));
	expect(count.filter((data) => data !== undefined)).toHaveLength(16);
});

test("none is left after something could not be drawn", () => {
	keepAnswer("get_cost", "one", {});
	forgetAnswers();
	expect(keptAnswer("one")).toBeUndefined();
});
