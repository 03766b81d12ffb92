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
