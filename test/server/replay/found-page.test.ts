import { describe, expect, test } from "vitest";
import type { FoundSession } from "../../../src/importers/index.ts";
import { inOrder, pageOf } from "../../../src/server/replay/found-page.ts";

describe("a page of session files", () => {
	test("has the newest first, and names files by an id without a path", () => {
		const { files, next } = pageOf(inOrder([file("a", 1), file("b", 3), file("c", 2)]), ALL);
		expect(files.map(({ file }) => file)).toEqual(["/home/me/b", "/home/me/c", "/home/me/a"]);
		for (const { fileId } of files) expect(fileId).toMatch(/^[0-9a-f]{64}$/);
		expect(next).toBeUndefined();
	});

	test("continues after the one before, also among files of the same time", () => {
		const files = inOrder(Array.from({ length: 25 }, (_, at) => file(`f${at}`, at >> 3)));
		const seen: string[] = [];
		let after: string | undefined;
		let pages = 0;
		do {
			const page = pageOf(files, { filter: "", limit: 4, ...(after !== undefined && { after }) });
			expect(page.files.length).toBeLessThanOrEqual(4);
			seen.push(...page.files.map(({ file }) => file));
			after = page.next;
			pages++;
		} while (after !== undefined);
		expect(seen).toEqual(files.map(({ file }) => file));
		expect(pages).toBe(7);
	});

	test("is not moved by files that were used meanwhile", () => {
		const before = [file("a", 4), file("b", 3), file("c", 2), file("d", 1)];
		const { next } = pageOf(inOrder(before), { filter: "", limit: 2 });
		const later = inOrder([...before, file("new", 9), { ...file("b", 3), lastUseMs: 8 }]);
		const { files } = pageOf(later, { filter: "", limit: 9, after: String(next) });
		expect(files.map(({ file }) => file)).toEqual(["/home/me/c", "/home/me/d"]);
	});

	test("is empty after a position that no page had", () => {
		const files = inOrder([file("a", 1)]);
		for (const after of ["", ":", "x", "../..", "-1:", "NaN:a"]) {
			expect(pageOf(files, { ...ALL, after }).files.length).toBeLessThanOrEqual(1);
		}
	});

	test("has only files whose agent, project or name has all words of the filter", () => {
		const files = inOrder([
			{ ...file("rollout-1.jsonl", 3), agent: "codex", project: "/w/Shop" },
			{ ...file("rollout-2.jsonl", 2), agent: "codex", project: "/w/other" },
			file("opencode.db", 1),
		]);
		const named = (filter: string) => pageOf(files, { ...ALL, filter }).files.length;
		expect(["codex", "CODEX shop", "rollout-2", "shop other", "home", " "].map(named)).toEqual([
			2, 1, 1, 0, 0, 3,
		]);
	});
});

const ALL = { filter: "", limit: 100 };

function file(name: string, lastUseMs: number): FoundSession {
	return { agent: "pi", file: `/home/me/${name}`, lastUseMs, bytes: 1 };
}
