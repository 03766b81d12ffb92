import { describe, expect, test } from "vitest";
import { type Hash, hashBytes } from "../../src/core/hash.ts";
import {
	covers,
	type FileEvent,
	knowledgeOf,
	type Segment,
	wholeVersion,
	within,
} from "../../src/readcache/knowledge.ts";
import type { Metadata } from "../../src/readcache/metadata.ts";
import { fc, runs } from "../support/property.ts";

const [v1, v2, v3] = ["1", "2", "3"].map((version) => hashBytes(version)) as [Hash, Hash, Hash];

/** Lines of a version that were shown. */
function view(version: Hash, [start, end]: [number, number], totalLines = 10): FileEvent {
	return viewOf({ ...META, servedHash: version, totalLines, rangeStart: start, rangeEnd: end });
}

function diff(from: Hash, to: Hash, totalLines = 10): FileEvent {
	const range = { totalLines, rangeStart: 1, rangeEnd: totalLines };
	return viewOf({ ...META, ...range, mode: "diff", baseHash: from, servedHash: to });
}

function viewOf(meta: Metadata): FileEvent & { kind: "view" } {
	return { kind: "view", meta, seen: { visible: true } };
}

const META: Metadata = {
	v: 1,
	pathKey: "/a",
	scopeKey: "full",
	servedHash: v1,
	mode: "full",
	totalLines: 10,
	rangeStart: 1,
	rangeEnd: 10,
	bytes: 1,
};

const unseen = (event: FileEvent, why = "not-sent"): FileEvent => ({
	...(event as FileEvent & { kind: "view" }),
	seen: { visible: false, why },
});
const edit = (after?: Hash, before?: Hash): FileEvent => ({ kind: "edit", before, after });
const refresh = (start: number, end: number): FileEvent => ({
	kind: "refresh",
	scope: { start, end },
});

const NAMES = new Map<string | undefined, string>([
	[v1, "v1"],
	[v2, "v2"],
	[v3, "v3"],
]);

function knownSegments(...events: FileEvent[]): Segment[] {
	return knowledgeOf(events).segments.filter((segment) => !segment.refreshed);
}

/** The segments in short: `[start, end, version, chain]`. */
function known(...events: FileEvent[]) {
	return knownSegments(...events).map(({ start, end, version, chain }) => [
		start,
		end,
		NAMES.get(version),
		chain,
	]);
}

/** What the model's own edits left behind, in short: `[start, end, edited]`. */
function edited(...events: FileEvent[]) {
	return knownSegments(...events).map((segment) => [
		segment.start,
		segment.end,
		NAMES.get(segment.edited) ?? segment.edited,
	]);
}

describe("views", () => {
	test("of the whole file are one segment, of ranges one each", () => {
		expect(known(view(v1, [1, 10]))).toEqual([[1, 10, "v1", 0]]);
		expect(known(view(v1, [7, 9]), view(v1, [1, 2]))).toEqual([
			[1, 2, "v1", 0],
			[7, 9, "v1", 0],
		]);
	});

	test("that pi cut short count for the lines that were shown", () => {
		const shown: [number, number] = [1, 4];
		expect(known(viewOf({ ...META, shown }))).toEqual([[1, 4, "v1", 0]]);
	});

	test("that are newer win, line by line", () => {
		expect(known(view(v1, [1, 10]), view(v2, [4, 6]))).toEqual([
			[1, 3, "v1", 0],
			[4, 6, "v2", 0],
			[7, 10, "v1", 0],
		]);
	});

	test("of a shorter version end what was known behind its end", () => {
		expect(known(view(v1, [1, 10]), view(v2, [1, 2], 5))).toEqual([
			[1, 2, "v2", 0],
			[3, 5, "v1", 0],
		]);
	});

	test("that the model no longer has end everything older, and say why", () => {
		const events = [view(v1, [1, 10]), unseen(view(v2, [4, 6]), "edited"), view(v1, [9, 9])];
		expect(known(...events)).toEqual([[9, 9, "v1", 0]]);
		expect(knowledgeOf(events).lost).toBe("edited");
	});

	test("of a request that somebody has reordered are worth nothing, all of them", () => {
		const views = [view(v1, [1, 10]), view(v2, [1, 5])].map((event) => unseen(event, "reordered"));
		expect(knowledgeOf(views)).toEqual({ segments: [], lost: "reordered" });
	});
});

