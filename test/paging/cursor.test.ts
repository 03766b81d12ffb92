import { describe, expect, test } from "vitest";
import {
	type Cursor,
	decodeCursor,
	digest,
	digestInSlices,
	encodeCursor,
} from "../../src/paging/cursor.ts";
import { PagingError } from "../../src/paging/errors.ts";
import { fc, runs } from "../support/property.ts";

const char = fc.oneof(fc.nat(50_000), fc.integer({ min: 0, max: 2 ** 32 - 1 }));
const page = fc.oneof(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 2 ** 24 - 1 }));
const anyDigest = fc.oneof(fc.string(), fc.uint8Array()).map(digest);
const anyCursor: fc.Arbitrary<Cursor> = fc.record({
	resource: anyDigest,
	content: anyDigest,
	position: fc.oneof(
		fc.record({ kind: fc.constant("text" as const), char }),
		fc.record({ kind: fc.constant("pdf" as const), page, char }),
	),
});
const example: Cursor = {
	resource: digest("https://example.com/"),
	content: digest("text"),
	position: { kind: "pdf", page: 4, char: 16_000 },
};

function expectMalformed(token: string): void {
	expect(() => decodeCursor(token)).toThrow(
		expect.objectContaining({ name: "PagingError", code: "cursor_malformed" }),
	);
}

describe("a cursor", () => {
	test("comes back from its token as it was", () => {
		fc.assert(
			fc.property(anyCursor, (cursor) => {
				const token = encodeCursor(cursor);
				expect(token).toMatch(/^[A-Za-z0-9_-]{48}$/);
				expect(decodeCursor(token)).toEqual(cursor);
			}),
		);
	});

	test("is written the same way by every release", () => {
		expect(encodeCursor(example)).toMatchInlineSnapshot(
			`"AQ8RXbBit8DdAwsWh5gtnj65lvVZ5jP00QAABAAAPoAEOKxB"`,
		);
	});

	test("with any one character replaced, added or missing is malformed", () => {
		const token = encodeCursor(example);
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
		for (let at = 0; at < token.length; at++) {
			for (const letter of alphabet) {
				if (letter === token[at]) continue;
				expectMalformed(token.slice(0, at) + letter + token.slice(at + 1));
			}
			expectMalformed(token.slice(0, at) + token.slice(at + 1));
			expectMalformed(`${token.slice(0, at)}A${token.slice(at)}`);
		}
	});

	test("with flipped bits, swapped parts or another case is malformed", () => {
		fc.assert(
			fc.property(anyCursor, fc.array(fc.nat(36 * 8 - 1), { minLength: 1 }), (cursor, flips) => {
				const token = encodeCursor(cursor);
				const bytes = Buffer.from(token, "base64url");
				for (const bit of flips) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
				const flipped = bytes.toString("base64url");
				if (flipped !== token) expectMalformed(flipped);
				const swapped = token.slice(24) + token.slice(0, 24);
				if (swapped !== token) expectMalformed(swapped);
				if (token.toUpperCase() !== token) expectMalformed(token.toUpperCase());
			}),
		);
	});

	test("is never found in other strings, which fail in one way only", () => {
		const base64 = fc.array(fc.constantFrom(..."abzAZ09-_+/= \n"), { maxLength: 70 });
		const tokens = fc.oneof(
			fc.string(),
			fc.string({ unit: "binary" }),
			base64.map((letters) => letters.join("")),
			fc
				.uint8Array({ minLength: 36, maxLength: 36 })
				.map((b) => Buffer.from(b).toString("base64url")),
		);
		fc.assert(fc.property(tokens, expectMalformed), { numRuns: runs(300) });
	});

	test.each([
		["nothing", () => ""],
		["the alphabet of plain base64", (token: string) => token.replace(/[-_]/, "+")],
		["padding", (token: string) => `${token}=`],
		["space around it", (token: string) => ` ${token}`],
		["a newline behind it", (token: string) => `${token}\n`],
		["the specification's own form", () => btoa(JSON.stringify({ v: 1, kind: "pdf", page: 4 }))],
	])("written with %s is malformed", (_, change) => {
		const token = change(encodeCursor(example));
		if (token !== encodeCursor(example)) expectMalformed(token);
	});

	test("of another version is told so", () => {
		const bytes = Buffer.from(encodeCursor(example), "base64url");
		bytes[0] = 2;
		const sum = Buffer.from(digest(bytes.subarray(0, 32)), "base64url");
		sum.copy(bytes, 32, 0, 4);
		expect(() => decodeCursor(bytes.toString("base64url"))).toThrow("another version");
	});

	test("is described in a message of bounded length", () => {
		const token = "x".repeat(1_000_000);
		expect(() => decodeCursor(token)).toThrow(PagingError);
		expect(() => decodeCursor(token)).toThrow(/^.{1,300}$/);
	});

	test("that cannot be is not written", () => {
		const { resource, content } = example;
		for (const wrong of [-1, 0.5, Number.NaN, 2 ** 32, Number.MAX_SAFE_INTEGER + 2]) {
			expect(() =>
				encodeCursor({ resource, content, position: { kind: "text", char: wrong } }),
			).toThrow();
			expect(() =>
				encodeCursor({ resource, content, position: { kind: "pdf", page: wrong, char: 0 } }),
			).toThrow();
		}
		expect(() =>
			encodeCursor({ resource, content, position: { kind: "pdf", page: 0, char: 0 } }),
		).toThrow(RangeError);
		for (const wrong of ["", "short", "x".repeat(17), "!".repeat(16)]) {
			expect(() => encodeCursor({ ...example, content: wrong as Cursor["content"] })).toThrow(
				TypeError,
			);
		}
	});
});

describe("a digest", () => {
	test("is 96 bits of the sha256", () => {
		expect(digest("")).toBe(Buffer.from("e3b0c44298fc1c149afbf4c8", "hex").toString("base64url"));
		expect(digest("naïve")).toBe(digest(Buffer.from("naïve")));
	});
});

test("a digest made in slices is the same, also where a slice would halve a character", async () => {
	for (const text of ["", "a", "x".repeat(1024 * 1024 - 1) + "😀".repeat(600_000)]) {
		expect(await digestInSlices(text)).toBe(digest(text));
	}
});
