import { makeZip } from "./make-zip.ts";

/** A Word document with this body, in WordprocessingML. */
export function makeDocx(body: string, parts: Record<string, string> = {}): Buffer {
	return makeZip([
		{ name: "[Content_Types].xml", content: "<Types/>" },
		{
			name: "word/document.xml",
			content: `<?xml version="1.0"?><w:document><w:body>${body}</w:body></w:document>`,
		},
		...Object.entries(parts).map(([name, content]) => ({ name, content })),
	]);
}

export const docxParagraph = (text: string, properties = "") =>
	`<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;

/** A workbook; a number in a row is a number, a text a shared string. */
export function makeXlsx(
	sheets: Record<string, readonly (readonly (string | number)[])[]>,
	cellStyle = "",
): Buffer {
	const strings: string[] = [];
	const names = Object.keys(sheets);
	const sheet = (rows: readonly (readonly (string | number)[])[]) =>
		`<worksheet><sheetData>${rows
			.map(
				(row, r) => `<row r="${r + 1}">${row.map((value, c) => cell(value, r, c)).join("")}</row>`,
			)
			.join("")}</sheetData></worksheet>`;
	const cell = (value: string | number, r: number, c: number) => {
		const place = `${String.fromCharCode(65 + c)}${r + 1}`;
		if (value === "") return "";
		if (typeof value === "number") return `<c r="${place}"${cellStyle}><v>${value}</v></c>`;
		return `<c r="${place}" t="s"><v>${strings.push(value) - 1}</v></c>`;
	};
	const contents = names.map((name) => sheet(sheets[name] ?? []));
	return makeZip([
		{
			name: "xl/workbook.xml",
			content: `<workbook><sheets>${names.map((name, i) => `<sheet name="${name}" sheetId="${i + 1}" r:id="rId${i + 1}"/>`).join("")}</sheets></workbook>`,
		},
		{
			name: "xl/_rels/workbook.xml.rels",
			content: `<Relationships>${names.map((_, i) => `<Relationship Id="rId${i + 1}" Target="worksheets/sheet${i + 1}.xml"/>`).join("")}</Relationships>`,
		},
		{
			name: "xl/styles.xml",
			content: '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
		},
		{
			name: "xl/sharedStrings.xml",
			content: `<sst>${strings.map((text) => `<si><t>${text}</t></si>`).join("")}</sst>`,
		},
		...contents.map((content, i) => ({ name: `xl/worksheets/sheet${i + 1}.xml`, content })),
	]);
}

export function makePptx(
	slides: readonly { title: string; text: string; notes?: string }[],
): Buffer {
	const shape = (type: string, text: string) =>
		`<p:sp><p:nvSpPr><p:nvPr><p:ph type="${type}"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp>`;
	return makeZip([
		{
			name: "ppt/presentation.xml",
			content: `<p:presentation><p:sldIdLst>${slides.map((_, i) => `<p:sldId id="${256 + i}" r:id="rId${i + 1}"/>`).join("")}</p:sldIdLst></p:presentation>`,
		},
		{
			name: "ppt/_rels/presentation.xml.rels",
			content: `<Relationships>${slides.map((_, i) => `<Relationship Id="rId${i + 1}" Target="slides/slide${i + 1}.xml"/>`).join("")}</Relationships>`,
		},
		...slides.flatMap(({ title, text, notes }, i) => [
			{
				name: `ppt/slides/slide${i + 1}.xml`,
				content: `<p:sld>${shape("title", title)}${shape("body", text)}${shape("sldNum", "99")}</p:sld>`,
			},
			...(notes === undefined
				? []
				: [
						{
							name: `ppt/slides/_rels/slide${i + 1}.xml.rels`,
							content: `<Relationships><Relationship Id="r" Target="../notesSlides/notesSlide${i + 1}.xml"/></Relationships>`,
						},
						{
							name: `ppt/notesSlides/notesSlide${i + 1}.xml`,
							content: `<p:notes>${shape("body", notes)}</p:notes>`,
						},
					]),
		]),
	]);
}

/** An OpenDocument file of the given type with this content of its body. */
export function makeOpenDocument(
	type: "text" | "spreadsheet" | "presentation",
	body: string,
): Buffer {
	return makeZip([
		{ name: "mimetype", content: `application/vnd.oasis.opendocument.${type}` },
		{
			name: "content.xml",
			content: `<office:document-content><office:automatic-styles><style:style style:name="P1"/></office:automatic-styles><office:body><office:${type}>${body}</office:${type}></office:body></office:document-content>`,
		},
	]);
}

export function makeEpub(title: string, chapters: readonly string[]): Buffer {
	return makeZip([
		{ name: "mimetype", content: "application/epub+zip" },
		{
			name: "META-INF/container.xml",
			content:
				'<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
		},
		{
			name: "OEBPS/book.opf",
			content: `<package><metadata><dc:title>${title}</dc:title></metadata><manifest>${chapters
				.map((_, i) => `<item id="c${i}" href="text/c%20${i}.xhtml"/>`)
				.join(
					"",
				)}</manifest><spine>${chapters.map((_, i) => `<itemref idref="c${i}"/>`).join("")}</spine></package>`,
		},
		...chapters.map((content, i) => ({
			name: `OEBPS/text/c ${i}.xhtml`,
			content: `<html><head><title>x</title></head><body>${content}</body></html>`,
		})),
	]);
}
