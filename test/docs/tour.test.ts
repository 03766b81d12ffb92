import { expect, test } from "vitest";
import { openDemo } from "../support/demo-session.ts";
import { documentAt } from "./documents.ts";

/** Counts go by the length of the temporary folder's path, which is in the answer to a PDF. */
const TOLERANCE = 0.03;

test("the tour shows what the demo prints", { tags: "slow" }, async () => {
	const session = await openDemo("json");
	const printed: [command: string, text: string][] = [];
	async function ask(command: string): Promise<void> {
		await session.prompt(command);
		const reports = session.sessionManager
			.getEntries()
			.filter((entry) => entry.type === "custom" && entry.customType === "strata-report");
		const [last] = reports.slice(-1) as unknown as { data: { text: string } }[];
		printed.push([command, last?.data.text ?? ""]);
	}
	await session.prompt("Why do orders of 50.00 get no discount?");
	await session.prompt("Now look at the logs.");
	await ask("/strata");
	await ask("/kota pruning");
	await ask("/strata cost");
	await ask("/workset add src/cart.ts src/discount.ts");
	await session.prompt("And once more?");
	await session.prompt("And again?");
	await ask("/tiers");

	const { blocks } = documentAt("docs/tour.md");
	for (const [command, text] of printed) {
		const shown = blocks.find((block) => block.text.startsWith(`${command}\n\n`))?.text ?? "";
		const real = plain(`${command}\n\n${text}`);
		// The figures as they stand, where the rest differs; else what differs are figures.
		expect(withoutFigures(plain(shown)), real).toBe(withoutFigures(real));
		const told = figuresIn(plain(shown));
		for (const [at, { figure, isPercent }] of figuresIn(real).entries()) {
			const tolerance = isPercent ? 1 : Math.max(0.01, figure * TOLERANCE);
			expect(Math.abs((told[at]?.figure ?? 0) - figure), real).toBeLessThanOrEqual(tolerance);
		}
	}
});

/** Without what is different each time: the clock, ids, ages. */
function plain(text: string): string {
	return text
		.replaceAll(/\d\d:\d\d:\d\d/g, "(clock)")
		.replaceAll(/toolu_\w+/g, "(id)")
		.replaceAll(/\d+ (s|min) ago/g, "(age)")
		.replaceAll(/ +/g, " ")
		.replaceAll(/ $/gm, "")
		.trimEnd();
}

const FIGURE = /\d[\d,]*(?:\.\d+)?/g;

function withoutFigures(text: string): string {
	return text.replaceAll(FIGURE, "#");
}

function figuresIn(text: string): { figure: number; isPercent: boolean }[] {
	return [...text.matchAll(FIGURE)].map(({ 0: figure, index }) => ({
		figure: Number(figure.replaceAll(",", "")),
		isPercent: text.startsWith(" %", index + figure.length),
	}));
}
