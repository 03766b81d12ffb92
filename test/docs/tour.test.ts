import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { openDemo } from "../support/demo-session.ts";
import { PATIENCE_MS } from "../support/patience.ts";
import { tempDir } from "../support/temp.ts";
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

	for (const [command, text] of printed) expectShown(`${command}\n\n${text}`);
});

/** In a clone, by the command that the tour names; what is typed is what the tour shows, in its order. */
test("who types what the tour shows into strata demo gets what it prints", {
	tags: "slow",
}, async () => {
	const page = documentAt("docs/tour.md");
	const command = page.blocks.find(({ text }) => text.includes("strata -- demo"))?.text ?? "";
	const [line = ""] = command.split(/ +#/);
	expect(line).toBe("npm run strata -- demo");
	const typed = [...page.text.matchAll(/^(?:\/\S.*$)|\*[A-Z][^*]+[.?]\*/gm)].map(([text]) =>
		text.replaceAll("*", ""),
	);
	expect(typed.slice(0, 3)).toEqual([
		"Why do orders of 50.00 get no discount?",
		"Now look at the logs.",
		"/strata",
	]);
	const root = fileURLToPath(new URL("../..", import.meta.url));
	const words = ["demo", "--", "-p", ...typed];
	const running = promisify(execFile)(
		process.execPath,
		[join(root, "bin", "strata.js"), ...words],
		{ cwd: tempDir(), env: { ...process.env, HOME: tempDir() }, timeout: PATIENCE_MS },
	);
	running.child.stdin?.end(); // in print mode pi reads its input to the end first
	const { stdout } = await running;
	const commands = typed.filter((word) => word.startsWith("/"));
	const shown = commands.map((word) => shownFor(word).slice(`${word}\n\n`.length));
	expect(commands.length).toBeGreaterThan(4);
	const lines = plain(stdout).split("\n");
	for (const text of shown) {
		const wanted = plain(text).split("\n");
		const at = lines.findIndex((one) => withoutFigures(one) === withoutFigures(wanted[0] ?? ""));
		expect(at, `${text}\n\nin:\n${stdout}`).toBeGreaterThanOrEqual(0);
		// Whether one more request hits the cache depends on the length of the sample's path.
		expectSame(wanted.join("\n"), lines.slice(at, at + wanted.length).join("\n"), 1);
	}
});

function shownFor(command: string): string {
	const { blocks } = documentAt("docs/tour.md");
	return blocks.find((block) => block.text.startsWith(`${command}\n\n`))?.text ?? "";
}

function expectShown(printed: string): void {
	const [command = ""] = printed.split("\n", 1);
	expectSame(plain(shownFor(command)), plain(printed));
}

/** The figures as they stand, where the rest differs; else what differs are figures. */
function expectSame(shown: string, real: string, leastCount = 0.01): void {
	expect(withoutFigures(shown), real).toBe(withoutFigures(real));
	const told = figuresIn(shown);
	for (const [at, { figure, isPercent }] of figuresIn(real).entries()) {
		const least = Number.isInteger(figure) ? leastCount : 0.01;
		const tolerance = isPercent ? 1 : Math.max(least, figure * TOLERANCE);
		expect(Math.abs((told[at]?.figure ?? 0) - figure), real).toBeLessThanOrEqual(tolerance);
	}
}

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
