import { describe, expect, test } from "vitest";
import { type Asked, type Deed, judge, type Slot } from "./law/oracle.ts";
import { addUp, runLaw, sharesOf } from "./law.ts";

describe("the law of the read cache", () => {
	test("over random sessions, every line a marker or diff stands for is present, current and newest", {
		tags: "slow",
	}, async () => {
		const reports = [];
		for (const seed of [1, 2, 3, 4]) reports.push(await runLaw({ seed, steps: 1000 }));
		// Without markers and diffs there would be nothing to break the law with.
		const report = addUp(reports);
		const { unchanged, range, diff } = sharesOf(report);
		expect(report.pruned).toBeGreaterThan(100);
		expect(report.paged).toBeGreaterThan(100);
		expect(report.guarded).toBeGreaterThan(50);
		expect(report.bound).toBeGreaterThan(30);
		expect(report.shortened).toBeGreaterThan(100);
		expect(report.backed).toBeGreaterThan(20);
		expect(report.references).toBeGreaterThan(100);
		expect(report.restored).toBeGreaterThan(5);
		expect(report.noted).toBeGreaterThan(20);
		expect(unchanged).toBeGreaterThan(0.03);
		expect(range).toBeGreaterThan(0.03);
		expect(diff).toBeGreaterThan(0.03);
	});
});

describe("the oracle itself", () => {
	const FILE = "/a.txt";
	const OLD = "one\ntwo\nthree";
	const NEW = "one\n2\nthree";
	const DIFF = "--- a/a.txt\n+++ b/a.txt\n@@ -2,1 +2,1 @@\n-two\n+2\n";

	test("accepts a marker for a text that stands in the request as it is on the disk", () => {
		expect(verdictOn("[readcache: unchanged, 3 lines]", OLD, [shown(OLD)])).toBe("unchanged");
	});

	test("accepts a diff whose base is in the request", () => {
		const answer = `[readcache: 1 lines changed of 3]\n${DIFF}`;
		expect(verdictOn(answer, NEW, [shown(OLD)])).toBe("diff");
	});

	test.each<[string, string, Event[]]>([
		["was never shown", OLD, []],
		["is not there any more", OLD, [{ ...shown(OLD), sent: undefined }]],
		["was altered on its way", OLD, [{ ...shown(OLD), sent: "one\ntwo\nthree!" }]],
		["has changed on the disk", NEW, [shown(OLD)]],
		["was shown otherwise since", OLD, [shown(OLD), shown(NEW)]],
		[
			"was shown otherwise since, in a place nobody can read",
			OLD,
			[shown(OLD), { ...shown(NEW), sent: undefined }],
		],
		["was followed by an error", OLD, [shown(OLD), { deed: { kind: "opaque", file: FILE } }]],
		[
			"was cut off since",
			OLD,
			[
				shown(OLD),
				{
					deed: {
						kind: "literal",
						file: FILE,
						at: 2,
						text: "one\n\n…",
						start: 1,
						lines: ["one"],
						total: 2,
					},
					sent: "one\n\n…",
				},
			],
		],
		["is to be read afresh", OLD, [shown(OLD), { deed: { kind: "refresh", file: FILE } }]],
	])("condemns a marker for a text that %s", (_, current, events) => {
		expect(() => verdictOn("[readcache: unchanged, 3 lines]", current, events)).toThrow();
	});

	test("condemns a marker for lines that the model has changed itself, when that was undone", () => {
		const edit: Event = {
			deed: {
				kind: "edit",
				file: FILE,
				isLinked: false,
				at: 2,
				callEntryId: "0",
				before: OLD,
				change: [{ oldText: "two", newText: "2" }],
			},
			sent: "done",
		};
		const marker = "[readcache: unchanged, 3 lines]";
		expect(() => verdictOn(marker, OLD, [shown(OLD), edit])).toThrow("the model has made line 2");
	});

	test.each([
		["leads elsewhere", DIFF.replace("\n+2", "\n+3"), "does not lead to the file"],
		["does not fit its base", DIFF.replace("-two", "-too"), "line 2 of the base is another"],
	])("condemns a diff that %s", (_, diff, reason) => {
		const answer = `[readcache: 1 lines changed of 3]\n${diff}`;
		expect(() => verdictOn(answer, NEW, [shown(OLD)])).toThrow(reason);
	});

	test("condemns a text that is not what pi says", () => {
		expect(() => verdictOn("one\ntwo", OLD, [])).toThrow("neither pi's text nor a marker");
	});

	/** Something that happened, and the text that stands for it in the request, if one does. */
	type Event = { deed: Deed; sent?: string | undefined };

	function shown(text: string): Event {
		const lines = text.split("\n");
		const deed: Deed = {
			kind: "literal",
			file: FILE,
			at: 1,
			text,
			start: 1,
			lines,
			total: lines.length,
		};
		return { deed, sent: text };
	}

	/** What the oracle says to `answer`, given for a file that now holds `current`. */
	function verdictOn(answer: string, current: string, events: Event[]): string {
		const request = events.map(
			({ sent }, index): Slot => ({
				entryId: String(index),
				...(sent !== undefined && { message: { role: "toolResult", content: sent } }),
			}),
		);
		const deeds = new Map(events.map(({ deed }, index) => [String(index), deed]));
		const asked: Asked = {
			file: FILE,
			isLinked: false,
			bytes: Buffer.from(current),
			at: 9,
			offset: undefined,
			limit: undefined,
			expected: { content: [{ type: "text", text: current }] },
			got: { content: [{ type: "text", text: answer }] },
		};
		return judge(asked, request, deeds).kind;
	}
});
