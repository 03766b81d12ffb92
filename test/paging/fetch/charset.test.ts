import { describe, expect, test } from "vitest";
import { decodeInSlices, decodeText } from "../../../src/paging/fetch/content.ts";
import { CHARSET_SAMPLES } from "../../support/charset-samples.ts";
import { fc } from "../../support/property.ts";

const latin = (text: string) => Buffer.from(text, "latin1");
const plain = { isHtml: false };
const page = { isHtml: true };

describe("a charset in the header", () => {
	test.each(CHARSET_SAMPLES)("$charset is used", ({ charset, text, bytes }) => {
		const contentType = `text/plain; charset=${charset}`;
		expect(decodeText(bytes, { contentType, isHtml: false })).toEqual({ text, charset });
	});

	test.each([
		'text/html; charset="Shift_JIS"',
		"text/html;CHARSET=sjis",
		"text/html; charset = 'shift-jis'",
		"text/html; boundary=x; charset=windows-31j; q=1",
		"text/html; charset=shift_jis, text/html",
	])("is found in %j", (contentType) => {
		const bytes = Buffer.from("93fa967b", "hex");
		expect(decodeText(bytes, { contentType, isHtml: true })).toEqual({
			text: "日本",
			charset: "shift_jis",
		});
	});

	test.each(["iso-8859-1", "latin1", "us-ascii", "cp1252"])("%s means windows-1252", (label) => {
		const source = { contentType: `text/plain; charset=${label}`, isHtml: false };
		expect(decodeText(latin("\x80uro"), source)).toEqual({
			text: "€uro",
			charset: "windows-1252",
		});
	});

	test("beats a meta element", () => {
		const bytes = Buffer.from('<meta charset="shift_jis">é');
		const source = { contentType: "text/html; charset=utf-8", isHtml: true };
		expect(decodeText(bytes, source).text).toContain("é");
	});

	test.each(["nonsense", "replacement", "hz-gb-2312", "utf-7"])(
		"that cannot be decoded (%s) is passed over",
		(label) => {
			const contentType = `text/html; charset=${label}`;
			const named = latin('<meta charset="koi8-r">\xf0');
			expect(decodeText(named, { contentType, isHtml: true }).charset).toBe("koi8-r");
			expect(decodeText(Buffer.from("é"), { contentType, isHtml: true }).charset).toBe("utf-8");
		},
	);

	test("turns what is invalid in it into U+FFFD", () => {
		const source = { contentType: "text/plain; charset=utf-8", isHtml: false };
		expect(decodeText(latin("caf\xe9!"), source)).toEqual({ text: "caf\ufffd!", charset: "utf-8" });
	});
});

describe("a byte order mark", () => {
	test.each([
		["utf-8", "efbbbf 68c3a9"],
		["utf-16le", "fffe 6800 e900"],
		["utf-16be", "feff 0068 00e9"],
	])("of %s beats header and meta, and is removed", (charset, hex) => {
		const bytes = Buffer.from(hex.replaceAll(" ", ""), "hex");
		for (const contentType of [undefined, "text/html; charset=shift_jis"]) {
			expect(decodeText(bytes, { contentType, isHtml: true })).toEqual({ text: "hé", charset });
		}
	});
});

describe("a meta element", () => {
	const cyrillic = (head: string) => Buffer.concat([Buffer.from(head), latin("\xcf\xf0\xe8")]);

	test.each([
		'<meta charset="windows-1251">',
		"<html><head><META Charset=windows-1251>",
		'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
		"<!-- <meta charset=koi8-r> --><meta charset='cp1251'>",
		'<?xml version="1.0" encoding="windows-1251"?><html>',
	])("is honoured in %s", (head) => {
		expect(decodeText(cyrillic(head), page)).toEqual({
			text: `${head}При`,
			charset: "windows-1251",
		});
	});

	test("is not looked for after 1024 bytes, nor outside HTML", () => {
		const meta = "<meta charset=windows-1251>";
		expect(decodeText(cyrillic(`<p>${" ".repeat(1024)}</p>${meta}`), page).charset).toBe(
			"windows-1252",
		);
		expect(decodeText(cyrillic(meta), plain).charset).toBe("windows-1252");
	});

	test("that says UTF-16 is not believed, since it could be read", () => {
		expect(decodeText(Buffer.from('<meta charset="utf-16">é'), page).charset).toBe("utf-8");
	});
});

test("an XML declaration is honoured in text", () => {
	const bytes = latin('<?xml version="1.0" encoding="iso-8859-2"?><a>\xbf</a>');
	expect(decodeText(bytes, { contentType: "application/rss+xml", isHtml: false })).toMatchObject({
		text: expect.stringContaining("<a>ż</a>"),
		charset: "iso-8859-2",
	});
});

describe("without any sign of a charset", () => {
	test("valid UTF-8 is UTF-8, back to the same text", () => {
		fc.assert(
			fc.property(fc.string({ unit: "grapheme" }), (text) => {
				fc.pre(!text.startsWith("\ufeff") && !text.startsWith("<?xml"));
				expect(decodeText(Buffer.from(text), plain)).toEqual({ text, charset: "utf-8" });
			}),
		);
	});

	test("the rest is windows-1252, where every byte has a character of its own", () => {
		const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
		const { text, charset } = decodeText(bytes, plain);
		expect(charset).toBe("windows-1252");
		expect(text).toHaveLength(256);
		expect(new Set(text).size).toBe(256);
		expect(text.slice(0x80, 0xa0)).toBe(
			"€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ",
		);
		expect(text.slice(0, 0x80)).toBe(bytes.toString("latin1", 0, 0x80));
		expect(text.slice(0xa0)).toBe(bytes.toString("latin1", 0xa0));
	});

	test("nothing is an empty text", () => {
		expect(decodeText(Buffer.alloc(0), page)).toEqual({ text: "", charset: "utf-8" });
	});
});

test("no bytes make it throw, whatever the header says", () => {
	fc.assert(
		fc.property(fc.uint8Array(), fc.string(), fc.boolean(), (bytes, label, isHtml) => {
			const source = { contentType: `text/html; charset=${label}`, isHtml };
			expect(typeof decodeText(Buffer.from(bytes), source).text).toBe("string");
		}),
	);
});

test("a text decoded in slices is the same, wherever they are cut", async () => {
	const text = "日本語のテキスト é 😀\n".repeat(120_000);
	const source = { contentType: "text/plain; charset=utf-8", isHtml: false };
	const bytes = Buffer.from(text);
	expect(bytes.length).toBeGreaterThan(2_000_000);
	expect(await decodeInSlices(bytes, source)).toBe(text);
	const western = { contentType: "text/plain; charset=windows-1252", isHtml: false };
	expect(await decodeInSlices(bytes, western)).toBe(decodeText(bytes, western).text);
});
