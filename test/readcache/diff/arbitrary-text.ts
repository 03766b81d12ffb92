import { fc } from "../../support/property.ts";

/** What lines are made of in the properties: things that look like diff rows, odd line ends, odd characters. */
const tricky = [
	"",
	"x",
	"y\r",
	"\r",
	"a\rb",
	"-- sql comment",
	"++i;",
	"--- a/file",
	"+++ b/file",
	"@@ -1,2 +1,2 @@",
	"\\ No newline at end of file",
	"\uFEFFfirst",
	"trailing   ",
	"\ttab\t",
	"z\u2028z",
	"\u2029",
	"\u0085",
	"é😀",
];

/** Lines from an alphabet small enough that they repeat, or large enough that most are unique. */
export function arbitraryLines(maxLength = 40): fc.Arbitrary<string[]> {
	return fc.oneof(
		fc.array(fc.constantFrom("a", "b"), { maxLength }),
		fc.array(fc.constantFrom(...tricky), { maxLength }),
		fc.array(
			fc.integer({ min: 0, max: 200 }).map((n) => `line ${n}`),
			{ maxLength },
		),
	);
}

/** A text with or without a byte order mark and a final newline. */
export function arbitraryText(): fc.Arbitrary<string> {
	return fc
		.tuple(arbitraryLines(), fc.boolean(), fc.boolean())
		.map(
			([lines, mark, newline]) =>
				(mark ? "\uFEFF" : "") + lines.join("\n") + (newline && lines.length > 0 ? "\n" : ""),
		);
}

/** A text and a version of it with some lines replaced, removed or inserted: what edits look like. */
export function arbitraryEdit(): fc.Arbitrary<[string, string]> {
	const edit = fc.tuple(
		fc.nat(100),
		fc.nat(3),
		fc.array(fc.constantFrom(...tricky), { maxLength: 3 }),
	);
	return fc.tuple(arbitraryLines(80), fc.array(edit, { maxLength: 4 })).map(([lines, edits]) => {
		const edited = [...lines];
		for (const [place, removed, added] of edits) {
			edited.splice(place % (edited.length + 1), removed, ...added);
		}
		return [lines.join("\n"), edited.join("\n")];
	});
}

/** Two unrelated texts or two versions of one. */
export function arbitraryPair(): fc.Arbitrary<[string, string]> {
	return fc.oneof(fc.tuple(arbitraryText(), arbitraryText()), arbitraryEdit());
}
