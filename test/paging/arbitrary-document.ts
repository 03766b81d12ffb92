import { fc } from "../support/property.ts";

/** Characters that a careless cut would break, from one unit to a whole family. */
const clusters = [
	"a",
	"Z",
	" ",
	"é",
	"e\u0301",
	"\u0301",
	" \u0308",
	"日",
	"本。",
	"」",
	"한",
	"\u1112\u1161\u11ab",
	"\u1112",
	"\u1161",
	"क्ष",
	"क्षि",
	"\u094d\u200d",
	"நி",
	"ำ",
	"\u0600",
	"😀",
	"👍🏽",
	"👨‍👩‍👧‍👦",
	"🏳️‍🌈",
	"🇩🇪",
	"🇩",
	"\u200d",
	"\ufe0f",
	"\ud83d",
	"\udc4d",
	"\r",
	"\r\n",
	"\n",
];

const structures = [
	"\n\n",
	"\r\n\r\n",
	"\n  \n",
	"\n```js\n",
	"\n```\n",
	"\n~~~~\n",
	"\n> ```\n",
	"`````",
	"\n| cell | cell |\n",
	"\n|---|:--|\n",
	"\n- item ",
	"\n12. item ",
	"# Heading\n",
	"A sentence. Another one! ",
	"文章。",
	"word ".repeat(12),
];

/** Runs longer than a cut looks back: flags, families, stacked marks, unbroken words. */
const run = fc
	.tuple(
		fc.constantFrom(
			"🇩",
			"🇩🇪",
			"👨‍",
			"👩🏽‍",
			"\u0301",
			"क्",
			"\u1112",
			"\u0600",
			"x",
			"日",
			" ",
			"\n",
			"😀",
		),
		fc.integer({ min: 1, max: 300 }),
	)
	.map(([unit, times]) => unit.repeat(times));

/** A text of everything that makes cutting hard. */
export function arbitraryDocument(): fc.Arbitrary<string> {
	const piece = fc.oneof(
		{ weight: 6, arbitrary: fc.constantFrom(...clusters) },
		{ weight: 3, arbitrary: fc.constantFrom(...structures) },
		{ weight: 1, arbitrary: run },
		{ weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 20 }) },
	);
	return fc.array(piece, { maxLength: 200, size: "max" }).map((pieces) => pieces.join(""));
}
