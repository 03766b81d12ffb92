import { expect, test } from "vitest";
import { coloursFor, wantsColours } from "../../src/core/colours.ts";

test.each([
	[{}, true, true],
	[{}, false, false],
	[{ NO_COLOR: "1" }, true, false],
	[{ NO_COLOR: "1", FORCE_COLOR: "1" }, true, false],
	[{ NO_COLOR: "" }, true, true],
	[{ FORCE_COLOR: "1" }, false, true],
	[{ FORCE_COLOR: "0" }, true, false],
	[{ FORCE_COLOR: "" }, false, false],
	[{ TERM: "dumb" }, true, false],
])("with %j, a terminal: %s, colours are wanted: %s", (env, isTerminal, wanted) => {
	expect(wantsColours(env, isTerminal)).toBe(wanted);
});

test("without colours a text stays as it is", () => {
	expect(coloursFor(false).bad("no")).toBe("no");
	expect(coloursFor(true).bad("no")).toBe("\u001b[31mno\u001b[39m");
});
