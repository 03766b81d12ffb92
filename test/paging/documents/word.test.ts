import { expect, test } from "vitest";
import { convertDocument } from "../../../src/paging/documents/convert.ts";
import { docxParagraph, makeDocx } from "../../support/make-documents.ts";

const read = async (body: string, parts: Record<string, string> = {}) =>
	(await convertDocument({ kind: "archive", bytes: makeDocx(body, parts), name: "a.docx" }))
		.markdown;
const run = (text: string, properties = "") =>
	`<w:r><w:rPr>${properties}</w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`;
const paragraph = (...runs: string[]) => `<w:p>${runs.join("")}</w:p>`;
const inList = (id: number, level = 0) =>
	`<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${id}"/></w:numPr>`;
const level = (number: number, format: string, text: string, start = 1) =>
	`<w:lvl w:ilvl="${number}"><w:start w:val="${start}"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/></w:lvl>`;
const numbering = (levels: string, lists: string) => ({
	"word/numbering.xml": `<w:numbering><w:abstractNum w:abstractNumId="7">${levels}</w:abstractNum>${lists}</w:numbering>`,
});
const list = (id: number, more = "") =>
	`<w:num w:numId="${id}"><w:abstractNumId w:val="7"/>${more}</w:num>`;

test("numbers of a list go on after other text, and start where the document says", async () => {
	const restart = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride>';
	const parts = numbering(level(0, "decimal", "%1."), list(1) + list(2, restart));
	const body = [
		docxParagraph("one", inList(1)),
		docxParagraph("between"),
		docxParagraph("two", inList(1)),
		docxParagraph("five", inList(2)),
	].join("");
	expect(await read(body, parts)).toBe("1. one\n\nbetween\n\n2. two\n5. five");
});

test("headings show the numbers that others cite them by", async () => {
	const levels = level(0, "upperRoman", "%1.") + level(1, "lowerLetter", "%1.%2)");
	const styles =
		'<w:styles><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style><w:style w:styleId="Heading2"><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr></w:style></w:styles>';
	const heading = (text: string, style: string) =>
		docxParagraph(text, `<w:pStyle w:val="${style}"/>`);
	const body = [
		...["berschrift1", "Heading2", "Heading2", "berschrift1", "Heading2"].map((style, i) =>
			heading(`h${i}`, style),
		),
	].join("");
	const parts = { ...numbering(levels, list(1)), "word/styles.xml": styles };
	expect(await read(body, parts)).toBe(
		"# I. h0\n\n## I.a) h1\n\n## I.b) h2\n\n# II. h3\n\n## II.a) h4",
	);
});

test("a paragraph's own list counts, also if it is named before the style", async () => {
	const body = docxParagraph("x", `${inList(1)}<w:pStyle w:val="Compact"/>`);
	const styles = '<w:styles><w:style w:styleId="Compact"/></w:styles>';
	const parts = { ...numbering(level(0, "decimal", "%1."), list(1)), "word/styles.xml": styles };
	expect(await read(body, parts)).toBe("1. x");
});

test("a paragraph with a blank mark goes on with the item before", async () => {
	const parts = {
		"word/numbering.xml": `<w:numbering><w:abstractNum w:abstractNumId="7">${level(0, "decimal", "%1.")}</w:abstractNum><w:abstractNum w:abstractNumId="8">${level(0, "bullet", " ")}</w:abstractNum>${list(1)}<w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num></w:numbering>`,
	};
	const body =
		docxParagraph("one", inList(1)) +
		docxParagraph("more", inList(2)) +
		docxParagraph("two", inList(1));
	expect(await read(body, parts)).toBe("1. one\n\n   more\n2. two");
});

test("code keeps its lines and its indentation, by a font or by a style", async () => {
	const mono = '<w:rFonts w:ascii="Consolas"/>';
	const line = (text: string) => paragraph(run(text, mono));
	const body = [
		line("if x:"),
		paragraph(),
		line("    return  1"),
		docxParagraph("text"),
		paragraph(
			'<w:pPr><w:pStyle w:val="SourceCode"/></w:pPr>',
			run("a {"),
			"<w:r><w:br/></w:r>",
			run("  b;"),
		),
		docxParagraph("end"),
		paragraph(run("call "), run("f(x)", '<w:rStyle w:val="VerbatimChar"/>')),
	].join("");
	const styles = `<w:styles><w:style w:type="character" w:styleId="VerbatimChar"><w:rPr>${mono}</w:rPr></w:style></w:styles>`;
	expect(await read(body, { "word/styles.xml": styles })).toBe(
		"```\nif x:\n\n    return  1\n```\n\ntext\n\n```\na {\n  b;\n```\n\nend\n\ncall `f(x)`",
	);
});

