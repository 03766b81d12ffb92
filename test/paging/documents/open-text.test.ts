import { expect, test } from "vitest";
import { convertDocument } from "../../../src/paging/documents/convert.ts";
import { makeZip } from "../../support/make-zip.ts";

interface Parts {
	readonly styles?: string;
	readonly own?: string;
	readonly kind?: string;
	readonly files?: Record<string, string>;
}

const read = (body: string, { styles = "", own = "", kind = "text", files = {} }: Parts = {}) =>
	convertDocument({
		kind: "archive",
		name: "a.odt",
		bytes: makeZip([
			{ name: "mimetype", content: `application/vnd.oasis.opendocument.${kind}` },
			{
				name: "content.xml",
				content: `<office:document-content><office:automatic-styles>${own}</office:automatic-styles><office:body>${body}</office:body></office:document-content>`,
			},
			{ name: "styles.xml", content: `<office:document-styles>${styles}</office:document-styles>` },
			...Object.entries(files).map(([name, content]) => ({ name, content })),
		]),
	});
const markdown = async (body: string, parts?: Parts) => (await read(body, parts)).markdown;

const p = (text: string, style = "") => `<text:p text:style-name="${style}">${text}</text:p>`;
const item = (...content: string[]) => `<text:list-item>${content.join("")}</text:list-item>`;
const list = (attributes: string, ...items: string[]) =>
	`<text:list text:style-name="L" ${attributes}>${items.join("")}</text:list>`;
const NUMBERED =
	'<office:styles><text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" text:start-value="3"/><text:list-level-style-number text:level="2" style:num-format="a"/></text:list-style></office:styles>';

test("lists have the numbers that the document's common styles give them, and go on where it says so", async () => {
	const body = [
		list("", item(p("a"), list("", item(p("a1"))))),
		p("between"),
		list(
			'text:continue-numbering="true"',
			item(list("", item(p("a2")))),
			item(p("b")),
			item(p("c")),
		),
		p("new"),
		list("", item(p("d"))),
	].join("");
	expect(await markdown(body, { styles: NUMBERED })).toBe(
		"3. a\n   1. a1\n\nbetween\n\n   2. a2\n4. b\n5. c\n\nnew\n\n3. d",
	);
});

test("code keeps its lines and its spaces; marked text its marks", async () => {
	const own = [
		'<style:style style:name="C" style:family="paragraph" style:parent-style-name="Pre"/>',
		'<style:style style:name="T1" style:family="text"><style:text-properties fo:font-weight="bold"/></style:style>',
		'<style:style style:name="T2" style:family="text"><style:text-properties style:text-position="super 58%"/></style:style>',
		'<style:style style:name="T3" style:family="text"><style:text-properties style:font-name="Consolas"/></style:style>',
	].join("");
	const styles =
		'<office:styles><style:style style:name="Pre" style:family="paragraph"><style:text-properties style:font-name="Liberation Mono"/></style:style></office:styles>';
	const span = (style: string, text: string) =>
		`<text:span text:style-name="${style}">${text}</text:span>`;
	const body = [
		p("if x:", "C"),
		"\n  ",
		p("", "C"),
		p('<text:s text:c="4"/>return', "C"),
		p(`${span("T1", "bold")} x${span("T2", "2")} ${span("T3", "f()")}`),
		p(span("T3", "lone()")),
	].join("");
	expect(await markdown(body, { own, styles })).toBe(
		"```\nif x:\n\n    return\n```\n\n**bold** x^2 `f()`\n\n```\nlone()\n```",
	);
});

test("formulas are read from their own documents", async () => {
	const formula =
		'<?xml version="1.0"?><math:math display="inline"><math:semantics><math:mfrac><math:mi>a</math:mi><math:mi>b</math:mi></math:mfrac><math:annotation encoding="StarMath 5.0">a over b</math:annotation></math:semantics></math:math>';
	const frame =
		'<draw:frame><draw:object xlink:href="./Object 1"/><draw:image xlink:href="x"/><svg:desc>formula</svg:desc></draw:frame>';
	expect(
		await markdown(p(`is ${frame} here`), { files: { "Object 1/content.xml": formula } }),
	).toBe("is $\\frac{a}{b}$ here");
});

test("slides have titles, and notes only if there are any", async () => {
	const frame = (role: string, text: string) =>
		`<draw:frame presentation:class="${role}"><draw:text-box>${p(text)}</draw:text-box></draw:frame>`;
	const notes = (...frames: string[]) =>
		`<presentation:notes>${frames.join("")}</presentation:notes>`;
	const body = [
		`<draw:page>${frame("title", "One")}${frame("outline", "text")}${notes(frame("notes", "say it"), frame("page-number", "&lt;number>"))}</draw:page>`,
		`<draw:page>${frame("title", "Two")}${notes(frame("notes", ""))}</draw:page>`,
	].join("");
	expect(await markdown(body, { kind: "presentation" })).toBe(
		"## Slide 1\n\n### One\n\ntext\n\n**Notes:**\n\nsay it\n\n## Slide 2\n\n### Two",
	);
});

test("headers and footers are counted as left out", async () => {
	const styles =
		"<office:master-styles><style:master-page><style:header><text:p>Company</text:p></style:header><style:footer><text:p>Page</text:p></style:footer></style:master-page></office:master-styles>";
	expect(await read(p("text"), { styles })).toEqual({
		markdown: "text",
		leftOut: { "headers and footers": 11 },
	});
});

test("reading aids follow their word, and initials of a commentator are no text", async () => {
	const ruby =
		"<text:ruby><text:ruby-base>漢</text:ruby-base><text:ruby-text>kan</text:ruby-text></text:ruby>";
	const comment =
		"<office:annotation><dc:creator>Ann</dc:creator><meta:creator-initials>A</meta:creator-initials><text:p>why</text:p></office:annotation>";
	expect(await markdown(p(`${ruby}${comment}`))).toBe(
		"漢(kan)[comment 1]\n\n## Comments\n\n[comment 1] Ann:\n\nwhy",
	);
});
