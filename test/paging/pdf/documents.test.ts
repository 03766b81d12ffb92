// @module-tag slow
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findRegions } from "../../../src/paging/pdf/layout.ts";
import { pageText } from "../../../src/paging/pdf/page-text.ts";
import { openPlace } from "../../contracts/paged-source.ts";
import { makePdf, type PdfOptions } from "../../support/make-pdf.ts";
import { atEnd } from "../../support/temp.ts";

async function reading(options: PdfOptions) {
	const place = await openPlace();
	atEnd(() => place.close());
	writeFileSync(join(place.root, "a.pdf"), makePdf(options));
	return place.reader();
}

/** Text at a place, in points from the lower left corner. */
const at = (x: number, y: number, text: string) => `BT /F1 10 Tf ${x} ${y} Td (${text}) Tj ET\n`;

describe("a PDF", () => {
	test("marks its pages, and a fragment starts at one", async () => {
		const reader = await reading({
			pages: ["one", "two", "three"].map((line) => ({ lines: [line] })),
		});
		expect((await reader.read({ uri: "a.pdf" })).content).toBe(
			"[page 1]\none\n\n[page 2]\ntwo\n\n[page 3]\nthree\n\n",
		);
		expect((await reader.read({ uri: "a.pdf#page=2" })).content).toBe(
			"[page 2]\ntwo\n\n[page 3]\nthree\n\n",
		);
		expect((await reader.read({ uri: "a.pdf#page=2-2" })).content).toBe("[page 2]\ntwo\n\n");
	});

	test("shows the values of its form fields, free text and notes", async () => {
		const widget =
			"<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ada) /Rect [50 50 100 70] >>";
		const empty =
			"<< /Type /Annot /Subtype /Widget /FT /Btn /T (box) /V /Off /Rect [50 50 100 70] >>";
		const free =
			"<< /Type /Annot /Subtype /FreeText /Contents (written on it) /DA (/F1 10 Tf) /Rect [50 90 100 99] >>";
		const note = "<< /Type /Annot /Subtype /Text /Contents (check this) /Rect [50 90 60 99] >>";
		const reader = await reading({
			pages: [
				{ lines: ["A form"], annotations: [widget, empty, free, note] },
				{ annotations: [widget] },
			],
		});
		expect(await reader.read({ uri: "a.pdf" })).toMatchObject({
			content:
				"[page 1]\nA form\n[name: Ada]\n[written on it]\n[Note: check this]\n\n[page 2]\n[name: Ada]\n\n",
		});
	});

	test("keeps the columns of a table", async () => {
		const rows = [
			["Name", "Size", "Note"],
			["alpha", "1", "first"],
			["beta", "", "second"],
		];
		const operators = rows
			.map((row, r) =>
				row.map((text, c) => (text === "" ? "" : at(60 + 150 * c, 700 - 20 * r, text))).join(""),
			)
			.join("");
		const reader = await reading({ pages: [{ operators }] });
		expect((await reader.read({ uri: "a.pdf" })).content).toBe(
			"[page 1]\n| Name | Size | Note |\n| alpha | 1 | first |\n| beta |  | second |\n\n",
		);
	});

	test("reads two columns one after the other, however they are drawn", async () => {
		const line = (side: string, i: number) => `${side} line ${i} has several words of text.`;
		const operators = Array.from(
			{ length: 12 },
			(_, i) => at(50, 700 - 14 * i, line("left", i)) + at(320, 700 - 14 * i, line("right", i)),
		).join("");
		const reader = await reading({ pages: [{ operators }] });
		const { content } = await reader.read({ uri: "a.pdf" });
		const places = ["left line 0", "left line 11", "right line 0", "right line 11"].map((text) =>
			content.indexOf(text),
		);
		expect(places).toEqual(places.toSorted((a, b) => a - b));
		expect(places[0]).toBeGreaterThan(0);
	});

	test("opens with its password, and says so without it", async () => {
		const reader = await reading({ pages: [{ lines: ["secret"] }], userPassword: "key" });
		expect((await reader.read({ uri: "a.pdf", password: "key" })).content).toContain("secret");
		for (const password of [undefined, "wrong"]) {
			await expect(reader.read({ uri: "a.pdf", password })).rejects.toMatchObject({
				code: "encrypted_pdf",
				message: expect.stringContaining("--password"),
			});
		}
	});

	test("gives its outline with the first chunk", async () => {
		const reader = await reading({
			pages: [{ lines: ["one"] }, { lines: ["two"] }],
			outline: [
				["Start", 1],
				["End", 2],
			],
		});
		const outline = [
			{ title: "Start", level: 1, page: 1 },
			{ title: "End", level: 1, page: 2 },
		];
		expect(await reader.read({ uri: "a.pdf" })).toMatchObject({ outline });
	});

	test("that is a scan is said to be one, with its number of pages", async () => {
		const reader = await reading({ pages: [{ image: true }, { image: true }] });
		expect((await reader.read({ uri: "a.pdf" })).warning).toMatch(
			/Pages 1 to 2 have no text layer.*of 2 in all/,
		);
	});
});

describe("the text of a page", () => {
	const textOf = (text: string) => pageText({ text, hyphens: [], painted: true });

	test("has no spaces between Chinese characters if the page spaces them all", () => {
		expect(textOf("小 标 宋 体 字").text).toBe("小标宋体字");
		expect(textOf("山川 大海里的鱼").text).toBe("山川 大海里的鱼");
		expect(textOf("a b 山 c").text).toBe("a b 山 c");
	});

	test("in words of three scripts is a broken encoding; one in two scripts is not", () => {
		expect(textOf("aбγd eжλf gцδh iяσj kщωl").warning).toBe("broken_encoding");
		expect(textOf("Ein Wort, слово, λέξη, کلمه, 単語 and more words").warning).toBeUndefined();
	});

	test("in rows of long texts stays as it is drawn, if it is too short for columns", () => {
		const text = "a long piece of text on the left\r\na long piece of text on the right";
		const piece = (from: number, to: number, left: number) => ({
			from,
			to,
			left,
			right: left + 100,
			bottom: 0,
			top: 10,
			words: [{ from, to, left, right: left + 100 }],
		});
		expect(findRegions(text, [piece(0, 32, 0), piece(34, 67, 200)])).toEqual([]);
	});
});
