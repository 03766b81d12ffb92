import { describe, expect, test } from "vitest";
import { hashBytes } from "../../src/core/hash.ts";
import { isInView } from "../../src/readcache/audit.ts";
import { unifiedDiff } from "../../src/readcache/diff/unified.ts";
import type { FileView } from "../../src/readcache/file-event-log.ts";
import type { Metadata } from "../../src/readcache/metadata.ts";
import { fc } from "../support/property.ts";
import { cachedSession, numbered } from "./cached-session.ts";
import { arbitraryEdit } from "./diff/arbitrary-text.ts";

function view(text: string | undefined, more: Partial<Metadata> = {}): FileView {
	const meta: Metadata = {
		v: 1,
		pathKey: "/a",
		scopeKey: "full",
		servedHash: hashBytes(text ?? ""),
		mode: "full",
		totalLines: 1000,
		rangeStart: 1,
		rangeEnd: text?.split("\n").length ?? 1,
		bytes: 0,
		...more,
	};
	return { meta, text };
}

async function diffView(base: string, current: string): Promise<FileView> {
	const diff = await unifiedDiff({ path: "a", base, current, maxBytes: 1e6 });
	if (diff.kind !== "diff") throw new Error("the texts are the same");
	return view(`[readcache: header]\n${diff.text}`, { mode: "diff", baseHash: hashBytes(base) });
}

const inView = (views: FileView[], file: string, start: number, end: number) =>
	isInView(views, file, { start, end });

describe("lines are in view", () => {
	test("that a view shows as they are, and no others", () => {
		const views = [view("b\nc", { rangeStart: 2, rangeEnd: 3 })];
		expect(inView(views, "a\nb\nc\nd", 2, 3)).toBe(true);
		expect(inView(views, "a\nb\nc\nd", 3, 3)).toBe(true);
		expect(inView(views, "a\nb\nc\nd", 1, 3)).toBe(false);
		expect(inView(views, "a\nb\nc\nd", 3, 4)).toBe(false);
		expect(inView(views, "a\nB\nc\nd", 2, 3)).toBe(false);
	});

	test("that the newest view shows as they are", () => {
		const older = view("a\nb");
		const newer = view("B", { rangeStart: 2, rangeEnd: 2 });
		expect(inView([older, newer], "a\nB", 1, 2)).toBe(true);
		expect(inView([older, newer], "a\nb", 1, 2)).toBe(false);
	});

	test("that stand above pi's note, which is none of them", () => {
		const cut = view("a\nb\n\n[2 more lines in file. Use offset=3 to continue.]", {
			rangeEnd: 4,
			shown: [1, 2],
		});
		expect(inView([cut], "a\nb\nc\nd", 1, 2)).toBe(true);
		expect(inView([cut], "a\nb\n\nd", 3, 3)).toBe(false);
	});

	test("that a diff makes of the lines in view", async () => {
		const [one, two, three] = ["a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\nd"];
		const views = [view(one), await diffView(one, two), await diffView(two, three)];
		expect(inView(views, three, 1, 4)).toBe(true);
		expect(inView(views, one, 1, 4)).toBe(false);
	});

	test("that any edit, shown as a diff, makes of any text", async () => {
		await fc.assert(
			fc.asyncProperty(arbitraryEdit(), async ([base, current]) => {
				fc.pre(base !== current);
				const views = [view(base), await diffView(base, current)];
				expect(inView(views, current, 1, current.split("\n").length)).toBe(true);
			}),
		);
	});
});

describe("a diff without the text it is made from", () => {
	test("leaves nothing in view", async () => {
		const dangling = await diffView("a\nb\nc", "a\nB\nc");
		expect(inView([dangling], "a\nB\nc", 1, 3)).toBe(false);
		expect(inView([view("x\ny\nz"), dangling], "x\ny\nz", 1, 3)).toBe(false);
		expect(inView([view("b", { rangeStart: 2, rangeEnd: 2 }), dangling], "a\nb", 2, 2)).toBe(false);
	});

	test("takes nothing from what is shown after it", async () => {
		const dangling = await diffView("a\nb\nc", "a\nB\nc");
		expect(inView([dangling, view("a\nb")], "a\nb", 1, 2)).toBe(true);
	});

	test("does not disturb a read in shadow mode", async () => {
		const on = cachedSession();
		on.write("a.txt", numbered(50));
		const first = await on.read("a.txt");
		on.write("a.txt", numbered(50).replace("line 7\n", "seven\n"));
		expect((await on.read("a.txt")).meta?.mode).toBe("diff");
		on.session.appendContextEdit(first.entryId, null);

		const shadow = cachedSession({ mode: "shadow" }, on);
		const lines = { offset: 20, limit: 5 };
		for (let round = 0; round < 2; round++) {
			expect((await shadow.read("a.txt", lines)).text).toMatch(/^line 20\nline 21\n/);
		}
		expect(shadow.cache.tally.shadow.served).toEqual(new Map([["unchanged_range", 1]]));
		expect(shadow.cache.tally.shadow.unsound).toBe(0);
	});
});

test("a view without text shows nothing", () => {
	expect(inView([view(undefined)], "a", 1, 1)).toBe(false);
});
