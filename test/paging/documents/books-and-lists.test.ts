import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { convertDocument, type TextFormat } from "../../../src/paging/documents/convert.ts";
import { detectKind } from "../../../src/paging/fetch/content.ts";
import { makeTar, makeZip } from "../../support/make-zip.ts";

const converted = async (format: TextFormat, text: string, baseUrl?: string) =>
	(await convertDocument({ kind: "text", format, text, baseUrl })).markdown;

describe("books", () => {
	const read = async (chapter: string, more = "", spine = "") => {
		const parts = {
			mimetype: "application/epub+zip",
			"META-INF/container.xml": '<container><rootfile full-path="b.opf"/></container>',
			"b.opf": `<package><manifest><item id="c" href="c.xhtml"/>${more}</manifest><spine><itemref idref="c"/>${spine}</spine></package>`,
			"c.xhtml": chapter,
			"i.jpg": "\u00ff\u00d8 bytes",
		};
		const bytes = makeZip(Object.entries(parts).map(([name, content]) => ({ name, content })));
		return (await convertDocument({ kind: "archive", bytes, name: "a.epub" })).markdown;
	};

	test("are XHTML: an element that closes itself does not swallow what follows", async () => {
		const chapter =
			'<html><head><title/><script src="x.js"/><style/></head><body><p>one <b/>two <code/>three <a id="n"/>four</p><pre/><textarea/><p>five<br/>six</p></body></html>';
		expect(await read(chapter)).toBe("one two three four\n\nfive\nsix");
	});

	test("have no pictures as chapters, and say which chapter is missing", async () => {
		const more =
			'<item id="i" href="i.jpg" media-type="image/jpeg"/><item id="x" href="x.xhtml" media-type="application/xhtml+xml"/>';
		const spine = '<itemref idref="i"/><itemref idref="x"/>';
		expect(await read("<p>text</p>", more, spine)).toBe(
			"text\n\n[A chapter is missing in the file: x.xhtml]",
		);
	});
});

describe("notebooks", () => {
	const cell = (...outputs: unknown[]) =>
		converted("notebook", JSON.stringify({ cells: [{ cell_type: "code", source: "", outputs }] }));

	test("of version 3 have headings, errors and pictures", async () => {
		const old = {
			worksheets: [
				{
					cells: [
						{ cell_type: "heading", level: 2, source: "Part" },
						{
							cell_type: "code",
							input: "1/0",
							outputs: [
								{ output_type: "pyerr", ename: "ZeroDivisionError", traceback: ["Traceback"] },
								{ output_type: "display_data", png: "AAAA" },
							],
						},
					],
				},
			],
		};
		expect(await converted("notebook", JSON.stringify(old))).toBe(
			"## Part\n\n```\n1/0\n```\n\n```\nTraceback\n```\n\n[image/png]",
		);
	});

	test("show a table rather than the name of its object", async () => {
		const data = {
			"text/plain": "<IPython.core.display.HTML object>",
			"text/html": "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
		};
		expect(await cell({ output_type: "display_data", data })).toBe(
			"| a | b |\n| --- | --- |\n| 1 | 2 |",
		);
	});

	test("name outputs without text, and errors without a traceback", async () => {
		const data = { "application/vnd.plotly.v1+json": { data: [] } };
		const error = { output_type: "error", ename: "KeyError", evalue: "'x'", traceback: [] };
		expect(await cell({ output_type: "display_data", data }, error)).toBe(
			"[application/vnd.plotly.v1+json]\n\n```\nKeyError: 'x'\n```",
		);
	});

	test("show progress as it ended, without control sequences", async () => {
		const text = ["10 %\r50 %\r100 %\n", "\u001b[2Kdone\u001b[0m\r\n"];
		expect(await cell({ output_type: "stream", text })).toBe("```\n100 %\ndone\n```");
	});
});

describe("comma-separated values", () => {
	test.each([
		[
			"a title before the header",
			"Report\n\na;b\n1;2\n",
			"| Report |  |\n| --- | --- |\n| a | b |\n| 1 | 2 |",
		],
		["decimal commas", "x\ty\n1,5\t2,5\n", "| x | y |\n| --- | --- |\n| 1,5 | 2,5 |"],
		[
			"no header, but decimal commas",
			"1,5;2,5\n3,5;4,5\n",
			"| 1,5 | 2,5 |\n| --- | --- |\n| 3,5 | 4,5 |",
		],
		["line ends of old Macs", "a,b\r1,2\r", "| a | b |\n| --- | --- |\n| 1 | 2 |"],
		[
			"semicolons in some text",
			"a,b\nx,one; two\ny,z\n",
			"| a | b |\n| --- | --- |\n| x | one; two |\n| y | z |",
		],
	])("with %s are cut where they should be", async (_, text, table) => {
		expect(await converted("csv", text)).toBe(table);
	});
});

describe("feeds", () => {
	test("of Atom have dates of changes, absolute links and plain titles", async () => {
		const atom =
			'<feed xmlns="http://www.w3.org/2005/Atom"><entry><title type="html">A &lt;b&gt;bold&lt;/b&gt; step</title><link href="/p/1"/><updated>2024-01-01</updated><summary type="html">&lt;a href="x">here&lt;/a></summary></entry></feed>';
		expect(await converted("feed", atom, "https://e.com/feed.xml")).toBe(
			"## [A bold step](https://e.com/p/1)\n\n2024-01-01\n\n[here](https://e.com/x)",
		);
		const based = atom.replace("<feed ", '<feed xml:base="https://other.org/"  ');
		expect(await converted("feed", based)).toContain("(https://other.org/p/1)");
	});

	test("of RSS have the files of their entries, and permanent addresses for links", async () => {
		const item = (guid: string) =>
			`<rss><channel><item><title>t</title>${guid}<enclosure url="https://e.com/x.mp3"/></item></channel></rss>`;
		expect(await converted("feed", item("<guid>https://e.com/g</guid>"))).toBe(
			"## [t](https://e.com/g)\n\nhttps://e.com/x.mp3",
		);
		expect(await converted("feed", item('<guid isPermaLink="false">https://e.com/g</guid>'))).toBe(
			"## t\n\nhttps://e.com/x.mp3",
		);
	});
});

describe("tar archives", () => {
	const list = async (bytes: Buffer) =>
		(await convertDocument({ kind: "archive", bytes, name: "a.tar" })).markdown;

	test("are listed, compressed or not", async () => {
		const tar = makeTar([{ name: "a.txt", content: "hello" }]);
		expect(detectKind(tar, "application/x-tar")).toBe("archive");
		expect(await list(tar)).toBe("Archive with 1 entry:\n\n- a.txt (5 bytes)");
		expect(await list(gzipSync(tar))).toBe(await list(tar));
	});

	test("have their long names whole, of both kinds", async () => {
		const long = `${"folder/".repeat(30)}file.txt`;
		const record = ` path=${long}\n`;
		const pax = `${record.length + 3}${record}`;
		for (const [type, content] of [
			["L", `${long}\0`],
			["x", `20 mtime=1700000000\n${pax}`],
		] as const) {
			const tar = makeTar([
				{ name: "././@LongLink", content },
				{ name: long.slice(0, 100), content: "hello" },
				{ name: "next", content: "" },
			]);
			tar.write(type, 156);
			expect(await list(tar)).toBe(
				`Archive with 2 entries:\n\n- ${long} (5 bytes)\n- next (0 bytes)`,
			);
		}
	});
});
