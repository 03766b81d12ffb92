import { describe, expect, test } from "vitest";
import {
	cachedPrefix,
	kindsOf,
	layoutBar,
	nextIndex,
	rectanglesOf,
	segmentAt,
} from "../../../src/dashboard/views/context/piece-bar.ts";
import { fc } from "../../support/property.ts";
import { anyPieces, piece } from "./pieces.ts";

const anyOrder = fc.constantFrom("sent" as const, "kind" as const);

describe("the bar of what is in the window", () => {
	test("as sent, pieces stand in the order of the prompt, each where the one before ends", () => {
		const { segments, tokens } = layoutBar(
			[piece("conversation", 30), piece("system", 10), piece("read", 60)],
			{ order: "sent" },
		);
		expect(tokens).toBe(100);
		expect(segments.map(({ piece: { kind }, start, end }) => [kind, start, end])).toEqual([
			["conversation", 0, 30],
			["system", 30, 40],
			["read", 40, 100],
		]);
	});

	test("by kind, all of a kind stand together and keep their order", () => {
		const { segments } = layoutBar(
			[
				piece("conversation", 5, "a"),
				piece("system", 5, "b"),
				piece("conversation", 5, "c"),
				piece("tools", 5, "d"),
			],
			{ order: "kind" },
		);
		expect(segments.map((segment) => segment.piece.id).join("")).toBe("bdac");
	});

	test("the cached part is that of the prompt as sent, however the pieces are shown", () => {
		const pieces = [
			piece("conversation", 40, "a"),
			piece("system", 40, "b"),
			piece("read", 40, "c"),
		];
		for (const order of ["sent", "kind"] as const) {
			const { segments } = layoutBar(pieces, { order, cached: { tokens: 50, pieces: 3 } });
			const cached = Object.fromEntries(segments.map((s) => [s.piece.id, s.cached]));
			expect(cached).toEqual({ a: 40, b: 10, c: 0 });
		}
	});

	test("more cached tokens than there are tokens mark everything and no more", () => {
		const cached = { tokens: 900, pieces: 1 };
		const { segments } = layoutBar([piece("system", 40)], { order: "sent", cached });
		expect(segments[0]?.cached).toBe(40);
	});

	test("what came after the last request, or changed since, is never marked as cached", () => {
		const pieces = [piece("system", 40), piece("read", 40), piece("conversation", 40)];
		const { segments } = layoutBar(pieces, { order: "sent", cached: { tokens: 900, pieces: 2 } });
		expect(segments.map(({ cached }) => cached)).toEqual([40, 40, 0]);
	});

	test("the cached part is the provider's share of the last request, in estimated tokens", () => {
		const history = [
			{ request: 1, atMs: 0, byKind: { system: 90 } },
			{ request: 2, atMs: 0, byKind: { system: 90, read: 110 } },
		];
		const lastRequest = { tokens: 1_000, pieces: 5 };
		expect(cachedPrefix({ history, lastRequest, cachedTokens: 750 })).toEqual({
			tokens: 150,
			pieces: 5,
		});
		const nothing = { tokens: 0, pieces: 0 };
		expect(cachedPrefix({ history, cachedTokens: 750 })).toEqual(nothing);
		expect(cachedPrefix({ history: [], lastRequest, cachedTokens: 750 }).tokens).toBe(0);
		const unbilled = { tokens: 0, pieces: 5 };
		expect(cachedPrefix({ history, lastRequest: unbilled, cachedTokens: 0 })).toEqual(nothing);
	});

	test("the pieces cover the bar without holes in either order", () => {
		fc.assert(
			fc.property(anyPieces, anyOrder, (pieces, order) => {
				const bar = layoutBar(pieces, { order });
				let at = 0;
				for (const { start, end } of bar.segments) {
					expect(start).toBe(at);
					at = end;
				}
				expect(at).toBe(bar.tokens);
				expect(bar.segments.length).toBe(pieces.length);
			}),
		);
	});
});

