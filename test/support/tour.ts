import { execFile } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { documentAt } from "../docs/documents.ts";
import { PATIENCE_MS } from "./patience.ts";
import { atEnd, tempDir } from "./temp.ts";

/** Counts go by the length of the temporary folder's path, which is in the answer to a PDF. */
const TOLERANCE = 0.03;

/** Messages and commands of the tour that are typed into pi, in their order. */
function typedInTour(): string[] {
	const { text } = documentAt("docs/tour.md");
	const typed = [...text.matchAll(/^(?:\/\S.*$)|\*[A-Z][^*]+[.?]\*/gm)].map(([found]) =>
		found.replaceAll("*", ""),
	);
	expect(typed.slice(0, 3)).toEqual([
		"Why do orders of 50.00 get no discount?",
		"Now look at the logs.",
		"/strata",
	]);
	return typed;
}

/** Types what the tour shows into `strata demo` of a clone or package, then replays that session as its last section says. */
export async function expectTourFollowed(node: string, bin: string): Promise<void> {
	const home = tempDir();
	const strata = async (words: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}) => {
		const running = promisify(execFile)(node, [bin, ...words], {
			cwd,
			env: { ...process.env, HOME: home, ...env },
			timeout: PATIENCE_MS,
		});
		running.child.stdin?.end(); // in print mode pi reads its input to the end first
		return await running;
	};
	const typed = typedInTour();
	const { stdout, stderr } = await strata(["demo", "--keep", "--", "-p", ...typed], tempDir());
	const [, kept = ""] = /^kept: (.+)$/m.exec(stderr) ?? [];
	atEnd(() => rmSync(kept, { recursive: true, force: true }));
	// The user's own server saw the demo while it ran, and does no longer.
	expect(readdirSync(join(home, ".pi", "agent", "strata", "running-demos"))).toEqual([]);
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

	const { blocks } = documentAt("docs/tour.md");
	const replays = blocks.flatMap(({ text }) => [...text.matchAll(/^strata (replay\b.*?) +#/gm)]);
	expect(replays.map(([, words]) => words)).toEqual(["replay", "replay --find"]);
	const [project = ""] = readdirSync(kept).filter((name) => name.startsWith("shop-"));
	const env = { PI_CODING_AGENT_DIR: join(kept, "agent") };
	for (const [, words = ""] of replays) {
		const { stdout: replayed } = await strata(words.split(" "), join(kept, project), env);
		expect(replayed).toMatch(words === "replay" ? /^\d+ requests of strata-demo\//m : /\.jsonl/);
	}
}

export function shownFor(command: string): string {
	const { blocks } = documentAt("docs/tour.md");
	return blocks.find((block) => block.text.startsWith(`${command}\n\n`))?.text ?? "";
}

export function expectShown(printed: string): void {
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
