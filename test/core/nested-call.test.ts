import { expect, test } from "vitest";
import { isNestedCall } from "../../src/core/nested-call.ts";

test.each([
	["call_1/0", true],
	["toolu_01/2/13", true],
	["call_1", false],
	["call/one", false],
	["call_1/2|fc_3", false],
])("%s is nested: %s", (id, isNested) => {
	expect(isNestedCall(id)).toBe(isNested);
});