describe("a diff", () => {
	test("turns the version it is made from, known as a whole, into the next", () => {
		expect(known(view(v1, [1, 10]), diff(v1, v2, 12))).toEqual([[1, 12, "v2", 1]]);
		expect(known(view(v1, [1, 5]), view(v1, [6, 10]), diff(v1, v2))).toEqual([[1, 10, "v2", 1]]);
	});

	test("counts the diffs before it, and a view in full ends the count", () => {
		expect(known(view(v1, [1, 10]), diff(v1, v2), diff(v2, v3))).toEqual([[1, 10, "v3", 2]]);
		expect(known(view(v1, [1, 10]), diff(v1, v2), view(v2, [1, 10]))).toEqual([[1, 10, "v2", 0]]);
	});

	test.each<[string, FileEvent[]]>([
		["of which nothing is known", []],
		["of which a line is missing", [view(v1, [1, 9])]],
		["of which a line was seen in a newer version since", [view(v1, [1, 10]), view(v2, [5, 5])]],
		["of which a line was to be read afresh", [view(v1, [1, 10]), refresh(5, 5)]],
		["other than the one in view", [view(v3, [1, 10])]],
		["whose text is gone", [unseen(view(v1, [1, 10]))]],
		["whose own diff is gone", [view(v3, [1, 10]), unseen(diff(v3, v1))]],
	])("from a version %s is worth nothing", (_name, before) => {
		expect(knowledgeOf([...before, diff(v1, v2)])).toMatchObject({
			segments: [],
			lost: "base-lost",
		});
	});
});

describe("a refresh", () => {
	test("of what a newer version showed does not make an older one the newest whole one again", () => {
		const older = view(v1, [1, 10], 10);
		const newer = view(v2, [11, 11], 11);
		const wholeOf = (...events: FileEvent[]) => wholeVersion(knowledgeOf(events).segments)?.version;
		expect(wholeOf(older)).toBe(v1);
		expect(wholeOf(older, newer, refresh(11, 11))).toBeUndefined();
		expect(wholeOf(older, newer, refresh(11, 11), view(v1, [1, 10], 10))).toBe(v1);
		expect(wholeOf(older, view(v2, [1, 5]), refresh(6, 10), view(v2, [6, 10]))).toBe(v2);
	});

	test("of lines takes these, until they are read again", () => {
		expect(known(view(v1, [1, 10]), refresh(4, 6))).toEqual([
			[1, 3, "v1", 0],
			[7, 10, "v1", 0],
		]);
		expect(
			covers(knowledgeOf([view(v1, [1, 10]), refresh(4, 6), view(v1, [4, 6])]).segments, {
				start: 1,
				end: 10,
			}),
		).toBe(true);
	});

	test("of the file takes all", () => {
		const events: FileEvent[] = [view(v1, [1, 10]), { kind: "refresh", scope: "full" }];
		expect(knowledgeOf(events)).toEqual({ segments: [], lost: "refreshed" });
	});
});

