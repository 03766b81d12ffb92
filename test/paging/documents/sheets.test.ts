import { expect, test } from "vitest";
import { convertDocument } from "../../../src/paging/documents/convert.ts";
import { makeOpenDocument } from "../../support/make-documents.ts";
import { makeZip } from "../../support/make-zip.ts";

const relations = (targets: Record<string, string>) =>
	`<Relationships>${Object.entries(targets)
		.map(([id, target]) => `<Relationship Id="${id}" Target="${target}"/>`)
		.join("")}</Relationships>`;

async function read(sheet: string, parts: Record<string, string> = {}): Promise<string> {
	const all = {
		"xl/workbook.xml":
			'<workbook><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
		"xl/_rels/workbook.xml.rels": relations({ r1: "worksheets/sheet1.xml" }),
		"xl/worksheets/sheet1.xml": `<worksheet>${sheet}</worksheet>`,
		...parts,
	};
	const bytes = makeZip(Object.entries(all).map(([name, content]) => ({ name, content })));
	return (await convertDocument({ kind: "archive", bytes, name: "a.xlsx" })).markdown;
}

const row = (...cells: string[]) => `<row>${cells.join("")}</row>`;
const data = (...rows: string[]) => `<sheetData>${rows.join("")}</sheetData>`;
const table = (...rows: string[]) => {
	const [first = "", ...rest] = rows;
	const rule = `|${" --- |".repeat(first.split("|").length - 2)}`;
	return ["## S", "", first, rule, ...rest].join("\n");
};

test("a formula that no program has calculated is shown itself", async () => {
	const cells = row("<c><v>1</v></c>", "<c><f>A1*2</f><v/></c>", "<c><f>A1&gt;0</f></c>");
	expect(await read(data(cells, row("<c><f>A1+1</f><v>2</v></c>")))).toBe(
		table("| 1 | =A1*2 | =A1>0 |", "| 2 |"),
	);
});

test("shares are percentages, fractions have no digits of the computer's, long numbers keep all of theirs", async () => {
	const styles =
		'<styleSheet><numFmts><numFmt numFmtId="164" formatCode="0.00%"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="9"/><xf numFmtId="164"/></cellXfs></styleSheet>';
	const cells = row(
		'<c s="1"><v>7.0000000000000007E-2</v></c>',
		'<c s="2"><v>0.125</v></c>',
		"<c><v>0.30000000000000004</v></c>",
		"<c><v>12345678901234567</v></c>",
		'<c s="1" t="s"><v>0</v></c>',
	);
	const strings = "<sst><si><t>n/a</t></si></sst>";
	const parts = { "xl/styles.xml": styles, "xl/sharedStrings.xml": strings };
	expect(await read(data(cells), parts)).toBe(
		table("| 7% | 12.5% | 0.3 | 12345678901234567 | n/a |"),
	);
});

test("cells that link have the address, in workbooks of both kinds", async () => {
	const sheet = `${data(row('<c r="A1" t="inlineStr"><is><t>site</t></is></c>'))}<hyperlinks><hyperlink ref="A1" r:id="r9"/><hyperlink ref="A2" location="S!A1"/></hyperlinks>`;
	const parts = {
		"xl/worksheets/_rels/sheet1.xml.rels": relations({ r9: "https://e.com/a(b)" }),
	};
	const linked = table("| [site](https://e.com/a%28b%29) |");
	expect(await read(sheet, parts)).toBe(linked);
	const open = makeOpenDocument(
		"spreadsheet",
		'<table:table table:name="S"><table:table-row><table:table-cell><text:p><text:a xlink:href="https://e.com/a(b)">site</text:a></text:p></table:table-cell></table:table-row></table:table>',
	);
	expect((await convertDocument({ kind: "archive", bytes: open, name: "a.ods" })).markdown).toBe(
		linked,
	);
});

test("characters that Excel escapes are read, and reading aids are not", async () => {
	const text = (value: string) => `<c t="inlineStr"><is>${value}</is></c>`;
	const cells = row(
		text("<t>a_x0041_b</t>"),
		text("<t>_x005F_x0041_</t>"),
		text("<t>x_xD83D_y</t>"),
		text('<t>漢</t><rPh sb="0" eb="1"><t>kan</t></rPh>'),
	);
	expect(await read(data(cells))).toBe(table("| aAb | _x0041_ | x\ufffdy | 漢 |"));
});

test("boxes on a sheet have their text, and a sheet that is a chart says so", async () => {
	const box = (text: string) =>
		`<xdr:sp><xdr:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></xdr:txBody></xdr:sp>`;
	const parts = {
		"xl/worksheets/_rels/sheet1.xml.rels": relations({ r1: "../drawings/drawing1.xml" }),
		"xl/drawings/drawing1.xml": `<xdr:wsDr>${box("see below")}${box("")}</xdr:wsDr>`,
	};
	expect(await read(data(), parts)).toBe("## S\n\nText boxes:\n\n- see below");
	const chart = {
		"xl/_rels/workbook.xml.rels": relations({ r1: "chartsheets/sheet1.xml" }),
		"xl/chartsheets/sheet1.xml": "<chartsheet/>",
	};
	expect(await read(data(), chart)).toBe("## S\n\n(a chart)");
});

test("an OpenDocument cell that stands for many columns is in all of them, or the sheet says that it is cut", async () => {
	const sheet = (columns: number) =>
		makeOpenDocument(
			"spreadsheet",
			`<table:table table:name="S"><table:table-row><table:table-cell table:number-columns-repeated="${columns}"><text:p>x</text:p></table:table-cell></table:table-row></table:table>`,
		);
	const cellsOf = async (columns: number) => {
		const bytes = sheet(columns);
		const { markdown } = await convertDocument({ kind: "archive", bytes, name: "a.ods" });
		return { cells: markdown.split(" x ").length - 1, isCut: markdown.includes("more cells") };
	};
	expect(await cellsOf(300)).toEqual({ cells: 300, isCut: false });
	expect(await cellsOf(600)).toEqual({ cells: 500, isCut: true });
});
