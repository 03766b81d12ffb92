import { expect, test } from "vitest";
import { convertDocument } from "../../../src/paging/documents/convert.ts";
import { makeZip } from "../../support/make-zip.ts";

async function read(slide: string, more: Record<string, string> = {}): Promise<string> {
	const parts = {
		"ppt/presentation.xml":
			'<p:presentation><p:sldIdLst><p:sldId r:id="r1"/></p:sldIdLst></p:presentation>',
		"ppt/_rels/presentation.xml.rels":
			'<Relationships><Relationship Id="r1" Target="slides/slide1.xml"/></Relationships>',
		"ppt/slides/slide1.xml": `<p:sld>${slide}</p:sld>`,
		...more,
	};
	const bytes = makeZip(Object.entries(parts).map(([name, content]) => ({ name, content })));
	const { markdown } = await convertDocument({ kind: "archive", bytes, name: "a.pptx" });
	return markdown.replace(/^## Slide 1\n\n/, "");
}

const shape = (...paragraphs: string[]) =>
	`<p:sp><p:txBody>${paragraphs.join("")}</p:txBody></p:sp>`;
const p = (text: string, properties = "", level = 0) =>
	`<a:p><a:pPr lvl="${level}">${properties}</a:pPr><a:r><a:t>${text}</a:t></a:r></a:p>`;
const bullet = '<a:buChar char="•"/>';

test("lists of slides have their levels, marks and numbers", async () => {
	const slide = shape(
		p("implied"),
		p("below it", "", 1),
		p("one", bullet),
		p("deeper", bullet, 1),
		p("two", bullet),
		p("plain", "<a:buNone/>"),
		p("third", '<a:buAutoNum type="arabicPeriod" startAt="3"/>'),
		p("fourth", '<a:buAutoNum type="arabicPeriod"/>'),
	);
	expect(await read(slide)).toBe(
		"implied\n\n- below it\n\n- one\n  - deeper\n- two\n\nplain\n\n3. third\n4. fourth",
	);
});

test("code of slides keeps its lines and its indentation", async () => {
	const run = (text: string) =>
		`<a:r><a:rPr><a:latin typeface="Courier New"/></a:rPr><a:t>${text}</a:t></a:r>`;
	const slide = shape(
		`<a:p>${run("if x:")}<a:br/>${run("    y")}</a:p>`,
		"<a:p/>",
		`<a:p>${run("z")}</a:p>`,
		`<a:p><a:r><a:t>call </a:t></a:r>${run("f()")}</a:p>`,
	);
	expect(await read(slide)).toBe("```\nif x:\n    y\n\nz\n```\n\ncall `f()`");
});

test("formulas and the text of diagrams are read", async () => {
	const formula =
		"<a14:m><m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath></a14:m>";
	const slide = shape(`<a:p><a:r><a:t>is </a:t></a:r>${formula}</a:p>`);
	const more = {
		"ppt/slides/_rels/slide1.xml.rels":
			'<Relationships><Relationship Id="r2" Target="../diagrams/data1.xml"/></Relationships>',
		"ppt/diagrams/data1.xml": `<dgm:dataModel><dgm:ptLst><dgm:pt><dgm:t>${p("step one")}</dgm:t></dgm:pt><dgm:pt><dgm:t>${p("step two")}</dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>`,
	};
	expect(await read(slide, more)).toBe("is $x^{2}$\n\nstep one\n\nstep two");
});