describe("the model's own edits", () => {
	test("mark all lines known so far with what the file became", () => {
		expect(edited(view(v1, [1, 10]), edit(v2))).toEqual([[1, 10, "v2"]]);
		expect(edited(view(v1, [7, 9]), view(v2, [1, 2]), edit(v3))).toEqual([
			[1, 2, "v3"],
			[7, 9, "v3"],
		]);
		expect(edited(view(v1, [1, 10]), diff(v1, v2), edit(v3))).toEqual([[1, 10, "v3"]]);
	});

	test("change nothing else about them", () => {
		const before = [view(v1, [1, 10]), diff(v1, v2), view(v3, [4, 6])];
		expect(known(...before, edit(v1))).toEqual(known(...before));
		expect(knowledgeOf([...before, edit(v1)])).not.toHaveProperty("lost");
	});

	test("mark no lines that were viewed after them", () => {
		expect(edited(view(v1, [1, 10]), edit(v2), view(v2, [4, 6]))).toEqual([
			[1, 3, "v2"],
			[4, 6, undefined],
			[7, 10, "v2"],
		]);
		expect(edited(edit(v2), view(v2, [1, 10]))).toEqual([[1, 10, undefined]]);
	});

	test("leave no mark once the whole file is seen again, in full or by a diff", () => {
		expect(edited(view(v1, [1, 10]), edit(v2), view(v2, [1, 10]))).toEqual([[1, 10, undefined]]);
		expect(edited(view(v1, [1, 10]), edit(v2), diff(v1, v2))).toEqual([[1, 10, undefined]]);
		expect(edited(view(v1, [1, 10]), edit(), view(v2, [1, 10]))).toEqual([[1, 10, undefined]]);
	});

	test("keep their mark on what pi did not show of the whole file", () => {
		const cut = viewOf({ ...META, servedHash: v2, shown: [1, 5] });
		expect(edited(view(v1, [1, 10]), edit(v2), cut)).toEqual([
			[1, 5, undefined],
			[6, 10, "v2"],
		]);
	});

	test("in a row leave the mark of the last, on lines viewed in between too", () => {
		expect(edited(view(v1, [1, 10]), edit(v2), edit(v3, v2))).toEqual([[1, 10, "v3"]]);
		expect(edited(view(v1, [1, 10]), edit(v2), view(v2, [4, 6]), edit(v3, v2))).toEqual([
			[1, 3, "v3"],
			[4, 6, "v3"],
			[7, 10, "v3"],
		]);
	});

	test("of which one was gone before the next leave all unknown until the lines are seen again", () => {
		expect(edited(view(v1, [1, 10]), edit(v2), edit(v3, v1))).toEqual([[1, 10, "unknown"]]);
		expect(edited(view(v1, [1, 10]), edit(v2), edit(v3))).toEqual([[1, 10, "unknown"]]);
		expect(edited(view(v1, [1, 10]), edit(v2), view(v1, [1, 5]), edit(v3, v1))).toEqual([
			[1, 5, "v3"],
			[6, 10, "unknown"],
		]);
	});

	test("of which nobody noted what the file became leave it unknown until the lines are seen again", () => {
		expect(edited(view(v1, [1, 10]), edit())).toEqual([[1, 10, "unknown"]]);
		expect(edited(view(v1, [1, 10]), edit(v2), edit())).toEqual([[1, 10, "unknown"]]);
		expect(edited(view(v1, [1, 10]), edit(), edit(v2))).toEqual([[1, 10, "unknown"]]);
		expect(edited(view(v1, [1, 10]), edit(), view(v2, [1, 5]), edit(v3))).toEqual([
			[1, 5, "v3"],
			[6, 10, "unknown"],
		]);
	});

	test("mark lines that a refresh then takes, and those it leaves", () => {
		expect(edited(view(v1, [1, 10]), edit(v2), refresh(1, 8))).toEqual([[9, 10, "v2"]]);
	});

	test("of a file of which nothing is known are nothing to know", () => {
		expect(knowledgeOf([edit(v1), edit()])).toEqual({ segments: [] });
	});

	test("mark the whole version as soon as one line of it has the mark", () => {
		const whole = (...events: FileEvent[]) => wholeVersion(knowledgeOf(events).segments);
		const parts = [view(v1, [1, 10]), edit(v2), view(v1, [1, 9])];
		expect(whole(...parts)).toMatchObject({ version: v1, start: 1, end: 10, edited: v2 });
		expect(whole(...parts, edit())).toMatchObject({ edited: "unknown" });
		expect(whole(...parts, view(v1, [10, 10]))).not.toHaveProperty("edited");
		expect(whole(view(v1, [1, 10]), edit(), view(v1, [1, 5]), edit(v1))).toMatchObject({
			edited: "unknown",
		});
		expect(whole(view(v1, [1, 10]), edit(), view(v1, [6, 10]), edit(v1))).toMatchObject({
			edited: "unknown",
		});
	});
});

