import { describe, expect, test } from "vitest";
import { type FileTouch, followTouches } from "../../src/pruning/survey.ts";

const shown = (item: string, lines?: [number, number], file = "a"): FileTouch<string> => ({
	item,
	file,
	kind: "shown",
	...(lines && { lines: { start: lines[0], end: lines[1] } }),
});
const refers = (item: string, file = "a"): FileTouch<string> => ({ item, file, kind: "refers" });
const changed = (item: string, file = "a"): FileTouch<string> => ({ item, file, kind: "changed" });

function superseded(...touches: FileTouch<string>[]): string[] {
	const { isSuperseded } = followTouches(touches);
	return touches.map(({ item }) => item).filter(isSuperseded);
}

describe("what was shown is superseded", () => {
	test("by a later view of the whole file, or of at least the same lines", () => {
		expect(superseded(shown("1"), shown("2"))).toEqual(["1"]);
		expect(superseded(shown("1", [5, 9]), shown("2"))).toEqual(["1"]);
		expect(superseded(shown("1", [5, 9]), shown("2", [1, 9]))).toEqual(["1"]);
		expect(superseded(shown("1", [5, 9]), shown("2", [6, 20]))).toEqual([]);
		expect(superseded(shown("1"), shown("2", [1, 9]))).toEqual([]);
	});

	test("by a change of the file", () => {
		expect(superseded(shown("1"), shown("2", [1, 2]), changed("3"), shown("4"))).toEqual([
			"1",
			"2",
		]);
	});

	test("not by what happens to another file, nor by a marker or diff that refers to it", () => {
		expect(superseded(shown("1"), shown("2", undefined, "b"), changed("3", "b"))).toEqual(["2"]);
		expect(superseded(shown("1"), refers("2"))).toEqual([]);
	});
});

describe("a marker or diff refers to", () => {
	test("all that still stands of the file", () => {
		const { basesOf } = followTouches([
			shown("old"),
			shown("whole"),
			shown("part", [1, 5]),
			refers("diff"),
			shown("other", undefined, "b"),
			refers("marker"),
		]);
		expect(basesOf("diff")).toEqual(["whole", "part"]);
		expect(basesOf("marker")).toEqual(["whole", "part", "diff"]);
		expect(basesOf("part")).toEqual([]);
	});

	test("what was shown before a change: a diff says what became of that", () => {
		const { basesOf, isSuperseded } = followTouches([
			shown("base"),
			changed("edit"),
			refers("diff"),
			changed("another edit"),
			refers("diff upon it"),
			refers("marker"),
		]);
		expect(isSuperseded("base")).toBe(true);
		expect(basesOf("diff")).toEqual(["base"]);
		expect(basesOf("diff upon it")).toEqual(["base", "diff"]);
		expect(basesOf("marker")).toEqual(["base", "diff", "diff upon it"]);
	});

	test("nothing from before the whole file was shown again", () => {
		const { basesOf } = followTouches([
			shown("base"),
			refers("diff"),
			changed("edit"),
			shown("anew"),
			refers("marker"),
		]);
		expect(basesOf("marker")).toEqual(["anew"]);
	});

	test("what a diff before it was made of, even if some of those lines were shown again", () => {
		const { basesOf, isSuperseded } = followTouches([
			shown("start", [1, 10]),
			shown("rest", [11, 20]),
			changed("edit"),
			refers("diff"),
			shown("start again", [1, 10]),
			refers("marker"),
		]);
		expect(isSuperseded("start")).toBe(true);
		expect(basesOf("marker")).toEqual(["start", "rest", "diff", "start again"]);
	});
});

test("thousands of views of one file, and markers for them, are followed in no time", {
	tags: "slow",
}, () => {
	const touches = Array.from({ length: 10_000 }, (_, at) =>
		at % 2 === 0 ? shown(`${at}`, [at, at + 5]) : refers(`${at}`),
	);
	const { basesOf, isSuperseded } = followTouches([...touches, shown("whole")]);
	expect(basesOf("9999")).toHaveLength(9999);
	expect(touches.filter(({ item }) => isSuperseded(item))).toHaveLength(5000);
});
