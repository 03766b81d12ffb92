import { expect, test } from "vitest";
import { labelOf } from "../../../src/dashboard/views/context/piece-bar.ts";

test("a label that the server cut says so", () => {
	expect(labelOf({ label: "x".repeat(119) })).toBe("x".repeat(119));
	expect(labelOf({ label: "x".repeat(120) })).toBe(`${"x".repeat(120)}…`);
	expect(labelOf({ label: `${"x".repeat(118)}😀` })).toBe(`${"x".repeat(118)}😀…`);
});

test("half a character at the cut is left out", () => {
	expect(labelOf({ label: `${"x".repeat(119)}😀`.slice(0, 120) })).toBe(`${"x".repeat(119)}…`);
});
