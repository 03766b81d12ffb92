import { fc } from "../../support/property.ts";

const names = [
	..."a b i p br hr ul ol li dl dt dd h1 h6 div span nav main article table tr td th thead caption".split(
		" ",
	),
	..."pre code blockquote script style title textarea math annotation svg template img input sup xmp".split(
		" ",
	),
];
const attributes = [
	"",
	' href="/x?y=1&amp;z"',
	" href=#top",
	" hidden",
	" style='display:none'",
	' class="language-js lineno"',
	" rowspan=3 colspan=1000000",
	" alt='<b>' src=i.png",
	' a="',
	" b='",
	" role=main",
	" start=7 type=math/tex",
];
const words = [
	"text",
	" ",
	"\n",
	"&lt;b&gt;",
	"&amp;",
	"&#60;i>",
	"<",
	">",
	"&",
	"`",
	"```",
	"|",
	"\0",
	"é漢😀",
	"<!--",
	"-->",
	"<![CDATA[",
	"]]>",
	"<?",
	"</",
];

const tag = fc
	.tuple(
		fc.constantFrom("<", "</"),
		fc.constantFrom(...names),
		fc.constantFrom(...attributes),
		fc.constantFrom(">", "/>", ""),
	)
	.map((parts) => parts.join(""));

/** HTML that nobody would write on purpose: tags and pieces of tags in any order, and plain arbitrary text. */
export const htmlSoup = fc
	.array(
		fc.oneof(
			{ weight: 4, arbitrary: tag },
			{ weight: 3, arbitrary: fc.constantFrom(...words) },
			{ weight: 1, arbitrary: fc.string({ unit: "binary" }) },
		),
		{ maxLength: 60 },
	)
	.map((parts) => parts.join(""));
