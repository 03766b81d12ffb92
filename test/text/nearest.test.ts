import { expect, test } from "vitest";
import { nearest } from "../../src/text/nearest.ts";

test("a word with one slip finds the candidate it was meant to be", () => {
	expect(nearest("prun", ["kota", "prune", "blobs"])).toBe("prune");
	expect(nearest("prunee", ["kota", "prune", "blobs"])).toBe("prune");
	expect(nearest("brune", ["kota", "prune", "blobs"])).toBe("prune");
});

test("two edits are still a slip, three are not", () => {
	expect(nearest("keepRecenTurn", ["keepRecentTurns"])).toBe("keepRecentTurns");
	expect(nearest("keepReceTurn", ["keepRecentTurns"])).toBeUndefined();
});

test("two swapped letters are a slip", () => {
	expect(nearest("idnex", ["search", "index"])).toBe("index");
});

test("the closest candidate wins, and the earlier one on a tie", () => {
	expect(nearest("maxBytes", ["maxBites", "maxByte"])).toBe("maxBites");
	expect(nearest("serve", ["server", "serve"])).toBe("serve");
});

test("a word that would be replaced entirely gets no guess", () => {
	expect(nearest("ab", ["cd"])).toBeUndefined();
	expect(nearest("", ["on"])).toBeUndefined();
	expect(nearest("x", ["y", "xy"])).toBeUndefined();
});

test("no candidates, no guess", () => {
	expect(nearest("prune", [])).toBeUndefined();
});

test("a megabyte-long word costs nothing", () => {
	const word = "x".repeat(1024 * 1024);
	// Compared letter by letter, the last one would take hours.
	expect(nearest(word, ["prune", "kota", word.slice(3)])).toBeUndefined();
});

test("a caller may count two swapped neighbours as one edit, and allow more or fewer", () => {
	expect(nearest("idnex", ["index"], { maxEdits: 1 })).toBeUndefined();
	expect(nearest("idnex", ["index"], { maxEdits: 1, swaps: true })).toBe("index");
	expect(nearest("get_sate", ["get_state"], { maxEdits: 0 })).toBeUndefined();
});
