import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { convertDocument } from "../../../src/paging/documents/convert.ts";
import { docxParagraph, makeDocx, makeOpenDocument } from "../../support/make-documents.ts";
import { makePdf } from "../../support/make-pdf.ts";
import { makeZip } from "../../support/make-zip.ts";

const archive = async (bytes: Buffer, name = "a.zip") =>
	(await convertDocument({ kind: "archive", bytes, name })).markdown;
const text = async (format: "csv" | "notebook", given: string) =>
	(await convertDocument({ kind: "text", format, text: given })).markdown;

function workbook(sheet: string): Buffer {
	return makeZip([
		{
			name: "xl/workbook.xml",
			content: '<workbook><sheets><sheet name="S" r:id="r1"/></sheets></workbook>',
		},
		{
			name: "xl/_rels/workbook.xml.rels",
			content: '<Relationships><Relationship Id="r1" Target="worksheets/s.xml"/></Relationships>',
		},
		...(sheet === "" ? [] : [{ name: "xl/worksheets/s.xml", content: sheet }]),
	]);
}

describe("a workbook", () => {
	test("has no cells from comments of its XML", async () => {
		const cell = (value: number) => `<row><c r="A1"><v>${value}</v></c></row>`;
		const sheet = `<worksheet><!-- ${cell(666)} --><sheetData>${cell(1)}</sheetData></worksheet>`;
		expect(await archive(workbook(sheet))).toBe("## S\n\n| 1 |\n| --- |");
	});

	test("keeps sections of unescaped text", async () => {
		const cell = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`;
		const sheet = `<row>${cell("<![CDATA[a & <b]]>")}${cell("x &amp; <![CDATA[&amp;]]> y<![CDATA[]]>")}</row>`;
		expect(await archive(workbook(sheet))).toContain("| a & &lt;b | x & &amp; y |");
	});

	test("says that a sheet is missing", async () => {
		expect(await archive(workbook(""))).toBe("## S\n\n[This sheet is missing in the file.]");
	});
});

test("a Word document is found under the name that its relations give", async () => {
	const bytes = makeZip([
		{
			name: "_rels/.rels",
			content:
				'<Relationships><Relationship Id="r" Target="docProps/core.xml"/><Relationship Id="r2" Target="/word/document2.xml"/></Relationships>',
		},
		{ name: "word/document2.xml", content: `<w:document>${docxParagraph("text")}</w:document>` },
	]);
	expect(await archive(bytes)).toBe("text");
});

test("names of archives are listed as they are, on one line, without invisible signs", async () => {
	const names = ["../../etc/passwd", "/abs", "a\nb\u202egpj.exe"];
	const bytes = makeZip(names.map((name) => ({ name, content: "x" })));
	expect(await archive(bytes)).toBe(
		"Archive with 3 entries:\n\n- ../../etc/passwd (1 bytes)\n- /abs (1 bytes)\n- a b gpj.exe (1 bytes)",
	);
});

test("a document in gzip is read, a PDF in gzip is named", async () => {
	const docx = makeDocx(docxParagraph("inside"));
	expect(await archive(gzipSync(docx), "a.docx.gz")).toBe("inside");
	const pdf = makePdf({ pages: [{ lines: ["x"] }] });
	expect(await archive(gzipSync(pdf), "a.pdf.gz")).toMatch(/^a\.pdf: \d+ bytes of a PDF/);
});

test("hidden parts in hidden parts are counted once", async () => {
	const hidden = '<text:section text:display="none"><text:p>';
	const body = `${hidden.repeat(3)}deep${"</text:p></text:section>".repeat(3)}<text:p>end</text:p>`;
	const bytes = makeOpenDocument("text", body);
	expect(await convertDocument({ kind: "archive", bytes, name: "a.odt" })).toEqual({
		markdown: "end",
		leftOut: { "hidden text": 4 },
	});
});

test("separated values may name their separator, and it may be a bar", async () => {
	const table = "| a | b |\n| --- | --- |\n| 1,5 | 2 |";
	expect(await text("csv", "sep=;\r\na;b\r\n1,5;2\r\n")).toBe(table);
	expect(await text("csv", "a|b\n1,5|2\n")).toBe(table);
});

describe("a notebook", () => {
	test("of version 3 has its cells", async () => {
		const cell = { cell_type: "code", input: ["print(", "1)"], outputs: [] };
		const notebook = { worksheets: [{ cells: [cell] }] };
		expect(await text("notebook", JSON.stringify(notebook))).toBe("```\nprint(1)\n```");
	});

	test("shows outputs that are only HTML or LaTeX", async () => {
		const output = (data: object) => ({ output_type: "execute_result", data });
		const outputs = [output({ "text/html": ["<b>", "x</b>"] }), output({ "text/latex": "$x$" })];
		const notebook = { cells: [{ cell_type: "code", source: "", outputs }] };
		expect(await text("notebook", JSON.stringify(notebook))).toBe("**x**\n\n```\n$x$\n```");
	});
});
