import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { convertDocument } from "../../../src/paging/documents/convert.ts";
import { pageText } from "../../../src/paging/paged-reader.ts";
import { openPlace } from "../../contracts/paged-source.ts";
import { docxParagraph, makeDocx, makeOpenDocument } from "../../support/make-documents.ts";
import { makeZip } from "../../support/make-zip.ts";
import { atEnd } from "../../support/temp.ts";

const read = (bytes: Buffer, everything = false) =>
	convertDocument({ kind: "archive", bytes, name: "a", everything });
const rels = (targets: Record<string, string>) =>
	`<Relationships>${Object.entries(targets)
		.map(([id, target]) => `<Relationship Id="${id}" Target="${target}"/>`)
		.join("")}</Relationships>`;

describe("a Word document", () => {
	const run = (text: string, properties = "") =>
		`<w:r><w:rPr>${properties}</w:rPr><w:t>${text}</w:t></w:r>`;
	const body = [
		`<w:p>${run("shown ")}${run("secret ", "<w:vanish/>")}${run("visible", '<w:vanish w:val="0"/>')}</w:p>`,
		`<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:moveFrom>${run("moved")}</w:moveFrom><w:moveTo>${run("moved")}</w:moveTo></w:p>`,
		`<w:p>${run("text")}<w:r><w:commentReference w:id="4"/></w:r></w:p>`,
	].join("");
	const bytes = makeDocx(body, {
		"word/comments.xml": `<w:comments><w:comment w:id="4" w:author="Ann">${docxParagraph("really?")}</w:comment></w:comments>`,
		"word/header1.xml": `<w:hdr>${docxParagraph("Draft")}</w:hdr>`,
		"word/header2.xml": `<w:hdr>${docxParagraph("Draft")}</w:hdr>`,
		"word/footer1.xml": `<w:ftr>${docxParagraph("Page 1")}</w:ftr>`,
	});

	test("shows comments with their authors, and counts hidden and deleted text, headers and footers", async () => {
		expect(await read(bytes)).toEqual({
			markdown:
				"shown visible\n\nmoved\n\ntext[comment 4]\n\n## Comments\n\n[comment 4] Ann:\n\nreally?",
			leftOut: { "headers and footers": 11, "hidden text": 7, "deleted text": 4 },
		});
	});

	test("has all of it if everything is wanted", async () => {
		const { markdown, leftOut } = await read(bytes, true);
		expect(markdown).toContain("shown secret visible");
		expect(markdown).toContain("~~gone~~moved");
		expect(markdown).toContain("## Headers and footers\n\nDraft\n\nPage 1");
		expect(leftOut).toBeUndefined();
	});
});

describe("a workbook", () => {
	const sheet = (text: string) =>
		`<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>${text}</t></is></c></row></sheetData></worksheet>`;
	const bytes = makeZip([
		{
			name: "xl/workbook.xml",
			content:
				'<workbook><sheets><sheet name="Seen" r:id="r1"/><sheet name="Aside" state="hidden" r:id="r2"/><sheet name="Deep" state="veryHidden" r:id="r3"/></sheets></workbook>',
		},
		{
			name: "xl/_rels/workbook.xml.rels",
			content: rels({
				r1: "worksheets/s1.xml",
				r2: "worksheets/s2.xml",
				r3: "worksheets/s3.xml",
			}),
		},
		{ name: "xl/worksheets/s1.xml", content: sheet("open") },
		{ name: "xl/worksheets/s2.xml", content: sheet("hidden") },
		{ name: "xl/worksheets/s3.xml", content: sheet("deep") },
		{
			name: "xl/worksheets/_rels/s1.xml.rels",
			content: rels({ c: "../comments1.xml" }),
		},
		{
			name: "xl/comments1.xml",
			content:
				'<comments><authors><author>Ann</author></authors><commentList><comment ref="B2"><text><r><t>why </t></r><r><t>so?</t></r></text></comment></commentList></comments>',
		},
	]);

	test("shows comments with their cells, and counts hidden sheets", async () => {
		expect(await read(bytes)).toEqual({
			markdown: "## Seen\n\n| open |\n| --- |\n\nComments:\n\n- B2: why so?",
			leftOut: { "hidden sheets": 34 },
		});
		const { markdown } = await read(bytes, true);
		expect(markdown).toContain("## Aside (hidden)\n\n| hidden |");
		expect(markdown).toContain("## Deep (hidden)");
	});
});

