import { hash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { detectKind } from "../../../src/paging/fetch/content.ts";
import { CHARSET_SAMPLES } from "../../support/charset-samples.ts";
import { fc } from "../../support/property.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
const DOCUMENT = Buffer.from("<!DOCTYPE html><html><head><title>t</title></head><body>b</body>");
const PROSE = Buffer.from("Some words, and some more.\n");
const OF_NO_TYPE = [undefined, "", "application/octet-stream", "nonsense", "application/x-unknown"];

describe("a PDF", () => {
	const junk = Buffer.from("x".repeat(1000));

	test.each([undefined, "text/html", "text/plain; charset=utf-8", "image/png", "application/pdf"])(
		"is known by its header, whatever the type says (%s)",
		(type) => {
			const pdf = Buffer.from("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "latin1");
			expect(detectKind(pdf, type)).toBe("pdf");
			expect(detectKind(Buffer.concat([junk, pdf]), type)).toBe("pdf");
		},
	);

	test("is not looked for after the first kilobyte", () => {
		expect(detectKind(Buffer.concat([junk, junk, Buffer.from("%PDF-1.7")]), "text/plain")).toBe(
			"text",
		);
	});

	test.each([
		["text/html", "<p>A file begins with %PDF-1.7</p>", "html"],
		["text/plain", "A file begins with\n%PDF-1.7\n%âãÏÓ\n1 0 obj\n", "text"],
		["application/json", '{"header":"%PDF-1.7"}', "text"],
		["application/octet-stream", "# The header\n\n%PDF-1.7\n", "text"],
		[undefined, "# The header\n\n%PDF-1.7\n", "text"],
		["image/png", "not %PDF-1.7", "binary"],
	])("is not what only mentions its header (%s: %j)", (type, text, kind) => {
		expect(detectKind(Buffer.from(text), type)).toBe(kind);
	});

	test("is one behind a byte order mark, white space or binary junk", () => {
		for (const start of ["\xef\xbb\xbf", "\r\n \t", "\xef\xbb\xbf\n", "PJL\0\0\n"]) {
			const bytes = Buffer.from(`${start}%PDF-1.4\n1 0 obj\n`, "latin1");
			expect(detectKind(bytes, "text/plain"), JSON.stringify(start)).toBe("pdf");
		}
	});

	test("is a file by its name and a header behind junk, but not by its name alone", () => {
		const bytes = Buffer.from("some junk\n%PDF-1.4\n1 0 obj\n");
		expect(detectKind(bytes, undefined, "A.PDF")).toBe("pdf");
		expect(detectKind(bytes, undefined, "a.md")).toBe("text");
		expect(detectKind(bytes, "text/plain", "a.pdf")).toBe("text");
		expect(detectKind(PROSE, undefined, "a.pdf")).toBe("text");
	});

	test.each(["application/pdf", "application/x-pdf; q=1", "APPLICATION/PDF"])(
		"is what %s is called even if it is none, for the reader to say so",
		(type) => {
			expect(detectKind(DOCUMENT, type)).toBe("pdf");
		},
	);
});

describe("HTML", () => {
	test.each(["text/html", "Text/HTML; charset=utf-8", "application/xhtml+xml"])("is %s", (type) => {
		expect(detectKind(DOCUMENT, type)).toBe("html");
		expect(detectKind(PROSE, type)).toBe("html");
		expect(detectKind(Buffer.alloc(0), type)).toBe("html");
	});

	test.each(OF_NO_TYPE)("is found in the bytes when the type is %j", (type) => {
		for (const start of [
			"<!doctype html><p>",
			"\ufeff\n <!DOCTYPE HTML PUBLIC>",
			"<html lang=en>",
			"<!-- a --> <!-- b -->\n<HTML>",
			'<?xml version="1.0"?>\n<html xmlns="x">',
			"<head>",
			"<body >",
		]) {
			expect(detectKind(Buffer.from(`${start}text`), type), start).toBe("html");
		}
	});

	test("is not seen in fragments, which are more often Markdown", () => {
		for (const start of [
			"<h1 align=center>",
			"<p>",
			"<!-- lint off -->\n# Title",
			"<htmlx>",
			"<a>",
		])
			expect(detectKind(Buffer.from(start), undefined), start).toBe("text");
	});

	test("is found behind many comments", () => {
		expect(detectKind(Buffer.from(`${"<!---->".repeat(1100)}<p>`), undefined)).toBe("text");
		expect(detectKind(Buffer.from("<!--".repeat(2000)), undefined)).toBe("text");
	});
});

describe("text", () => {
	test.each([
		"text/plain",
		"text/markdown",
		"text/css",
		"text/csv",
		"text/xml",
		"application/json; charset=utf-8",
		"application/ld+json",
		"application/xml",
		"application/rss+xml",
		"image/svg+xml",
		"application/yaml",
		"application/x-yaml",
		"text/javascript",
		"application/javascript",
		"application/x-ndjson",
	])("is %s, also when it looks like HTML", (type) => {
		expect(detectKind(DOCUMENT, type)).toBe("text");
		expect(detectKind(PROSE, type)).toBe("text");
	});

	test.each([...OF_NO_TYPE, "video/mp2t", "application/toml"])(
		"is found in the bytes when the type is %j",
		(type) => {
			expect(detectKind(PROSE, type)).toBe("text");
			expect(detectKind(Buffer.alloc(0), type)).toBe("text");
		},
	);

	test("may have an undeclared Western charset and coloured output", () => {
		const german = Buffer.from("Über die Größe von Käfern läßt sich später noch reden.", "latin1");
		expect(detectKind(german, "text/plain")).toBe("text");
		expect(detectKind(Buffer.from("\u001b[31mred\u001b[0m\t\f\r\n"), undefined)).toBe("text");
	});

	test.each(CHARSET_SAMPLES)("may be in $charset if the header says so", ({ charset, bytes }) => {
		expect(detectKind(bytes, `text/plain; charset=${charset}`)).toBe("text");
	});

	test("in UTF-16 with a byte order mark is text or HTML like any other", () => {
		const wide = (text: string) => Buffer.from(`\ufeff${text}`, "utf16le");
		expect(detectKind(wide("words"), undefined)).toBe("text");
		expect(detectKind(wide("<!doctype html>"), undefined)).toBe("html");
		expect(detectKind(wide("<!doctype html>"), "text/plain")).toBe("text");
	});

	test("of Cyrillic HTML is text by its meta element", () => {
		const words = Buffer.alloc(3000, Buffer.from("cff0e8e2e5f220", "hex"));
		const meta = Buffer.from("<meta charset=windows-1251>");
		expect(detectKind(Buffer.concat([meta, words]), "text/html")).toBe("html");
		expect(detectKind(words, "text/html")).toBe("html");
	});

	const unmarked = CHARSET_SAMPLES.filter(({ charset }) => !charset.startsWith("utf-16"));

	test.each(unmarked)("may be in $charset without a word about it", ({ bytes }) => {
		for (const type of ["text/plain", "text/markdown", "application/json", ...OF_NO_TYPE])
			expect(detectKind(bytes, type), type).toBe("text");
		expect(detectKind(Buffer.alloc(300, 0x9d), undefined)).toBe("text");
	});

	test("in no declared charset is text up to a byte that browsers take for binary data", () => {
		const words = Buffer.alloc(3000, "caf\xe9 ", "latin1");
		for (let byte = 0; byte < 0x100; byte++) {
			const isBinary = byte < 0x20 && !"\t\n\f\r\x1b".includes(String.fromCharCode(byte));
			words[1444] = byte;
			expect(detectKind(words, "text/plain"), `0x${byte.toString(16)}`).toBe(
				isBinary ? "binary" : "text",
			);
		}
		words[1444] = 0x20;
		words[1445] = 0;
		expect(detectKind(words, "text/plain")).toBe("text");
	});

	test.each(["efbbbf", "feff", "fffe"])("is what begins with the byte order mark %s", (mark) => {
		const bytes = Buffer.concat([Buffer.from(mark, "hex"), Buffer.from([0xe9, 0, 0, 1])]);
		expect(detectKind(bytes, "text/plain")).toBe("text");
		expect(detectKind(bytes, undefined)).toBe("text");
	});

	test("stays text when a character is cut by the end of the sample", () => {
		for (let shift = 0; shift < 4; shift++) {
			const text = "x".repeat(shift) + "😀".repeat(5000);
			expect(detectKind(Buffer.from(text), undefined)).toBe("text");
		}
	});
});

describe("binary content", () => {
	test.each([
		"image/png",
		"image/jpeg",
		"audio/mpeg",
		"video/mp4",
		"font/woff2",
		"application/zip",
		"application/gzip",
		"application/x-tar",
	])("is %s, whatever the bytes", (type) => {
		expect(detectKind(PROSE, type)).toBe("binary");
	});

	test.each([...OF_NO_TYPE, "text/html", "text/plain", "text/plain; charset=utf-8", "video/mp2t"])(
		"is found in the bytes when the type is %j",
		(type) => {
			expect(detectKind(PNG, type)).toBe("binary");
			expect(detectKind(gzipSync("text ".repeat(100)), type)).toBe("archive");
			expect(detectKind(Buffer.from("a\0b"), type)).toBe("binary");
		},
	);
});

describe("data that is no text", () => {
	const types = fc.constantFrom(...OF_NO_TYPE, "text/plain", "text/html", "application/json");

	test("is an archive when it is compressed, whatever it was", () => {
		const packed = fc
			.tuple(fc.uint8Array(), fc.constantFrom(gzipSync, zipped))
			.map(([bytes, pack]) => pack(bytes));
		fc.assert(
			fc.property(packed, types, (bytes, type) => {
				expect(detectKind(bytes, type)).toBe("archive");
			}),
		);
	});

	test("is refused when it is random", () => {
		for (let seed = 0; seed < 500; seed++) {
			const bytes = Buffer.concat([0, 1].map((i) => hash("sha512", `${seed}:${i}`, "buffer")));
			for (const type of [undefined, "text/plain", "text/html"])
				expect(detectKind(bytes, type), `${seed}`).toBe("binary");
		}
	});

	test.each([
		["PNG", "89504e470d0a1a0a0000000d49484452"],
		["JPEG", "ffd8ffe000104a46494600010100"],
		["GIF", "474946383961100010008000"],
		["WebP", "52494646241a000057454250565038"],
		["an icon", "00000100010010100000"],
		["MP3", "fffb90640000000000"],
		["Ogg", "4f676753000200000000"],
		["xz", "fd377a585a000004e6d6b446"],
		["7-Zip", "377abcaf271c0004"],
		["ELF", "7f454c4602010100"],
		["WebAssembly", "0061736d01000000"],
		["a class of Java", "cafebabe00000034"],
		["SQLite", "53514c69746520666f726d6174203300"],
		["WOFF2", "774f46320001000000"],
	])("is refused when it is %s", (_, hex) => {
		for (const type of [...OF_NO_TYPE, "text/plain", "text/html"])
			expect(detectKind(Buffer.from(hex, "hex"), type), type).toBe("binary");
	});
});

/** A zip archive's first entry, stored as it is. */
function zipped(content: Uint8Array): Buffer {
	const header = Buffer.from("504b0304140000000000", "hex");
	return Buffer.concat([header, Buffer.alloc(20), Buffer.from("a"), content]);
}

test("no bytes and no type make it throw", () => {
	fc.assert(
		fc.property(fc.uint8Array(), fc.option(fc.string(), { nil: undefined }), (bytes, type) => {
			expect(["html", "text", "pdf", "binary"]).toContain(detectKind(Buffer.from(bytes), type));
		}),
	);
});