test("a document that is all in such a font is text", async () => {
	const styles =
		'<w:styles><w:style w:default="1" w:styleId="Normal"><w:rPr><w:rFonts w:ascii="Courier New"/></w:rPr></w:style></w:styles>';
	const body = docxParagraph("INT. HOUSE", '<w:pStyle w:val="Normal"/>');
	expect(await read(body, { "word/styles.xml": styles })).toBe("INT. HOUSE");
});

test("formulas are LaTeX", async () => {
	const t = (text: string) => `<m:r><m:t>${text}</m:t></m:r>`;
	const e = (text: string, name = "e") => `<m:${name}>${t(text)}</m:${name}>`;
	const formulas = [
		[`<m:f>${e("a", "num")}${e("b+1", "den")}</m:f>`, "\\frac{a}{b+1}"],
		[`<m:sSup>${e("x")}${e("2", "sup")}</m:sSup>`, "x^{2}"],
		[`<m:rad><m:deg/>${e("y")}</m:rad>`, "\\sqrt{y}"],
		[`<m:rad>${e("3", "deg")}${e("y")}</m:rad>`, "\\sqrt[3]{y}"],
		[
			`<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr>${e("i", "sub")}${e("n", "sup")}${e("k")}</m:nary>`,
			"\\sum_{i}^{n} k",
		],
		[
			`<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr>${e("x")}${e("y")}</m:d>`,
			"[x | y]",
		],
		[
			`<m:m><m:mr>${e("a")}${e("b")}</m:mr><m:mr>${e("c")}${e("d")}</m:mr></m:m>`,
			"\\begin{matrix} a & b \\\\ c & d \\end{matrix}",
		],
		[`<m:func>${e("sin", "fName")}${e("x")}</m:func>`, "\\sin x"],
		[`<m:acc>${e("x")}</m:acc>`, "\\hat{x}"],
	] as const;
	for (const [xml, latex] of formulas)
		expect(await read(paragraph(run("is "), `<m:oMath>${xml}</m:oMath>`))).toBe(`is $${latex}$`);
	const shown = `<m:oMathPara><m:oMath>${t("x")}</m:oMath></m:oMathPara>`;
	expect(await read(paragraph(shown))).toBe("$$\nx\n$$");
});

test("a formula of any depth takes time in proportion", async () => {
	const deep = `${"<m:f><m:num>".repeat(20_000)}x${"</m:num></m:f>".repeat(20_000)}`;
	const text = await read(paragraph(`<m:oMath><m:r><m:t>y</m:t></m:r>${deep}</m:oMath>`));
	expect(text.length).toBeLessThan(10_000);
});

test("powers, signs of other fonts, struck text and reading aids keep their meaning", async () => {
	const body = paragraph(
		run("x"),
		run("2", '<w:vertAlign w:val="superscript"/>'),
		'<w:r><w:sym w:font="Wingdings" w:char="F0FC"/></w:r>',
		'<w:r><w:sym w:font="Symbol" w:char="F061"/></w:r>',
		'<w:r><w:sym w:font="Webdings" w:char="F0FF"/></w:r>',
		run(" "),
		run("old", "<w:strike/>"),
		run(" "),
		`<w:r><w:ruby><w:rt>${run("kan")}</w:rt><w:rubyBase>${run("漢")}</w:rubyBase></w:ruby></w:r>`,
	);
	expect(await read(body)).toBe("x^2✓α[symbol] ~~old~~ 漢(kan)");
});

test("links written as fields keep their address", async () => {
	const char = (type: string) => `<w:r><w:fldChar w:fldCharType="${type}"/></w:r>`;
	const field = (instruction: string) =>
		`${char("begin")}<w:r><w:instrText>${instruction}</w:instrText></w:r>${char("separate")}${run("here")}${char("end")}`;
	const body = paragraph(
		field(' HYPERLINK "https://e.com/a" '),
		run(" and "),
		field("PAGE"),
		`<w:fldSimple w:instr="HYPERLINK &quot;https://e.com/b&quot;">${run("there")}</w:fldSimple>`,
	);
	expect(await read(body)).toBe("[here](https://e.com/a) and here[there](https://e.com/b)");
});

test("a word in runs of the same kind is one word", async () => {
	const bold = (text: string) => run(text, "<w:b/>");
	expect(await read(paragraph(bold("re"), bold("union"), run(" done")))).toBe("**reunion** done");
});
