import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { convertDocument } from "../../../src/paging/documents/convert.ts";
import { openPlace } from "../../contracts/paged-source.ts";
import {
	docxParagraph,
	makeDocx,
	makeEpub,
	makeOpenDocument,
	makePptx,
	makeXlsx,
} from "../../support/make-documents.ts";
import { makeZip } from "../../support/make-zip.ts";
import { atEnd } from "../../support/temp.ts";

const archive = async (bytes: Buffer, name = "a.zip") =>
	(await convertDocument({ kind: "archive", bytes, name })).markdown;

describe("Word documents", () => {
	test("keep headings, lists, tables, links, notes and marks", async () => {
		const item = (text: string, level: number) =>
			docxParagraph(text, `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="1"/></w:numPr>`);
		const cell = (text: string) => `<w:tc>${docxParagraph(text)}</w:tc>`;
		const bytes = makeDocx(
			[
				docxParagraph("The plan", '<w:pStyle w:val="Heading1"/>'),
				`<w:p><w:r><w:t>See </w:t></w:r><w:hyperlink r:id="rId1"><w:r><w:rPr><w:b/></w:rPr><w:t>this &amp; that</w:t></w:r></w:hyperlink><w:r><w:footnoteReference w:id="2"/></w:r></w:p>`,
				item("one", 0),
				item("detail", 1),
				item("two", 0),
				`<w:tbl><w:tr>${cell("Name")}${cell("Size")}</w:tr><w:tr>${cell("a")}${cell("1")}</w:tr></w:tbl>`,
				`<w:p><w:del><w:r><w:delText>gone</w:delText><w:t>gone</w:t></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins></w:p>`,
			].join(""),
			{
				"word/_rels/document.xml.rels":
					'<Relationships><Relationship Id="rId1" Target="https://example.com/x"/></Relationships>',
				"word/footnotes.xml": `<w:footnotes><w:footnote w:id="2">${docxParagraph("A note.")}</w:footnote></w:footnotes>`,
				"word/numbering.xml":
					'<w:numbering><w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num></w:numbering>',
			},
		);
		expect(await archive(bytes, "plan.docx")).toBe(
			[
				"# The plan",
				"See [**this & that**](https://example.com/x)[^2]",
				"1. one\n   - detail\n2. two",
				"| Name | Size |\n| --- | --- |\n| a | 1 |",
				"new",
				"## Footnotes",
				"[^2]:",
				"A note.",
			].join("\n\n"),
		);
	});
});

describe("workbooks", () => {
	test("are a heading and a table for each sheet, with dates as dates", async () => {
		const bytes = makeXlsx({
			"First one": [
				["Name", "Size"],
				["a|b", 1.5],
				["", 2],
			],
			Empty: [],
		});
		expect(await archive(bytes)).toBe(
			"## First one\n\n| Name | Size |\n| --- | --- |\n| a\\|b | 1.5 |\n|  | 2 |\n\n## Empty\n\n(empty)",
		);
		const dates = makeXlsx(
			{
				S: [
					["day", "time"],
					[45_000, 45_000.75],
					[1, 0.5],
				],
			},
			' s="1"',
		);
		expect(await archive(dates)).toContain(
			"| 2023-03-15 | 2023-03-15 18:00:00 |\n| 1900-01-01 | 12:00:00 |",
		);
	});

	test("of OpenDocument too, without its million empty cells", async () => {
		const cell = (text: string, more = "") =>
			`<table:table-cell ${more}><text:p>${text}</text:p></table:table-cell>`;
		const empty = '<table:table-cell table:number-columns-repeated="16384"/>';
		const bytes = makeOpenDocument(
			"spreadsheet",
			`<table:table table:name="S"><table:table-row>${cell("a")}${cell("b")}${empty}</table:table-row><table:table-row>${cell("1", 'table:number-columns-repeated="2"')}</table:table-row><table:table-row table:number-rows-repeated="1048576">${empty}</table:table-row></table:table>`,
		);
		expect(await archive(bytes)).toBe("## S\n\n| a | b |\n| --- | --- |\n| 1 | 1 |");
	});
});

test("slides have numbers, titles, text and notes", async () => {
	const bytes = makePptx([
		{ title: "Hello", text: "World", notes: "Say it slowly." },
		{ title: "End", text: "Bye" },
	]);
	expect(await archive(bytes)).toBe(
		"## Slide 1\n\n### Hello\n\nWorld\n\n**Notes:**\n\nSay it slowly.\n\n## Slide 2\n\n### End\n\nBye",
	);
});

