import { describe, expect, test } from "vitest";
import { BlockFeatures } from "../../../src/paging/extract/block-features.ts";
import { createWeights } from "../../../src/paging/extract/block-model.ts";
import { decideByChances } from "../../../src/paging/extract/main-text.ts";
import { readPageTree } from "../../../src/paging/extract/page-tree.ts";

const sentence =
	"Every sentence of this page says something, with a comma, about rivers and the sea. ";
const none = () => 0;
const weights = createWeights({
	label: none,
	threadLabel: none,
	text: none,
	thread: none,
	documentation: none,
});

/** The texts that are kept of a page whose blocks have these chances, by their first word. */
function kept(html: string, chances: Record<string, number>, otherwise = 0): string[] {
	const tree = readPageTree(html);
	const features = new BlockFeatures(tree, "https://e.com/x", weights);
	const firstWord = (text: string) => text.split(" ")[0] as string;
	const found = decideByChances(
		tree,
		features,
		tree.blocks.map(({ text }) => chances[firstWord(text)] ?? otherwise),
	);
	return tree.blocks.flatMap(({ text }, i) => (found[i] ? [firstWord(text)] : []));
}

describe("of what the model is unsure", () => {
	test("a block goes with those of its template, whatever their numbers", () => {
		const posts = ["A", "B", "C", "D", "E"].map(
			(name, i) => `<div class="post" id="post_${i}"><p>${name} ${sentence.repeat(2)}</p></div>`,
		);
		const html = `<body>${posts.join("")}<div class="side"><p>Side ${sentence}</p></div></body>`;
		const chances = { A: 0.9, B: 0.9, C: 0.2, D: 0.9, E: 0.9, Side: 0.2 };
		expect(kept(html, chances)).toEqual(["A", "B", "C", "D", "E"]);
	});

	test("what comes closest is kept without the menus, if nothing is likely", () => {
		const text = sentence.repeat(20);
		const html = `<body><nav><ul><li>Menu ${text}</li></ul></nav><div><p>Text ${text}</p></div><div><p>Less ${text}</p></div></body>`;
		expect(kept(html, { Menu: 0.04, Text: 0.03, Less: 0.001 })).toEqual(["Text"]);
	});

	test("less is enough on a page of many texts than on one of a single text", () => {
		const texts = ["A", "B", "C", "D"].map((name) => `${name} ${sentence.repeat(8)}`);
		const chances = { A: 0.9, B: 0.9, C: 0.38, D: 0.9 };
		const parts = texts.map(
			(text) =>
				`<section><div><div><div class="x-${text[0]}"><p>${text}</p></div></div></div></section>`,
		);
		const many = `<body>${parts.join("")}</body>`;
		const article = `<head><meta property="og:type" content="article"></head>${many}`;
		expect(kept(many, chances)).toEqual(["A", "B", "C", "D"]);
		expect(kept(article, chances)).toEqual(["A", "B", "D"]);
	});
});

describe("by the names of what is around it", () => {
	const text = sentence.repeat(3);

	test.each([
		['<div id="onetrust-consent-sdk">', "a dialog of consent"],
		['<div class="samItem">', "an advertisement in a thread"],
		['<div class="printfooter">', "a note below an article"],
		['<div class="announcement-bar">', "an announcement above a page"],
	])("%s is left out: %s", (start) => {
		const html = `<body><p>Text ${text}</p>${start}<p>Other ${text}</p></div></body>`;
		expect(kept(html, {}, 0.9)).toEqual(["Text"]);
	});

	test("what holds the whole page is not left out for the name of a bar that it has", () => {
		const html = `<body class="has-announcement-bar"><div class="page has-announcement-bar"><p>Text ${text}</p><p>More ${text.repeat(9)}</p></div></body>`;
		expect(kept(html, {}, 0.9)).toEqual(["Text", "More"]);
	});

	test("a list of the pages below goes with the text before it", () => {
		const html = `<body><p>Other ${text.repeat(9)}</p><p>Text ${text}</p><div class="toctree-wrapper compound"><ul><li><a href="a">First</a></li><li><a href="b">Second</a></li></ul></div></body>`;
		expect(kept(html, { Other: 0.9, Text: 0.9 }, 0.1)).toEqual([
			"Other",
			"Text",
			"First",
			"Second",
		]);
		expect(kept(html, { Other: 0.9 }, 0.02)).toEqual(["Other"]);
	});
});

describe("signatures", () => {
	const text = sentence.repeat(3);

	test.each([
		["signature", "post_content"],
		["ipsEntry__signature", "ipsEntry__post"],
		["signaturecontainer", "postrow"],
	])("of posts are left out (%s in %s)", (name, around) => {
		const html = `<body><div class="${around}"><p>Post ${text}</p><div class="${name}">Sign ${text}</div></div></body>`;
		expect(kept(html, {}, 0.9)).toEqual(["Post"]);
	});

	test.each([
		['<dl class="py function"><dt class="sig sig-object py">def open(file)</dt></dl>'],
		['<section class="detail"><div class="member-signature">def open(file)</div></section>'],
		['<div class="tsd-signature">def open(file)</div>'],
	])("of functions stay: %s", (signature) => {
		expect(kept(`<body><p>Text ${text}</p>${signature}</body>`, {}, 0.9)).toContain("def");
	});
});
