// @module-tag slow
import { expect, test } from "vitest";
import { convertDocument } from "../../../src/paging/documents/convert.ts";
import { makeZip } from "../../support/make-zip.ts";

const read = async (parts: Record<string, string>) => {
	const bytes = makeZip(Object.entries(parts).map(([name, content]) => ({ name, content })));
	return (await convertDocument({ kind: "archive", bytes, name: "a" })).markdown;
};

/** So many that time in proportion to their square would be longer than a test may take. */
const MANY = 30_000;

const open = (type: string, body: string) => ({
	mimetype: `application/vnd.oasis.opendocument.${type}`,
	"content.xml": `<office:body>${body}`,
});

test("notes in notes without an end take time in proportion", async () => {
	const notes = "<presentation:notes><text:p>x".repeat(MANY);
	expect(await read(open("presentation", notes))).toContain("x");
});

test("a cell of many links takes time in proportion, and keeps them", async () => {
	const links = '<text:a xlink:href="http://e">x</text:a>'.repeat(20_000);
	const cell = `<table:table table:name="S"><table:table-row><table:table-cell>${links}</table:table-cell></table:table-row></table:table>`;
	const text = await read(open("spreadsheet", cell));
	expect(text.split("[x](http://e)").length - 1).toBe(20_000);
});

test("tags of a slide that never end take time in proportion", async () => {
	const parts = {
		"ppt/presentation.xml": '<p:sldId r:id="r1"/>',
		"ppt/_rels/presentation.xml.rels": '<Relationship Id="r1" Target="s.xml"/>',
		"ppt/s.xml": "<p:sld ".repeat(4 * MANY),
	};
	expect(await read(parts)).toBe("## Slide 1");
});

test("a book that names a chapter again and again has it once", async () => {
	const parts = {
		mimetype: "application/epub+zip",
		"META-INF/container.xml": '<rootfile full-path="b.opf"/>',
		"b.opf": `<item id="c" href="c.xhtml"/>${'<itemref idref="c"/>'.repeat(MANY)}`,
		"c.xhtml": "<p>text</p>",
	};
	expect(await read(parts)).toBe("text");
});