describe("a file that the request itself shows", () => {
	const inRequest = (version?: Hash): FileEvent => ({ kind: "in-request", version });

	test("is known as far as both are the same version", () => {
		const views = [view(v1, [1, 4]), view(v2, [5, 10])];
		expect(known(...views, inRequest(v2))).toEqual([[5, 10, "v2", 0]]);
		expect(known(view(v1, [1, 10]), inRequest(v1))).toEqual([[1, 10, "v1", 0]]);
	});

	test("is not known by an older version, nor when it cannot be told which one is shown", () => {
		for (const version of [v2, undefined]) {
			const events = [view(v1, [1, 10]), inRequest(version)];
			expect(knowledgeOf(events)).toEqual({ segments: [], lost: "shown-otherwise" });
		}
	});

	test("is not known by the request alone", () => {
		expect(knowledgeOf([inRequest(v1)])).toEqual({ segments: [] });
	});
});

test("a read that nobody follows ends everything older", () => {
	expect(knowledgeOf([view(v1, [1, 10]), edit(v2), { kind: "untracked" }])).toEqual({
		segments: [],
		lost: "untracked",
	});
});

describe("laws", () => {
	const version = fc.constantFrom(v1, v2, v3);
	const range = fc
		.tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 8 }))
		.map(([one, other]): [number, number] => [Math.min(one, other), Math.max(one, other)]);
	/** The number of lines belongs to the version, as its text does. */
	const lengthOf = (hash: Hash) => ({ [v1]: 8, [v2]: 8, [v3]: 5 })[hash] as number;
	const shown = fc.tuple(version, range).map(([hash, [start, end]]) => {
		const total = lengthOf(hash);
		return view(hash, [Math.min(start, total), Math.min(end, total)], total);
	});
	const noted = fc.option(version, { nil: undefined });
	const events = fc.array(
		fc.oneof(
			{ weight: 5, arbitrary: shown },
			{
				weight: 4,
				arbitrary: version.map((hash) => view(hash, [1, lengthOf(hash)], lengthOf(hash))),
			},
			{
				weight: 4,
				arbitrary: fc.tuple(version, version).map(([from, to]) => diff(from, to, lengthOf(to))),
			},
			{ weight: 1, arbitrary: shown.map((event) => unseen(event)) },
			{ weight: 2, arbitrary: range.map(([start, end]) => refresh(start, end)) },
			{ weight: 3, arbitrary: fc.tuple(noted, noted).map((hashes) => edit(...hashes)) },
			{ weight: 1, arbitrary: fc.constant<FileEvent>({ kind: "untracked" }) },
		),
		{ maxLength: 12 },
	);

	test("segments are in order, do not overlap, and lie within their version", () => {
		fc.assert(
			fc.property(events, (list) => {
				let next = 1;
				for (const { start, end, version: hash, totalLines } of knowledgeOf(list).segments) {
					expect(start).toBeGreaterThanOrEqual(next);
					expect(end).toBeGreaterThanOrEqual(start);
					expect(totalLines).toBe(lengthOf(hash));
					expect(end).toBeLessThanOrEqual(totalLines);
					next = end + 1;
				}
			}),
			{ numRuns: runs(1000) },
		);
	});

	test("every line is known as an account kept line by line knows it", () => {
		fc.assert(
			fc.property(events, (list) => {
				expect(byLine(knowledgeOf(list).segments)).toEqual(account(list));
			}),
			{ numRuns: runs(2000) },
		);
	});

	test("covering, cutting and the whole version agree with the lines one by one", () => {
		fc.assert(
			fc.property(events, range, (list, [start, end]) => {
				const { segments } = knowledgeOf(list);
				const all = byLine(segments);
				const lines = new Map([...all].filter(([, { refreshed }]) => !refreshed));
				const wanted = Array.from({ length: end - start + 1 }, (_, index) => start + index);
				expect(covers(segments, { start, end })).toBe(wanted.every((line) => lines.has(line)));
				const inside = [...lines].filter(([line]) => start <= line && line <= end);
				expect([...byLine(within(segments, { start, end }))]).toEqual(inside);

				const versions = new Set([...all.values()].map((line) => line.version));
				const [only] = versions;
				const isWhole = versions.size === 1 && lines.size === lengthOf(only as Hash);
				const whole = wholeVersion(segments);
				expect(whole?.version).toBe(isWhole ? only : undefined);
				if (!whole) return;
				// What holds for one line of it holds for all of it, and the unknown is the worst.
				const marks = new Set([...lines.values()].map((line) => line.edited));
				const known = [...marks].find((mark) => mark !== undefined);
				expect(whole.edited).toBe(marks.has("unknown") ? "unknown" : known);
			}),
			{ numRuns: runs(1000) },
		);
	});

	test("all lines whose last edit was noted have the same mark", () => {
		fc.assert(
			fc.property(events, (list) => {
				const marks = knowledgeOf(list).segments.map((segment) => segment.edited);
				const noted = marks.filter((mark) => mark !== undefined && mark !== "unknown");
				expect(new Set(noted).size).toBeLessThanOrEqual(1);
			}),
			{ numRuns: runs(1000) },
		);
	});

	/** What the model knows, kept the slow way. */
	function account(list: FileEvent[]): Map<number, Line> {
		let lines = new Map<number, Line>();
		for (const event of list) {
			if (event.kind === "untracked") lines = new Map();
			if (event.kind === "refresh" && event.scope !== "full") {
				for (let line = event.scope.start; line <= event.scope.end; line++) {
					const seen = lines.get(line);
					if (seen) seen.refreshed = true;
				}
			}
			if (event.kind === "edit") {
				for (const line of lines.values()) {
					const stood = line.edited === undefined || line.edited === event.before;
					line.edited = stood ? (event.after ?? "unknown") : "unknown";
				}
			}
			if (event.kind !== "view") continue;
			const { meta } = event;
			const isBase = [...lines.values()].every(
				(line) => line.version === meta.baseHash && !line.refreshed,
			);
			if (!event.seen.visible) lines = new Map();
			else if (meta.mode !== "diff") {
				for (let line = meta.rangeStart; line <= meta.rangeEnd; line++) {
					lines.set(line, { version: meta.servedHash, chain: 0 });
				}
				for (const line of [...lines.keys()]) if (line > meta.totalLines) lines.delete(line);
			} else if (!isBase || lines.size !== lengthOf(meta.baseHash as Hash)) lines = new Map();
			else {
				const chain = 1 + Math.max(...[...lines.values()].map((line) => line.chain));
				lines = new Map();
				for (let line = 1; line <= meta.totalLines; line++) {
					lines.set(line, { version: meta.servedHash, chain });
				}
			}
		}
		return new Map([...lines].sort(([one], [other]) => one - other));
	}
});

type Line = Pick<Segment, "version" | "chain" | "edited" | "refreshed">;

function byLine(segments: Segment[]): Map<number, Line> {
	const lines = new Map<number, Line>();
	for (const { start, end, version, chain, edited, refreshed } of segments) {
		for (let line = start; line <= end; line++) {
			const marks = { ...(edited && { edited }), ...(refreshed && { refreshed }) };
			lines.set(line, { version, chain, ...marks });
		}
	}
	return lines;
}
