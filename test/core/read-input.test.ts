import { describe, expect, test } from "vitest";
import {
	decodePageToken,
	encodePageToken,
	foldReadInput,
	isPageToken,
	type PageToken,
} from "../../src/core/read-input.ts";
import { fc } from "../support/property.ts";

const anyUri = fc.oneof(
	fc.webUrl({ withQueryParameters: true, withFragments: true }),
	fc.string({ minLength: 1, unit: "binary" }),
	fc.constantFrom("a;b;c", ";;;", "page:;;;x", "a\nb", " ", "file:a.txt", "C:\\a.pdf"),
);
const cursor = fc.stringMatching(/^[\w-]{1,60}$/);
const size = fc.nat({ max: Number.MAX_SAFE_INTEGER });

const token: fc.Arbitrary<PageToken> = fc
	.record({ uri: anyUri, cursor, maxChars: size, lastPage: size }, { requiredKeys: ["uri"] })
	.map((value) => ({ ...value })); // without fast-check's null prototype

describe("a page token", () => {
	test("says what was written into it", () => {
		fc.assert(
			fc.property(token, (value) => {
				const written = encodePageToken(value);
				expect(isPageToken(written)).toBe(true);
				expect(decodePageToken(written)).toEqual(value);
			}),
		);
	});

	test("keeps its uri whatever the cursor is", () => {
		fc.assert(
			fc.property(fc.string(), anyUri, (text, uri) => {
				expect(decodePageToken(encodePageToken({ uri, cursor: text }))?.uri).toBe(uri);
			}),
		);
		const hostile = encodePageToken({ uri: "https://good/", cursor: "x;1;2;https://evil/" });
		expect(decodePageToken(hostile)?.uri).toBe("https://good/");
	});

	test.each([
		"page:",
		"page:x",
		"page:;;;",
		"page:abc;;https://x/",
		"page:abc;-5;;https://x/",
		"page:abc;1.5;;https://x/",
		"page:abc;1e3;;https://x/",
		"page:abc; 5;;https://x/",
		"Page:;;;x",
		" page:;;;x",
		"pages:;;;x",
		"",
	])("is not %j", (text) => {
		expect(decodePageToken(text)).toBeUndefined();
	});

	test("is taken apart in linear time, or not at all", () => {
		// What is quadratic would take longer than a test may.
		for (const part of [";", "a", "1;", "\n", "\ud800"]) {
			decodePageToken(`page:${part.repeat(1_000_000)}`);
			decodePageToken(`page:;${part.repeat(1_000_000)}`);
		}
	});
});

describe("folding an input of read", () => {
	const paged = ["uri", "cursor", "max_chars"];

	test("leaves every other input as it is, the same object", () => {
		const other = fc.anything({ withNullPrototype: true }).filter((value) => {
			if (typeof value !== "object" || value === null) return true;
			return !paged.some((key) => key in value);
		});
		fc.assert(
			fc.property(other, (input) => {
				expect(Object.is(foldReadInput(input), input)).toBe(true);
			}),
		);
		const own = Object.freeze({ path: "a.txt", offset: 3, limit: 4 });
		expect(foldReadInput(own)).toBe(own);
	});

	test("never throws, and never changes what it is given", () => {
		const hostile = fc.record(
			{ uri: fc.anything(), cursor: fc.anything(), max_chars: fc.anything(), path: fc.anything() },
			{ requiredKeys: [] },
		);
		fc.assert(
			fc.property(hostile, (input) => {
				const before = { ...input };
				const folded = foldReadInput(input) as Record<string, unknown>;
				expect(input).toEqual(before);
				expect(paged.some((key) => folded[key] !== undefined)).toBe(false);
			}),
		);
	});

	test("makes a token of what needs one, and a path of what does not", () => {
		fc.assert(
			fc.property(
				anyUri.filter((uri) => !isPageToken(uri)),
				fc.option(cursor, { nil: undefined }),
				fc.option(size, { nil: undefined }),
				(uri, cursor, max_chars) => {
					const { path } = foldReadInput({ uri, cursor, max_chars }) as { path: string };
					if (cursor === undefined && max_chars === undefined) expect(path).toBe(uri);
					else
						expect(decodePageToken(path)).toEqual({
							uri,
							...(cursor !== undefined && { cursor }),
							...(max_chars !== undefined && { maxChars: max_chars }),
						});
				},
			),
		);
	});

	test("once is enough: what is folded stays", () => {
		fc.assert(
			fc.property(token, ({ uri, cursor, maxChars }) => {
				const once = foldReadInput({ uri, cursor, max_chars: maxChars });
				expect(foldReadInput(once)).toBe(once);
			}),
		);
	});

	test.each<[object, object]>([
		[{ uri: "https://x/" }, { path: "https://x/" }],
		[
			{ uri: "a.pdf", offset: 3, limit: 2 },
			{ path: "a.pdf", offset: 3, limit: 2 },
		],
		[{ path: "a.txt", max_chars: 500 }, { path: "page:;500;;a.txt" }],
		[{ path: "a.txt", cursor: "abc" }, { path: "page:abc;;;a.txt" }],
		[{ uri: "b.txt", path: "a.txt" }, { path: "b.txt" }],
		[{ uri: "https://x/", cursor: null, max_chars: null }, { path: "https://x/" }],
		[{ uri: "https://x/", cursor: "" }, { path: "page:;;;https://x/" }],
		[{ uri: "page:abc;;;https://x/" }, { path: "page:abc;;;https://x/" }],
		[{ uri: "page:abc;500;9;https://x/", max_chars: 70 }, { path: "page:abc;70;9;https://x/" }],
		[{ uri: "page:broken", max_chars: 70 }, { path: "page:broken" }],
		[{ uri: 5, path: "a.txt" }, { path: "a.txt" }],
		[{ uri: 5 }, {}],
		[{ cursor: "abc" }, {}],
	])("%j becomes %j", (input, expected) => {
		expect(foldReadInput(input)).toEqual(expected);
	});
});
