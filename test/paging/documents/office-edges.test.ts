import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { convertDocument } from "../../../src/paging/documents/convert.ts";
import { textFormat } from "../../../src/paging/text-format.ts";
import { docxParagraph, makeDocx, makeOpenDocument } from "../../support/make-documents.ts";
import { makeZip } from "../../support/make-zip.ts";

const archive = async (bytes: Buffer, name = "a.zip") =>
	(await convertDocument({ kind: "archive", bytes, name })).markdown;
const converted = async (format: "notebook" | "csv" | "feed", text: string) =>
	await convertDocument({ kind: "text", format, text });

describe("Word documents", () => {
	test("keep the text around a text box, and the text in it once", async () => {
		const box = (text: string) => `<w:txbxContent>${docxParagraph(text)}</w:txbxContent>`;
		const text = await archive(
			makeDocx(
				`<w:p><w:r><w:t>before </w:t></w:r><w:r><mc:AlternateContent><mc:Choice>${box("boxed")}</mc:Choice><mc:Fallback>${box("boxed")}</mc:Fallback></mc:AlternateContent></w:r><w:r><w:t>after</w:t></w:r></w:p>`,
			),
		);
		expect(text).toBe("boxed\n\nbefore after");
	});

	test("resolve the links of notes by the relations of the notes, without Word's separators", async () => {
		const rels = (target: string) =>
			`<Relationships><Relationship Id="rId1" Target="${target}"/></Relationships>`;
		const bytes = makeDocx(docxParagraph("text"), {
			"word/_rels/document.xml.rels": rels("styles.xml"),
			"word/_rels/footnotes.xml.rels": rels("https://e.com/note"),
			"word/footnotes.xml": `<w:footnotes><w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote><w:footnote w:id="1"><w:p><w:hyperlink r:id="rId1"><w:r><w:t>see</w:t></w:r></w:hyperlink></w:p></w:footnote></w:footnotes>`,
			"word/endnotes.xml": `<w:endnotes><w:endnote w:type="separator" w:id="-1"><w:p/></w:endnote></w:endnotes>`,
		});
		expect(await archive(bytes)).toBe("text\n\n## Footnotes\n\n[^1]:\n\n[see](https://e.com/note)");
	});

	test("keep hyphens that do not break, and headings with a number", async () => {
		const number = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>';
		const bytes = makeDocx(
			`${docxParagraph("Scope", `<w:pStyle w:val="Heading2"/>${number}`)}<w:p><w:r><w:t>e</w:t><w:noBreakHyphen/><w:t>mail</w:t></w:r></w:p>`,
		);
		expect(await archive(bytes)).toBe("## Scope\n\ne-mail");
	});
});

test("a table of a slide is kept after a placeholder that is left out", async () => {
	const slide =
		'<p:sld><p:sp><p:nvSpPr><p:nvPr><p:ph type="sldNum"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>7</a:t></a:r></a:p></p:txBody></p:sp><p:graphicFrame><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>cell</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></p:graphicFrame></p:sld>';
	const bytes = makeZip([
		{
			name: "ppt/presentation.xml",
			content: '<p:presentation><p:sldIdLst><p:sldId r:id="r1"/></p:sldIdLst></p:presentation>',
		},
		{
			name: "ppt/_rels/presentation.xml.rels",
			content: '<Relationships><Relationship Id="r1" Target="slides/slide1.xml"/></Relationships>',
		},
		{ name: "ppt/slides/slide1.xml", content: slide },
	]);
	const text = await archive(bytes);
	expect(text).toContain("cell");
	expect(text).not.toContain("7");
});

test("notes of an OpenDocument text are cited, not run into the text", async () => {
	const bytes = makeOpenDocument(
		"text",
		"<text:p>in 2019<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Source</text:p></text:note-body></text:note> it rose</text:p>",
	);
	expect(await archive(bytes)).toBe("in 2019[^1] it rose\n\n## Notes\n\n[^1]:\n\nSource");
});

test("lists of an OpenDocument text have numbers if their style has them", async () => {
	const list = (style: string, items: string) =>
		`<text:list${style && ` text:style-name="${style}"`}>${items}</text:list>`;
	const item = (text: string, inner = "") =>
		`<text:list-item><text:p>${text}</text:p>${inner}</text:list-item>`;
	const bytes = makeZip([
		{ name: "mimetype", content: "application/vnd.oasis.opendocument.text" },
		{
			name: "content.xml",
			content: `<office:document-content><office:automatic-styles><text:list-style style:name="L1"><text:list-level-style-number text:level="1"/></text:list-style></office:automatic-styles><office:body>${list("L1", item("one", list("", item("inner"))) + item("two"))}${list("L2", item("dot"))}</office:body></office:document-content>`,
		},
	]);
	expect(await archive(bytes)).toBe("1. one\n   1. inner\n2. two\n\n- dot");
});

test("an OpenDocument sheet has its repeated rows, its line breaks, and no notes in its values", async () => {
	const bytes = makeOpenDocument(
		"spreadsheet",
		'<table:table table:name="S"><table:table-row><table:table-cell><text:p>h</text:p></table:table-cell></table:table-row><table:table-row table:number-rows-repeated="3"><table:table-cell><office:annotation><dc:creator>Ann</dc:creator><text:p>hm</text:p></office:annotation><text:p>a<text:line-break/>b</text:p></table:table-cell></table:table-row></table:table>',
	);
	expect(await archive(bytes)).toBe(
		"## S\n\n| h |\n| --- |\n| a b |\n| a b |\n| a b |\n\nComments:\n\n- A2: hm",
	);
});