describe("what is under a point", () => {
	test("is the piece that covers it, and the last piece at the right edge", () => {
		const bar = layoutBar([piece("system", 10), piece("read", 0), piece("tool", 30)], {
			order: "sent",
		});
		expect(segmentAt(bar, 0)?.piece.kind).toBe("system");
		expect(segmentAt(bar, 0.24)?.piece.kind).toBe("system");
		expect(segmentAt(bar, 0.25)?.piece.kind).toBe("tool");
		expect(segmentAt(bar, 1)?.piece.kind).toBe("tool");
		expect(segmentAt(bar, -0.1)).toBeUndefined();
		expect(segmentAt(bar, 1.1)).toBeUndefined();
	});

	test("is nothing in an empty context", () => {
		expect(segmentAt(layoutBar([], { order: "sent" }), 0.5)).toBeUndefined();
		expect(segmentAt(layoutBar([piece("read", 0)], { order: "sent" }), 0)).toBeUndefined();
	});

	test("agrees with the layout at the middle of every piece", () => {
		fc.assert(
			fc.property(anyPieces, anyOrder, (pieces, order) => {
				const bar = layoutBar(pieces, { order });
				for (const segment of bar.segments) {
					if (segment.end === segment.start) continue;
					const middle = (segment.start + segment.end) / 2 / bar.tokens;
					expect(segmentAt(bar, middle)?.piece.id).toBe(segment.piece.id);
				}
			}),
		);
	});
});

describe("the rectangles", () => {
	test("neighbours too small to see become one in the colour of what is most of them", () => {
		const bar = layoutBar(
			[
				piece("system", 9_000),
				piece("tool", 1, "t"),
				piece("conversation", 3, "c"),
				piece("tool", 1, "u"),
				piece("read", 9_000),
			],
			{ order: "sent", cached: { tokens: 9_001, pieces: Infinity } },
		);
		const drawn = rectanglesOf(bar);
		expect(drawn.map(({ kind }) => kind)).toEqual(["system", "conversation", "read"]);
		expect(drawn[1]?.cached).toBeCloseTo(1 / bar.tokens);
	});

	test("cover the bar and stay few however many pieces there are", () => {
		const many = Array.from({ length: 20_000 }, (_, index) =>
			piece(index % 2 ? "tool" : "conversation", 1 + (index % 7), String(index)),
		);
		const drawn = rectanglesOf(layoutBar(many, { order: "sent" }));
		expect(drawn.length).toBeLessThanOrEqual(801);
		fc.assert(
			fc.property(anyPieces, anyOrder, (pieces, order) => {
				const bar = layoutBar(pieces, { order, cached: { tokens: 5_000, pieces: Infinity } });
				const parts = rectanglesOf(bar, 1 / 20);
				const covered = parts.reduce((sum, { width }) => sum + width, 0);
				const cached = parts.reduce((sum, part) => sum + part.cached, 0);
				expect(covered).toBeCloseTo(bar.tokens === 0 ? 0 : 1);
				expect(cached * bar.tokens).toBeCloseTo(Math.min(bar.tokens, 5_000));
				expect(parts.length).toBeLessThanOrEqual(41);
			}),
		);
	});
});

test("the kinds add up to the whole, and kinds that are not there are left out", () => {
	const rows = kindsOf([piece("read", 30), piece("system", 10), piece("read", 60)]);
	expect(rows).toEqual([
		{ kind: "system", name: "System prompt", tokens: 10, pieces: 1, share: 0.1 },
		{ kind: "read", name: "Reads", tokens: 90, pieces: 2, share: 0.9 },
	]);
});

test.each([
	["End", -1, 4],
	["Home", -1, 0],
	["ArrowRight", -1, 0],
	["ArrowLeft", -1, 4],
	["ArrowRight", 4, 4],
	["PageDown", 3, 0],
	["Home", 3, 0],
	["a", 3, undefined],
])("%s from piece %d of five leads to %s", (key, at, to) => {
	expect(nextIndex(key, at, 5)).toBe(to);
});
