// @module-tag slow
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PagedReader } from "../../../src/paging/index.ts";
import { joined, openPlace, readAll } from "../../contracts/paged-source.ts";
import {
	docxParagraph,
	makeDocx,
	makeEpub,
	makeOpenDocument,
	makePptx,
	makeXlsx,
} from "../../support/make-documents.ts";
import { makeTar, makeZip, type ZipEntry } from "../../support/make-zip.ts";

let place: Awaited<ReturnType<typeof openPlace>>;
let reader: PagedReader;
beforeAll(async () => {
	place = await openPlace();
	reader = place.reader();
});
afterAll(() => place.close());

let names = 0;
async function read(extension: string, bytes: Buffer | string, from = reader): Promise<string> {
	const uri = `${++names}.${extension}`;
	writeFileSync(join(place.root, uri), bytes);
	return joined(await readAll(from, { uri }));
}

const cell = (text: string) =>
	`<table:table-row><table:table-cell><text:p>${text}</text:p></table:table-cell></table:table-row>`;

/** Every archive format with a text in its main part. */
const FORMATS: Record<string, (text: string) => Buffer> = {
	docx: (text) => makeDocx(docxParagraph(text)),
	xlsx: (text) => makeXlsx({ S: [[text]] }),
	pptx: (text) => makePptx([{ title: "t", text }]),
	odt: (text) => makeOpenDocument("text", `<text:p>${text}</text:p>`),
	odp: (text) =>
		makeOpenDocument("presentation", `<draw:page><text:p>${text}</text:p></draw:page>`),
	ods: (text) =>
		makeOpenDocument("spreadsheet", `<table:table table:name="S">${cell(text)}</table:table>`),
	epub: (text) => makeEpub("t", [`<p>${text}</p>`]),
};

describe.each(Object.entries(FORMATS))("%s", (extension, make) => {
	test("that unpacks to far more than it is, is refused, and the next one is read", async () => {
		await expect(read(extension, make(" ".repeat(20_000_000)))).rejects.toMatchObject({
			code: "bad_document",
			message: expect.stringMatching(/unpacks to more than \d+ bytes/),
		});
		expect(await read(extension, make("fine"))).toContain("fine");
	});

	test("that is cut anywhere is refused with its name, or its text is whole", async () => {
		const bytes = make("the text");
		for (const share of [0.1, 0.5, 0.9, 0.99]) {
			const cut = bytes.subarray(0, Math.floor(bytes.length * share));
			const found = await read(extension, cut).catch((error) => error);
			if (typeof found === "string") expect(found).toContain("the text");
			else
				expect(found).toMatchObject({
					code: "bad_document",
					message: expect.stringMatching(new RegExp(`^cannot read \\d+\\.${extension}: .+`)),
				});
		}
	});

	test("under another name is known by its bytes", async () => {
		const bytes = make("the text");
		for (const name of ["txt", "bin", "pdf", "docx", "csv", "html"])
			expect(await read(name, bytes)).toContain("the text");
	});

	test("with entities of its own does not grow", async () => {
		const text = await read(extension, make(`start &lol9; &#38;lol9; ${"&a;".repeat(1000)} end`));
		expect(text).toContain("start");
		expect(text.length).toBeLessThan(5000);
	});

	test("that takes too long is an error that says so, and not the end of the reader", async () => {
		const hasty = place.reader({ extractSeconds: 0.02 });
		// Does not pack, so that it is no bomb.
		const noise = Array.from({ length: 300_000 }, (_, i) =>
			((i * 2_654_435_761) % 2 ** 32).toString(36),
		);
		await expect(read(extension, make(noise.join(" ")), hasty)).rejects.toMatchObject({
			code: "bad_document",
			message: expect.stringContaining("it took too long"),
		});
		expect(await read(extension, make("fine"))).toContain("fine");
	});
});

/** The header of a compound file, and the name of a part in its directory. */
const compound = (part: string) =>
	Buffer.concat([
		Buffer.from("d0cf11e0a1b11ae1", "hex"),
		Buffer.alloc(2040),
		Buffer.from(part, "utf16le"),
		Buffer.alloc(2000),
	]);

