import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { savingPicture } from "../../scripts/saving.ts";

const read = (path: string) =>
	readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");

test("the picture of the saving shows the committed results", () => {
	expect(read("docs/images/saving.svg")).toBe(savingPicture(read("bench/results/real.json")));
});

test("the README describes the picture with the same figures", () => {
	const [, description = ""] =
		/!\[([^\]]+)\]\(docs\/images\/saving\.svg\)/.exec(read("README.md")) ?? [];
	const figures = description.match(/\d\.\d\d/g) ?? [];
	expect(figures).toHaveLength(3);
	for (const figure of figures) expect(read("docs/images/saving.svg")).toContain(`>${figure}<`);
	for (const sessions of ["1 session,", "33 sessions,", "7 sessions,"])
		expect(read("docs/images/saving.svg")).toContain(sessions);
});

test("results without a policy give an error that names the missing cost", () => {
	expect(() => savingPicture('{ "results": [] }')).toThrow("no mean of birth-quiet for pi");
});