test("texts of OpenDocument keep headings, lists and links", async () => {
	const bytes = makeOpenDocument(
		"text",
		'<text:h text:outline-level="2">Title</text:h><text:p>a<text:s/>b <text:a xlink:href="https://e.com/">c</text:a><office:annotation><text:p>no</text:p></office:annotation></text:p><text:list><text:list-item><text:p>x</text:p></text:list-item></text:list>',
	);
	expect(await archive(bytes)).toBe(
		"## Title\n\na b [c](https://e.com/)[comment 1]\n\n- x\n\n## Comments\n\n[comment 1]:\n\nno",
	);
});

test("books are their chapters in order, with their title", async () => {
	const bytes = makeEpub("Rivers &amp; seas", ["<h1>One</h1><p>first", "<h1>Two</h1><p>second"]);
	expect(await convertDocument({ kind: "archive", bytes, name: "a.epub" })).toEqual({
		markdown: "# One\n\nfirst\n\n# Two\n\nsecond",
		title: "Rivers & seas",
	});
});

describe("archives", () => {
	test("are listed, nested ones by name only", async () => {
		const inner = makeZip([{ name: "deep.txt", content: "deep" }]);
		const bytes = makeZip([
			{ name: "dir/a.txt", content: "hello" },
			{ name: "in.zip", content: inner },
		]);
		expect(await archive(bytes)).toBe(
			`Archive with 2 entries:\n\n- dir/a.txt (5 bytes)\n- in.zip (${inner.length} bytes)`,
		);
	});

	test("compressed with gzip are unpacked if they are text, and listed if they are a tar", async () => {
		expect(await archive(gzipSync("some text\n"), "a.txt.gz")).toBe("some text\n");
		const header = Buffer.alloc(512);
		header.write("dir/file.txt");
		header.write("00000000005\0", 124);
		header.write("0", 156);
		header.write("ustar", 257);
		const tar = Buffer.concat([header, Buffer.alloc(512, "x"), Buffer.alloc(1024)]);
		expect(await archive(gzipSync(tar), "a.tgz")).toBe(
			"Archive with 1 entry:\n\n- dir/file.txt (5 bytes)",
		);
		expect(await archive(gzipSync(Buffer.from([0, 1, 2, 255])), "a.bin.gz")).toContain("not text");
	});
});

describe("hostile documents", () => {
	test.each<[string, () => Buffer, RegExp]>([
		["a zip bomb", () => makeDocx(" ".repeat(50_000_000)), /unpacks to more than/],
		[
			"a lying size",
			() => makeZip([{ name: "word/document.xml", content: "x".repeat(5000), claimedSize: 10 }]),
			/word\/document\.xml/,
		],
		["a cut archive", () => makeDocx(docxParagraph("x")).subarray(0, -30), /.+/],
		["a gzip bomb", () => gzipSync(Buffer.alloc(60_000_000)), /unpacks to more than/],
	])("%s is refused with its reason", { tags: "slow" }, async (_, make, reason) => {
		await expect(archive(make())).rejects.toThrow(reason);
	});

	test("entities of a document are not expanded", async () => {
		const bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>';
		const bytes = makeZip([
			{
				name: "word/document.xml",
				content: `${bomb}<w:document><w:body>${docxParagraph("&b;")}</w:body></w:document>`,
			},
		]);
		expect((await archive(bytes)).length).toBeLessThan(100);
	});

	test("a sheet with more than a million cells says what is missing", {
		tags: "slow",
	}, async () => {
		const row = Array.from({ length: 20 }, () => 1);
		const bytes = makeXlsx({ S: Array.from({ length: 50_010 }, () => row) });
		const text = await archive(bytes);
		expect(text.endsWith("[The sheet has more cells than are read.]")).toBe(true);
	});

	test("a reader says what is wrong, and reads the next document", { tags: "slow" }, async () => {
		const place = await openPlace();
		atEnd(() => place.close());
		const reader = place.reader();
		writeFileSync(join(place.root, "bomb.docx"), makeDocx(" ".repeat(50_000_000)));
		writeFileSync(join(place.root, "good.docx"), makeDocx(docxParagraph("fine")));
		await expect(reader.read({ uri: "bomb.docx" })).rejects.toMatchObject({
			code: "bad_document",
			message: expect.stringMatching(/^cannot read bomb\.docx: .*unpacks to more than/),
		});
		expect(await reader.read({ uri: "good.docx" })).toMatchObject({
			kind: "document",
			content: "fine",
		});
	});
});