describe("slides", () => {
	const text = (content: string, link = "") =>
		`<p:sp><p:txBody><a:p><a:r><a:rPr>${link}</a:rPr><a:t>${content}</a:t></a:r><a:r><a:t> end</a:t></a:r></a:p></p:txBody></p:sp>`;
	const bytes = makeZip([
		{
			name: "ppt/presentation.xml",
			content:
				'<p:presentation><p:sldIdLst><p:sldId r:id="r1"/><p:sldId r:id="r2"/></p:sldIdLst></p:presentation>',
		},
		{
			name: "ppt/_rels/presentation.xml.rels",
			content: rels({ r1: "slides/slide1.xml", r2: "slides/slide2.xml" }),
		},
		{
			name: "ppt/slides/slide1.xml",
			content: `<p:sld>${text("site", '<a:hlinkClick r:id="l1"/>')}${text("jump", '<a:hlinkClick r:id="l2"/>')}</p:sld>`,
		},
		{
			name: "ppt/slides/_rels/slide1.xml.rels",
			content: rels({
				l1: "https://e.com/?a=1&amp;b=2",
				l2: "slide2.xml",
				c: "../comments/comment1.xml",
			}),
		},
		{
			name: "ppt/comments/comment1.xml",
			content: "<p:cmLst><p:cm><p:text>too small</p:text></p:cm></p:cmLst>",
		},
		{ name: "ppt/slides/slide2.xml", content: `<p:sld show="0">${text("backup")}</p:sld>` },
	]);

	test("have links and comments, and count hidden ones", async () => {
		expect(await read(bytes)).toEqual({
			markdown:
				"## Slide 1\n\n[site](https://e.com/?a=1&b=2) end\n\njump end\n\n**Comments:**\n\ntoo small",
			leftOut: { "hidden slides": 10 },
		});
		expect((await read(bytes, true)).markdown).toContain("## Slide 2 (hidden)\n\nbackup end");
	});
});

describe("OpenDocument", () => {
	test("texts show comments, and count hidden and deleted text", async () => {
		const body =
			'<text:tracked-changes><text:changed-region><text:deletion><office:change-info><dc:creator>Ann</dc:creator><dc:date>2026</dc:date></office:change-info><text:p>gone</text:p></text:deletion></text:changed-region></text:tracked-changes><text:p>in<office:annotation><dc:creator>Ann</dc:creator><dc:date>2026</dc:date><text:p>why?</text:p></office:annotation> text</text:p><text:section text:display="none"><text:p>secret</text:p></text:section><text:p>end</text:p>';
		const bytes = makeOpenDocument("text", body);
		expect(await read(bytes)).toEqual({
			markdown: "in[comment 1] text\n\nend\n\n## Comments\n\n[comment 1] Ann:\n\nwhy?",
			leftOut: { "hidden text": 6, "deleted text": 4 },
		});
		const { markdown } = await read(bytes, true);
		expect(markdown).toContain("secret\n\nend");
		expect(markdown).toContain("## Deleted text\n\ngone");
	});

	test("sheets show comments with their cells, and count hidden ones", async () => {
		const cell = (text: string) => `<table:table-cell>${text}</table:table-cell>`;
		const note =
			"<office:annotation><dc:creator>Ann</dc:creator><text:p>why?</text:p></office:annotation>";
		const bytes = makeZip([
			{ name: "mimetype", content: "application/vnd.oasis.opendocument.spreadsheet" },
			{
				name: "content.xml",
				content: `<office:document-content><office:automatic-styles><style:style style:name="ta2"><style:table-properties table:display="false"/></style:style></office:automatic-styles><office:body><office:spreadsheet><table:table table:name="S"><table:table-row>${cell("<text:p>a</text:p>")}${cell(`${note}<text:p>b</text:p>`)}</table:table-row></table:table><table:table table:name="H" table:style-name="ta2"><table:table-row>${cell("<text:p>c</text:p>")}</table:table-row></table:table></office:spreadsheet></office:body></office:document-content>`,
			},
		]);
		expect(await read(bytes)).toEqual({
			markdown: "## S\n\n| a | b |\n| --- | --- |\n\nComments:\n\n- B1: why?",
			leftOut: { "hidden sheets": 13 },
		});
		expect((await read(bytes, true)).markdown).toContain("## H (hidden)\n\n| c |");
	});
});

test("a reader says in one line what of a document is left out, and how to have it", {
	tags: "slow",
}, async () => {
	const place = await openPlace();
	atEnd(() => place.close());
	const bytes = makeDocx(docxParagraph("text"), {
		"word/footer1.xml": `<w:ftr>${docxParagraph("Page 1")}</w:ftr>`,
	});
	writeFileSync(join(place.root, "a.docx"), bytes);
	const reader = place.reader();
	const query = { uri: "a.docx" };
	const chunk = await reader.read(query);
	expect(chunk.left_out).toEqual({ "headers and footers": 6 });
	expect(pageText(chunk, query, (token) => token)).toMatch(
		/\[Left out: headers and footers 6 characters\. For the whole document, read: page:;;\*;a\.docx\]$/,
	);
	const whole = await reader.read({ ...query, everything: true });
	expect(whole.content).toContain("Page 1");
	expect(whole.left_out).toBeUndefined();
});
