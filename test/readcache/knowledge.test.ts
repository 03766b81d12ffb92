import fc from "fast-check";
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

const [v1, v2, v3] = ["1", "2", "3"].map((version) => hashBytes(version)) as [Hash, Hash, Hash];

let position = 0;

/** Lines of a version that were shown, after all views made before it. */
function view(version: Hash, [start, end]: [number, number], totalLines = 10): FileEvent {
	return viewOf({ ...META, servedHash: version, totalLines, rangeStart: start, rangeEnd: end });
}

function diff(from: Hash, to: Hash, totalLines = 10): FileEvent {
	const range = { totalLines, rangeStart: 1, rangeEnd: totalLines };
	return viewOf({ ...META, ...range, mode: "diff", baseHash: from, servedHash: to });
}

function viewOf(meta: Metadata): FileEvent & { kind: "view" } {
	return { kind: "view", meta, seen: { visible: true, position: position++ } };
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
const edit = (stands: boolean): FileEvent => ({ kind: "edit", stands: () => stands });
const refresh = (start: number, end: number): FileEvent => ({
	kind: "refresh",
	scope: { start, end },
});

/** The segments in short: `[start, end, version, chain]`. */
function known(...events: FileEvent[]) {
	const versions = new Map<string, string>([
		[v1, "v1"],
		[v2, "v2"],
		[v3, "v3"],
	]);
	return knowledgeOf(events).segments.map(({ start, end, version, chain }) => [
		start,
		end,
		versions.get(version),
		chain,
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

	test("that stand in the request before an older one end everything", () => {
		const [older, newer] = [viewOf(META), viewOf({ ...META, servedHash: v2 })];
		[older.seen, newer.seen] = [newer.seen, older.seen];
		expect(knowledgeOf([older, newer])).toEqual({ segments: [], edits: [], lost: "reordered" });
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
		expect(knowledgeOf(events)).toEqual({ segments: [], edits: [], lost: "refreshed" });
	});
});

describe("the model's own edits", () => {
	test("are kept beside the views until the whole file is seen again", () => {
		const [one, two] = [edit(true), edit(false)];
		expect(knowledgeOf([view(v1, [1, 10]), one, view(v1, [1, 9]), two]).edits).toEqual([one, two]);
		expect(knowledgeOf([view(v1, [1, 10]), one, view(v2, [1, 10])]).edits).toEqual([]);
		expect(knowledgeOf([view(v1, [1, 10]), one, diff(v1, v2)]).edits).toEqual([]);
	});

	test("are not ended by a whole file of which pi showed a part", () => {
		const whole = view(v1, [1, 10]);
		const cut = viewOf({ ...META, shown: [1, 5] });
		expect(knowledgeOf([whole, edit(true), cut]).edits).toHaveLength(1);
	});
});

test("a read that nobody follows ends everything older", () => {
	expect(knowledgeOf([view(v1, [1, 10]), edit(true), { kind: "untracked" }])).toEqual({
		segments: [],
		edits: [],
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
			{ weight: 1, arbitrary: fc.constant<FileEvent>({ kind: "untracked" }) },
		),
		{ maxLength: 12 },
	);
	/** Events are made in any order; here they get their places in the request. */
	const inOrder = events.map((list) =>
		list.map((event, place): FileEvent => {
			if (event.kind !== "view" || !event.seen.visible) return event;
			return { ...event, seen: { visible: true, position: place } };
		}),
	);

	test("segments are in order, do not overlap, and lie within their version", () => {
		fc.assert(
			fc.property(inOrder, (list) => {
				let next = 1;
				for (const { start, end, version: hash, totalLines } of knowledgeOf(list).segments) {
					expect(start).toBeGreaterThanOrEqual(next);
					expect(end).toBeGreaterThanOrEqual(start);
					expect(totalLines).toBe(lengthOf(hash));
					expect(end).toBeLessThanOrEqual(totalLines);
					next = end + 1;
				}
			}),
			{ numRuns: 1000 },
		);
	});

	test("every line is known as an account kept line by line knows it", () => {
		fc.assert(
			fc.property(inOrder, (list) => {
				expect(byLine(knowledgeOf(list).segments)).toEqual(account(list));
			}),
			{ numRuns: 2000 },
		);
	});

	test("covering, cutting and the whole version agree with the lines one by one", () => {
		fc.assert(
			fc.property(inOrder, range, (list, [start, end]) => {
				const { segments } = knowledgeOf(list);
				const lines = byLine(segments);
				const wanted = Array.from({ length: end - start + 1 }, (_, index) => start + index);
				expect(covers(segments, { start, end })).toBe(wanted.every((line) => lines.has(line)));
				const inside = [...lines].filter(([line]) => start <= line && line <= end);
				expect([...byLine(within(segments, { start, end }))]).toEqual(inside);

				const versions = new Set([...lines.values()].map((line) => line.version));
				const [only] = versions;
				const isWhole = versions.size === 1 && lines.size === lengthOf(only as Hash);
				expect(wholeVersion(segments)?.version).toBe(isWhole ? only : undefined);
			}),
			{ numRuns: 1000 },
		);
	});

	/** What the model knows, kept the slow way. */
	function account(list: FileEvent[]): Map<number, { version: Hash; chain: number }> {
		let lines = new Map<number, { version: Hash; chain: number }>();
		for (const event of list) {
			if (event.kind === "untracked") lines = new Map();
			if (event.kind === "refresh" && event.scope !== "full") {
				for (let line = event.scope.start; line <= event.scope.end; line++) lines.delete(line);
			}
			if (event.kind !== "view") continue;
			const { meta } = event;
			const isBase = [...lines.values()].every((line) => line.version === meta.baseHash);
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

function byLine(segments: Segment[]): Map<number, { version: Hash; chain: number }> {
	const lines = new Map<number, { version: Hash; chain: number }>();
	for (const { start, end, version, chain } of segments) {
		for (let line = start; line <= end; line++) lines.set(line, { version, chain });
	}
	return lines;
}