describe("texts", () => {
	const text = async (format: "notebook" | "csv" | "feed" | "json" | "xml", given: string) =>
		(await convertDocument({ kind: "text", format, text: given })).markdown;

	test("notebooks are Markdown, code and outputs, without pictures", async () => {
		const notebook = {
			metadata: { language_info: { name: "python" } },
			cells: [
				{ cell_type: "markdown", source: ["# Title\n", "text"] },
				{
					cell_type: "code",
					source: "print(1)",
					outputs: [
						{ output_type: "stream", text: ["1\n"] },
						{
							output_type: "display_data",
							data: { "image/png": "AAAA", "text/plain": "<Figure>" },
						},
						{ output_type: "error", traceback: ["\u001b[31mValueError\u001b[0m", "bad"] },
					],
				},
			],
		};
		expect(await text("notebook", JSON.stringify(notebook))).toBe(
			"# Title\ntext\n\n```python\nprint(1)\n```\n\n```\n1\n```\n\n```\n<Figure>\n```\n\n[image/png]\n\n```\nValueError\nbad\n```",
		);
		expect(await text("notebook", "{broken")).toBe("{broken");
	});

	test("comma-separated values are a table", async () => {
		expect(await text("csv", 'a,b\r\n"x, ""y""\nz",1\n')).toBe(
			'| a | b |\n| --- | --- |\n| x, "y" z | 1 |',
		);
		expect(await text("csv", "a;b\n1;2")).toBe("| a | b |\n| --- | --- |\n| 1 | 2 |");
		expect(await text("csv", '"never closed')).toBe("| never closed |\n| --- |");
	});

	test.each([
		[
			"RSS",
			'<?xml version="1.0"?><rss><channel><title>News</title><link>https://e.com</link><item><title>A &amp; B</title><link>https://e.com/a</link><pubDate>Mon</pubDate><description><![CDATA[<p>Some <b>text</b></p>]]></description></item></channel></rss>',
		],
		[
			"Atom",
			'<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry><title>A &amp; B</title><link href="https://e.com/a"/><updated>x</updated><published>Mon</published><summary type="html">&lt;p&gt;Some &lt;b&gt;text&lt;/b&gt;&lt;/p&gt;</summary></entry></feed>',
		],
	])("feeds in %s are entries with link, date and text", async (_, xml) => {
		expect(await convertDocument({ kind: "text", format: "feed", text: xml })).toEqual({
			markdown: "## [A & B](https://e.com/a)\n\nMon\n\nSome **text**",
			title: "News",
		});
	});

	test("JSON on one line is indented without changing its values", async () => {
		const json = '{"a":[1.0,{"b":"x, \\"y\\": {"}],"c":{},"d":[],"e":12345678901234567890}';
		const pretty = await text("json", json);
		expect(pretty).toBe(
			'{\n  "a": [\n    1.0,\n    {\n      "b": "x, \\"y\\": {"\n    }\n  ],\n  "c": {},\n  "d": [],\n  "e": 12345678901234567890\n}',
		);
	});

	test("JSON with a string of millions of characters, or open at its end, keeps every character", async () => {
		const long = "x".repeat(5_000_000);
		expect(await text("json", `{"a":"${long}\\\\","b":1}`)).toBe(
			`{\n  "a": "${long}\\\\",\n  "b": 1\n}`,
		);
		expect(await text("json", `["${long}`)).toBe(`[\n  "${long}`);
	});

	test("JSON and XML of deep nesting do not outgrow their text", async () => {
		const deep = 100_000;
		expect((await text("json", "[".repeat(deep))).length).toBeLessThan(7 * deep);
		expect((await text("xml", "<a>".repeat(deep))).length).toBeLessThan(7 * 3 * deep);
	});

	test.each(["<!--", "<![CDATA[", "<a "])(
		"XML of many %s without an end stays as it is",
		async (start) => {
			const xml = start.repeat(100_000);
			expect((await text("xml", xml)).replace(/\s/g, "")).toBe(xml.replace(/\s/g, ""));
		},
	);

	test("XML on one line has a line for each element", async () => {
		expect(await text("xml", "<a><b>text</b><c/><d></d></a>")).toBe(
			"<a>\n  <b>text</b>\n  <c/>\n  <d></d>\n</a>",
		);
	});
});
