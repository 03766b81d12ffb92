import { describe, expect, test } from "vitest";
import { convertDocument } from "../../../src/paging/documents/convert.ts";
import { docxParagraph, makeDocx, makeOpenDocument } from "../../support/make-documents.ts";
import { makeZip } from "../../support/make-zip.ts";

const archive = async (bytes: Buffer, name = "a.zip") =>
	(await convertDocument({ kind: "archive", bytes, name })).markdown;
const csv = async (text: string) =>
	(await convertDocument({ kind: "text", format: "csv", text })).markdown;

test("separators in quotes do not decide what separates values", async () => {
	expect(await csv('"Doe, Jane, Dr.";"a, b"\n1;2')).toBe(
		"| Doe, Jane, Dr. | a, b |\n| --- | --- |\n| 1 | 2 |",
	);
	expect(await csv('"two\nlines, so";b\n1;2')).toBe(
		"| two lines, so | b |\n| --- | --- |\n| 1 | 2 |",
	);
});

test("quotes inside of a value, such as inches, quote nothing", async () => {
	expect(await csv('Size 5";Price;Colour\n3;4,50;red')).toBe(
		'| Size 5" | Price | Colour |\n| --- | --- | --- |\n| 3 | 4,50 | red |',
	);
});

describe("a Word document", () => {
	test("tells its endnotes from its footnotes, which have the same numbers", async () => {
		const note = (kind: string) =>
			`<w:${kind}s><w:${kind} w:id="2">${docxParagraph(`A ${kind}.`)}</w:${kind}></w:${kind}s>`;
		const bytes = makeDocx(
			`<w:p><w:r><w:t>one</w:t><w:footnoteReference w:id="2"/><w:t> two</w:t><w:endnoteReference w:id="2"/></w:r></w:p>`,
			{ "word/footnotes.xml": note("footnote"), "word/endnotes.xml": note("endnote") },
		);
		expect(await archive(bytes)).toBe(
			"one[^2] two[^e2]\n\n## Footnotes\n\n[^2]:\n\nA footnote.\n\n## Endnotes\n\n[^e2]:\n\nA endnote.",
		);
	});

	test("has the lists of its paragraph styles, unless a paragraph takes them back", async () => {
		const style = (id: string, inner: string) => `<w:style w:styleId="${id}">${inner}</w:style>`;
		const bytes = makeDocx(
			[
				docxParagraph("first", '<w:pStyle w:val="Steps"/>'),
				docxParagraph("inner", '<w:pStyle w:val="Points"/>'),
				docxParagraph("second", '<w:pStyle w:val="More"/>'),
				docxParagraph("plain", '<w:pStyle w:val="Steps"/><w:numPr><w:numId w:val="0"/></w:numPr>'),
				docxParagraph("text"),
			].join(""),
			{
				"word/styles.xml": `<w:styles>${[
					style("Steps", '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>'),
					style("More", '<w:basedOn w:val="Steps"/>'),
					style(
						"Points",
						'<w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="2"/></w:numPr></w:pPr>',
					),
				].join("")}</w:styles>`,
				"word/numbering.xml":
					'<w:numbering><w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num></w:numbering>',
			},
		);
		expect(await archive(bytes)).toBe("1. first\n   - inner\n2. second\n\nplain\n\ntext");
	});
});

test("a list in a list of an OpenDocument text has the kind of its level", async () => {
	const bytes = makeZip([
		{ name: "mimetype", content: "application/vnd.oasis.opendocument.text" },
		{
			name: "content.xml",
			content:
				'<office:document-content><office:automatic-styles><text:list-style style:name="L"><text:list-level-style-number text:level="1"/><text:list-level-style-bullet text:level="2"/></text:list-style></office:automatic-styles><office:body><office:text><text:list text:style-name="L"><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>detail</text:p></text:list-item></text:list></text:list-item></text:list></office:text></office:body></office:document-content>',
		},
	]);
	expect(await archive(bytes)).toBe("1. one\n   - detail");
});

test("cells of an OpenDocument sheet that have a value and no text show the value", async () => {
	const cell = (value: string) => `<table:table-cell ${value}/>`;
	const bytes = makeOpenDocument(
		"spreadsheet",
		`<table:table table:name="S"><table:table-row>${[
			cell('office:value-type="float" office:value="12.5"'),
			cell('office:value-type="date" office:date-value="2024-03-04"'),
			cell('office:value-type="boolean" office:boolean-value="true"'),
			cell('office:value-type="string" office:string-value="text"'),
		].join("")}</table:table-row></table:table>`,
	);
	expect(await archive(bytes)).toContain("| 12.5 | 2024-03-04 | true | text |");
});

test("a workbook shows dates in the formats that programs in East Asia have built in", async () => {
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
			content: '<styleSheet><cellXfs><xf numFmtId="31"/><xf numFmtId="57"/></cellXfs></styleSheet>',
		},
		{
			name: "xl/worksheets/s.xml",
			content:
				'<worksheet><sheetData><row><c r="A1" s="0"><v>45355</v></c><c r="B1" s="1"><v>45356</v></c></row></sheetData></worksheet>',
		},
	]);
	expect(await archive(bytes)).toContain("| 2024-03-04 | 2024-03-05 |");
});

test("a chapter of a book in a declared charset is read in it", async () => {
	const chapter = Buffer.concat([
		Buffer.from('<?xml version="1.0" encoding="windows-1251"?><html><body><p>'),
		Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]),
		Buffer.from("</p></body></html>"),
	]);
	const bytes = makeZip([
		{ name: "mimetype", content: "application/epub+zip" },
		{
			name: "META-INF/container.xml",
			content: '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>',
		},
		{
			name: "b.opf",
			content:
				'<package><manifest><item id="c" href="c.xhtml"/></manifest><spine><itemref idref="c"/></spine></package>',
		},
		{ name: "c.xhtml", content: chapter },
	]);
	expect(await archive(bytes)).toBe("Привет");
});
