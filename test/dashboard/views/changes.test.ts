import { describe, expect, test } from "vitest";
import { hunksOf, numberedLines, unifiedDiff } from "../../../src/dashboard/parts/patch.ts";
import { type Item, NEW_CALL } from "../../../src/dashboard/session/items.ts";
import {
	fileChanges,
	inProject,
	openAtFirst,
	partsWithin,
} from "../../../src/dashboard/views/changes/file-changes.ts";
import { fc } from "../../support/property.ts";

const CONTEXT = 2;

/** A unified diff between two versions that differ in one run of lines, as pi's edit tool reports it. */
function patchOf(before: readonly string[], after: readonly string[]): string {
	const most = Math.min(before.length, after.length);
	let start = 0;
	while (start < most && before[start] === after[start]) start++;
	let end = 0;
	while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end++;
	const from = Math.max(0, start - CONTEXT);
	const to = Math.min(end, CONTEXT);
	const old = before.slice(start, before.length - end);
	const own = after.slice(start, after.length - end);
	const lead = before.slice(from, start);
	const tail = before.slice(before.length - end, before.length - end + to);
	const size = (lines: readonly string[]) => lead.length + lines.length + tail.length;
	const range = (lines: readonly string[]) =>
		`${size(lines) === 0 ? from : from + 1},${size(lines)}`;
	const body = [
		...lead.map((line) => ` ${line}`),
		...old.map((line) => `-${line}`),
		...own.map((line) => `+${line}`),
		...tail.map((line) => ` ${line}`),
	];
	return ["--- a", "+++ b", `@@ -${range(old)} +${range(own)} @@`, ...body, ""].join("\n");
}

/** Applies a unified diff strictly: what it does not fit throws. */
function applied(before: readonly string[], patch: string): string[] {
	const result = [...before];
	for (const { newStart, lines } of hunksOf(patch) ?? []) {
		let at = newStart - 1;
		for (const { kind, text } of lines) {
			if (kind === "added") result.splice(at++, 0, text);
			else if (result[at] !== text) throw new Error(`line ${at + 1} is not "${text}"`);
			else if (kind === "same") at++;
			else result.splice(at, 1);
		}
	}
	return result;
}

const edit = (path: string, patch: string) => call("edit", { path, edits: [] }, patch);

function call(name: string, args: object, patch?: string, state: "done" | "failed" = "done"): Item {
	const own = { ...NEW_CALL, name, args, state, ...(patch !== undefined && { patch }) };
	return { kind: "assistant", key: "", isStreaming: false, blocks: [{ kind: "call", call: own }] };
}

const line = fc.constantFrom("a", "b", "c", "d", "");
const versions = fc.array(fc.array(line, { minLength: 1, maxLength: 12 }), {
	minLength: 2,
	maxLength: 6,
});

describe("the diff of a session", () => {
	test("leads from the first version of a file to the last, whatever the edits in between", () => {
		fc.assert(
			fc.property(versions, (all) => {
				const items = all
					.slice(1)
					.map((after, at) => [all[at] as string[], after] as const)
					.filter(([before, after]) => before.join("\n") !== after.join("\n"))
					.map(([before, after]) => edit("f.ts", patchOf(before, after)));
				const [file] = fileChanges(items, "/p");
				if (!file) return;
				expect(file.parts).toHaveLength(1);
				const lines = file.parts[0]?.lines ?? [];
				const patch = unifiedDiff(file.path, lines);
				expect(applied(all[0] ?? [], patch)).toEqual(all.at(-1));
			}),
		);
	});

	test("what is changed back is no change", () => {
		const items = [
			edit("f.ts", patchOf(["a", "b", "c"], ["a", "x", "c"])),
			edit("./f.ts", patchOf(["a", "x", "c"], ["a", "b", "c"])),
		];
		expect(fileChanges(items, "/p")).toMatchObject([
			{ path: "f.ts", added: 0, removed: 0, calls: 2, parts: [{ lines: [] }] },
		]);
	});

	test("an edit that contradicts the ones before it begins a new diff", () => {
		const items = [
			edit("f.ts", patchOf(["a", "b", "c"], ["a", "x", "c"])),
			edit("/p/f.ts", patchOf(["a", "other", "c"], ["a", "y", "c"])),
		];
		const [file] = fileChanges(items, "/p");
		expect(file?.parts).toHaveLength(2);
		expect(file).toMatchObject({ added: 2, removed: 2 });
	});

	test("a written file is all new, and later edits are part of it", () => {
		const items = [
			call("write", { path: "new.ts", content: "a\nb\n" }),
			edit("new.ts", patchOf(["a", "b"], ["a", "c"])),
		];
		const [file] = fileChanges(items, "/p");
		expect(file).toMatchObject({ added: 2, removed: 0 });
		expect(file?.parts.map(({ kind, lines }) => [kind, ...lines.map(({ text }) => text)])).toEqual([
			["written", "a", "c"],
		]);
	});

	test("failed calls and other tools change nothing", () => {
		const patch = patchOf(["a"], ["b"]);
		const items = [
			call("edit", { path: "f.ts" }, patch, "failed"),
			call("read", { path: "f.ts" }),
			call("edit", { path: "f.ts" }, "no diff"),
		];
		expect(fileChanges(items, "/p")).toEqual([]);
	});

	test("paths are relative to the session's folder", () => {
		expect(inProject("/p/src/a.ts", "/p")).toBe("src/a.ts");
		expect(inProject("/px/a.ts", "/p")).toBe("/px/a.ts");
		expect(inProject("./a.ts", "")).toBe("a.ts");
	});
});

test("a damaged diff has no hunks, and others keep their numbers", () => {
	expect(hunksOf("@@ -1,2 +1,2 @@\n a")).toBeUndefined();
	expect(hunksOf("hello")).toBeUndefined();
	const lines = numberedLines(hunksOf("@@ -4,2 +4,3 @@\n a\n-b\n+c\n+d\n\\ No newline") ?? []);
	expect(lines.map(({ oldNumber, newNumber }) => [oldNumber, newNumber])).toEqual([
		[4, 4],
		[5, undefined],
		[undefined, 5],
		[undefined, 6],
	]);
});

describe("what is drawn at first", () => {
	const part = (lines: number) => ({
		kind: "edited" as const,
		lines: Array(lines).fill({ kind: "added", text: "", newNumber: 1 }),
	});
	const file = (path: string, ...lines: number[]) => ({
		...{ path, added: 0, removed: 0, calls: 1 },
		parts: lines.map(part),
	});

	test("files are unfolded while their lines fit, and the first in any case", () => {
		const small = Array.from({ length: 40 }, (_, at) => file(`small-${at}`, 5, 5));
		expect([...openAtFirst(small)]).toEqual(small.slice(0, 30).map(({ path }) => path));
		expect([...openAtFirst([file("large", 1_000), file("next", 1)])]).toEqual(["large"]);
		expect([...openAtFirst([])]).toEqual([]);
	});

	test("parts of a file are drawn while their lines fit, and the first in any case", () => {
		const { parts } = file("many", ...Array<number>(100).fill(10));
		expect(partsWithin(parts, 200)).toEqual(parts.slice(0, 20));
		expect(partsWithin(parts, 5_000)).toBe(parts);
		expect(partsWithin([part(1_000), part(1)], 200)).toHaveLength(1);
	});
});