test("a workbook shows spans of time as hours, and dates with fractions of seconds as dates", async () => {
	const bytes = makeZip([
		{
			name: "xl/workbook.xml",
			content: '<workbook><sheets><sheet name="S" r:id="r1"/></sheets></workbook>',
		},
		{
			name: "xl/_rels/workbook.xml.rels",
			content: '<Relationships><Relationship Id="r1" Target="worksheets/s.xml"/></Relationships>',
		},
		{
			name: "xl/styles.xml",
			content:
				'<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[h]:mm"/><numFmt numFmtId="165" formatCode="yyyy-mm-dd hh:mm:ss.000"/><numFmt numFmtId="166" formatCode="[Red]0.00"/></numFmts><cellXfs><xf numFmtId="164"/><xf numFmtId="46"/><xf numFmtId="165"/><xf numFmtId="166"/></cellXfs></styleSheet>',
		},
		{
			name: "xl/worksheets/s.xml",
			content:
				'<worksheet><row><c r="A1" s="0"><v>1.5</v></c><c r="B1" s="1"><v>0.25</v></c><c r="C1" s="2"><v>45000.5</v></c><c r="D1" s="3"><v>1.5</v></c></row></worksheet>',
		},
	]);
	expect(await archive(bytes)).toContain("| 36:00:00 | 6:00:00 | 2023-03-15 12:00:00 | 1.5 |");
});

test("a row that is too wide does not end its sheet", async () => {
	const wide = Array.from({ length: 600 }, (_, i) => `c${i}`).join(",");
	const { markdown } = await converted("csv", `${wide}\nsecond,row\n`);
	expect(markdown).toContain("| second | row |");
	expect(markdown).toContain("[The sheet has more cells than are read.]");
});

test("long code of a notebook without a language is kept whole", async () => {
	const source = `${"x = 1\n".repeat(3000)}end`;
	const notebook = { cells: [{ cell_type: "code", source, outputs: [] }] };
	expect((await converted("notebook", JSON.stringify(notebook))).markdown).toBe(
		`\`\`\`\n${source}\n\`\`\``,
	);
});

test("a tar with a negative size is listed to its end", async () => {
	const header = Buffer.alloc(512);
	header.write("a");
	header.write("-7777777777\0", 124);
	header.write("x", 156);
	header.write("ustar", 257);
	const tar = Buffer.concat([header, Buffer.alloc(1024)]);
	expect(await archive(gzipSync(tar), "a.tgz")).toContain("Archive with 0 entries");
});

describe("feeds", () => {
	const rss = (items: string) => `<rss><channel><title>Blog</title>${items}</channel></rss>`;

	test("keep the entities of code in CDATA", async () => {
		const { markdown } = await converted(
			"feed",
			rss(
				"<item><title><![CDATA[A &amp; B]]></title><description><![CDATA[<pre><code>&lt;div&gt; &amp;amp;</code></pre>]]></description></item>",
			),
		);
		expect(markdown).toContain("## A & B");
		expect(markdown).toContain("<div> &amp;");
	});

	test("keep content that is written as XHTML", async () => {
		const { markdown } = await converted(
			"feed",
			'<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>A</title><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Some <a href="https://e.com/">1 &lt; 2</a><br/>text</p></div></content></entry></feed>',
		);
		expect(markdown).toContain("Some [1 < 2](https://e.com/)");
		expect(markdown).toContain("text");
	});

	test("say each title once, and keep an entry after markup that is left open", async () => {
		const found = await converted(
			"feed",
			rss(
				"<image><title>Blog</title></image><item><title>One</title><itunes:title>One</itunes:title><description>&lt;!-- open</description></item><item><title>Two</title><description>second</description></item>",
			),
		);
		expect(found).toEqual({ markdown: "## One\n\n## Two\n\nsecond", title: "Blog" });
	});

	test("are known by their root, and without entries are shown as they are", async () => {
		const other = '<?xml version="1.0"?>\n<config>\n<feed url="x"/>\n</config>';
		expect(textFormat(other, undefined, "a.xml")).toBeUndefined();
		expect(textFormat('<?xml version="1.0"?><!-- x -->\n<rss>', undefined, "a.xml")).toBe("feed");
		const rdf = '<rdf:RDF><owl:Class rdf:about="#A"/></rdf:RDF>';
		expect((await converted("feed", rdf)).markdown).toBe(rdf);
	});
});

test("a book has its notes after its chapters, and parts in UTF-16", async () => {
	const chapter = Buffer.from("\ufeff<html><body><p>Text</p></body></html>", "utf16le").swap16();
	const bytes = makeZip([
		{ name: "mimetype", content: "application/epub+zip" },
		{
			name: "META-INF/container.xml",
			content: '<container><rootfile full-path="book.opf"/></container>',
		},
		{
			name: "book.opf",
			content:
				'<package><manifest><item id="n" href="n.xhtml"/><item id="c" href="c.xhtml"/></manifest><spine><itemref idref="n" linear="no"/><itemref idref="c"/></spine></package>',
		},
		{ name: "n.xhtml", content: "<html><body><p>A note</p></body></html>" },
		{ name: "c.xhtml", content: chapter },
	]);
	expect(await archive(bytes)).toBe("Text\n\nA note");
});
