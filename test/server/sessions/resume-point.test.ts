import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import { resumePoint } from "../../../src/server/sessions/open-session-file.ts";

/** "b<a" is an entry b whose parent is a. */
function tree(...links: string[]): SessionEntry[] {
	return links.map((link) => {
		const [id, parentId = null] = link.split("<");
		return { type: "custom", id, parentId, timestamp: "", customType: "x" } as SessionEntry;
	});
}

describe("the place of a session in its file", () => {
	test("is behind the last entry if the server wrote it", () => {
		expect(resumePoint(tree("a", "b<a"), { lastEntry: "b" }, false)).toEqual({});
		expect(resumePoint([], {}, false)).toEqual({});
	});

	test("is where the session was moved to", () => {
		const leaf = { id: "a", afterEntry: "b" };
		expect(resumePoint(tree("a", "b<a"), { leaf, lastEntry: "b" }, false)).toEqual({ leaf: "a" });
		expect(resumePoint(tree("a", "b<a"), { leaf }, false)).toEqual({ leaf: "a" });
		const start = { id: null, afterEntry: "b" };
		expect(resumePoint(tree("a", "b<a"), { leaf: start }, false)).toEqual({ leaf: null });
		const stale = { id: "a", afterEntry: "a" };
		expect(resumePoint(tree("a", "b<a"), { leaf: stale, lastEntry: "b" }, false)).toEqual({});
	});

	test("is behind what continues its own branch, which is reported unless a crash explains it", () => {
		const grown = tree("a", "b<a", "c<b");
		expect(resumePoint(grown, { lastEntry: "b" }, true)).toEqual({});
		const { leaf, warning } = resumePoint(grown, { lastEntry: "b" }, false);
		expect(leaf).toBeUndefined();
		expect(warning).toMatch(/added 1 entry to .*\. The session continues/);
	});

	test.each([true, false])("stays in its own branch when another one was added", (afterCrash) => {
		const grown = tree("a", "b<a", "c<a", "d<c");
		expect(resumePoint(grown, { lastEntry: "b" }, afterCrash)).toMatchObject({
			leaf: "b",
			warning: expect.stringContaining(
				"added 2 entries to the session's file since this server had it open, in another branch",
			),
		});
		const moved = { leaf: { id: "a", afterEntry: "b" }, lastEntry: "b" };
		expect(resumePoint(tree("a", "b<a", "c<b"), moved, true)).toMatchObject({ leaf: "a" });
		expect(resumePoint(tree("a", "b<a", "c<a", "d<c"), moved, true)).toEqual({});
		expect(resumePoint(tree("a", "b<a", "c"), moved, true)).toMatchObject({ leaf: "a" });
		const atStart = { leaf: { id: null, afterEntry: "b" }, lastEntry: "b" };
		expect(resumePoint(tree("a", "b<a", "c", "d<c"), atStart, true)).toEqual({});
		expect(resumePoint(tree("a", "b<a", "c<b"), atStart, true)).toMatchObject({ leaf: null });
	});

	test("is behind what the file is known to have had if it lacks the last entry, not in another's branch", () => {
		const settings = { lastEntry: "x", lastInFile: "b" };
		const lacks = expect.stringContaining("lacks the last entry");
		expect(resumePoint(tree("a", "b<a"), settings, true)).toEqual({ warning: lacks });
		const both = expect.stringMatching(/lacks the last entry.*in another branch/);
		const foreign = tree("a", "b<a", "c<a");
		expect(resumePoint(foreign, settings, true)).toEqual({ leaf: "b", warning: both });
		const leaf = { id: "a", afterEntry: "b" };
		expect(resumePoint(tree("a", "b<a"), { ...settings, leaf }, true)).toEqual({
			leaf: "a",
			warning: lacks,
		});
	});

	test("cannot be kept in a file that lost it, which is reported", () => {
		const { leaf, warning } = resumePoint(tree("a"), { lastEntry: "b" }, true);
		expect(leaf).toBeUndefined();
		expect(warning).toContain("lacks the last entry");
	});
});