describe("a password", () => {
	test.each(["docx", "xlsx", "pptx"])(
		"of an Office document (%s) is named as the reason",
		async (extension) => {
			await expect(read(extension, compound("EncryptedPackage"))).rejects.toMatchObject({
				code: "bad_document",
				message: expect.stringContaining("protected with a password"),
			});
		},
	);

	test("is not what keeps an old Office document from being read", async () => {
		await expect(read("doc", compound("WordDocument"))).rejects.toMatchObject({
			message: expect.stringContaining("save it as .docx"),
		});
	});

	const openDocument = (...more: ZipEntry[]) =>
		makeZip([
			{ name: "mimetype", content: "application/vnd.oasis.opendocument.text" },
			{ name: "content.xml", content: "\u0001\u0002 unreadable" },
			...more,
		]);

	test("of an OpenDocument is named as the reason", async () => {
		const content =
			'<manifest:manifest><manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/></manifest:file-entry></manifest:manifest>';
		const bytes = openDocument({ name: "META-INF/manifest.xml", content });
		await expect(read("odt", bytes)).rejects.toMatchObject({
			message: expect.stringContaining("protected with a password"),
		});
	});

	test("of an entry is named as the reason, and the archive is still listed", async () => {
		const entry = { name: "word/document.xml", content: "x", isEncrypted: true };
		await expect(read("docx", makeZip([entry]))).rejects.toMatchObject({
			message: expect.stringContaining("word/document.xml is encrypted"),
		});
		const listed = await read("zip", makeZip([{ ...entry, name: "a.txt" }]));
		expect(listed).toContain("- a.txt (1 bytes)");
	});

	test("of a book's chapters is named as the reason; encrypted fonts do not matter", async () => {
		const book = (encrypted: string) =>
			makeZip([
				{ name: "mimetype", content: "application/epub+zip" },
				{
					name: "META-INF/container.xml",
					content: '<container><rootfile full-path="b.opf"/></container>',
				},
				{
					name: "META-INF/encryption.xml",
					content: `<encryption><EncryptedData><CipherData><CipherReference URI="${encrypted}"/></CipherData></EncryptedData></encryption>`,
				},
				{
					name: "b.opf",
					content:
						'<package><manifest><item id="c" href="c.xhtml"/></manifest><spine><itemref idref="c"/></spine></package>',
				},
				{ name: "c.xhtml", content: "<html><body><p>Text</p></body></html>" },
			]);
		expect(await read("epub", book("font.otf"))).toBe("Text");
		await expect(read("epub", book("c.xhtml"))).rejects.toMatchObject({
			message: expect.stringContaining("encrypted"),
		});
	});
});

describe("millions of cells", () => {
	const SAYS_SO = "[The sheet has more cells than are read.]";

	test("of a sheet that repeats its rows end with a remark", async () => {
		const row = (attributes: string) =>
			`<table:table-row ${attributes}><table:table-cell table:number-columns-repeated="1000000000"><text:p>x</text:p></table:table-cell></table:table-row>`;
		const body = `<table:table table:name="S">${row('table:number-rows-repeated="1000000000"')}</table:table>`;
		const uri = "many.ods";
		writeFileSync(join(place.root, uri), makeOpenDocument("spreadsheet", body));
		const { total_chars: total = 0 } = await reader.read({ uri });
		expect(total).toBeLessThan(10_000_000);
		expect((await reader.read({ uri })).content).toContain("| x |");
	});

	test("of comma-separated values end with a remark", async () => {
		const uri = "many.csv";
		writeFileSync(join(place.root, uri), `${"1,".repeat(19)}1\n`.repeat(50_010));
		const whole = await reader.read({ uri });
		expect(whole.degraded).toBeUndefined();
		const end = joined(await readAll(place.reader(), { uri, max_chars: 20_000 }, 20_000));
		expect(end.endsWith(SAYS_SO)).toBe(true);
	});
});

describe("archives and texts", () => {
	test("a tar that is cut is listed as far as it goes", async () => {
		const tar = makeTar([
			{ name: "a", content: "x".repeat(2000) },
			{ name: "b", content: "y" },
		]);
		expect(await read("tgz", gzipSync(tar.subarray(0, 1500)))).toBe(
			"Archive with 1 entry:\n\n- a (2,000 bytes)",
		);
	});

	test("gzip that is cut, or bytes that only begin like it, are refused", async () => {
		for (const bytes of [
			gzipSync("text ".repeat(1000)).subarray(0, 40),
			Buffer.from("1f8b0800", "hex"),
		])
			await expect(read("gz", bytes)).rejects.toMatchObject({ code: "bad_document" });
	});

	test("texts that are damaged are shown as they are", async () => {
		const notebook = '{"cells": [{"cell_type": "code", "source": "x';
		expect(await read("ipynb", notebook)).toBe(notebook);
		expect(await read("csv", "\0\0\0\0").catch(({ code }) => code)).toBe("not_text");
		const xml = `<a>${"<b>".repeat(2000)}text`;
		expect(await read("xml", xml)).toContain("text");
		expect(await read("json", `{"a":${"[".repeat(5000)}`)).toContain("[");
		expect(await read("rss", "<rss><channel><item><title>One")).toContain("One");
	});
});
