// @module-tag slow
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openPlace } from "../../contracts/paged-source.ts";
import { makePdf } from "../../support/make-pdf.ts";
import { atEnd } from "../../support/temp.ts";

test("a table with a hyphen at the end of a row loses no cell", async () => {
	const rows = ["one 1st", "two 2nd", "three pre-", "four fixed", "five 5th", "six 6th"];
	const operators = rows
		.map((row, i) => {
			const [left, right] = row.split(" ");
			const at = (x: number, text = "") =>
				`BT /F1 10 Tf 1 0 0 1 ${x} ${700 - i * 14} Tm (${text}) Tj ET`;
			return `${at(50, left)}\n${at(320, right)}`;
		})
		.join("\n");
	const place = await openPlace();
	atEnd(() => place.close());
	writeFileSync(join(place.root, "rows.pdf"), makePdf({ pages: [{ operators }] }));
	const { content } = await place.reader().read({ uri: "rows.pdf" });
	for (const word of ["one", "2nd", "three", "four", "fixed", "five", "6th"])
		expect(content).toContain(word);
});

/** The text of a page with each text at its place, in points from the left and from the top. */
async function read(texts: readonly (readonly [text: string, x: number, y: number])[]) {
	const operators = texts
		.map(([text, x, y]) => `BT /F1 10 Tf 1 0 0 1 ${x} ${700 - y} Tm (${text}) Tj ET`)
		.join("\n");
	const place = await openPlace();
	atEnd(() => place.close());
	writeFileSync(join(place.root, "page.pdf"), makePdf({ pages: [{ operators }] }));
	return (await place.reader().read({ uri: "page.pdf" })).content;
}

test("columns that are close to each other are kept apart where no row crosses the gap", async () => {
	const rows = [
		["Name", "Kind", "Price"],
		["Item 1", "others", "3.50"],
		["Item 2", "car", "17.00"],
		["Item 3", "international", "1.25"],
	];
	const texts = rows.flatMap(([name = "", kind = "", price = ""], i) => [
		[name, 50, i * 14] as const,
		[kind, 90, i * 14] as const,
		[price, 155, i * 14] as const,
	]);
	expect(await read(texts)).toBe(
		"[page 1]\n| Name | Kind | Price |\n| Item 1 | others | 3.50 |\n| Item 2 | car | 17.00 |\n| Item 3 | international | 1.25 |\n\n",
	);
});

test("rows that have nothing in common are no table", async () => {
	const content = await read([
		["one", 50, 0],
		["two words", 160, 0],
		["a line over both", 90, 14],
		["three", 50, 28],
		["four", 160, 28],
		["all of it in one line of words", 50, 42],
	]);
	expect(content).not.toContain("|");
});

test("a table that ends inside a line is followed by a new line", async () => {
	const content = await read([
		["a", 50, 0],
		["b", 160, 0],
		["c", 50, 14],
		["d", 160, 14],
		["low", 250, 19],
	]);
	expect(content).toContain("| a | b |\n| c | d |\n");
	expect(content).toContain("low");
});
