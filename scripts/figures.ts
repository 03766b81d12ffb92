/** Writes the committed results into the documents: `npm run figures`. A figure keeps its places and its unit. */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const FIGURE =
	/\[(-?\d[\d,]*(?:\.(\d+))?)([^\]]*)\]\(([^)\s]*bench\/results\/[\w-]+\.json) "([^"]+)"\)/g;

/** `resultOf` returns `undefined` for an unknown case, whose figure stays. */
export function withFigures(
	text: string,
	resultOf: (file: string, title: string) => number | undefined,
): string {
	return text.replaceAll(FIGURE, (whole, shown, places = "", unit, path, title) => {
		const value = resultOf(basename(path), title);
		if (value === undefined || isRounded(shown, places.length, value)) return whole;
		const digits = value.toFixed(places.length);
		const figure = shown.includes(",") ? Number(digits).toLocaleString("en-US") : digits;
		return `[${figure}${unit}](${path} "${title}")`;
	});
}

/** Halves may be rounded either way. */
function isRounded(shown: string, places: number, value: number): boolean {
	return Math.abs(Number(shown.replaceAll(",", "")) - value) <= 0.5 * 10 ** -places + 1e-9;
}

function committedValue(file: string, title: string): number | undefined {
	const { results } = JSON.parse(readFileSync(join(ROOT, "bench/results", file), "utf8")) as {
		results: { case?: string; value?: number }[];
	};
	return results.find((result) => result.case === title)?.value;
}

if (import.meta.main) {
	for (const path of globSync(["*.md", "docs/**/*.md"], { cwd: ROOT })) {
		const text = readFileSync(join(ROOT, path), "utf8");
		const next = withFigures(text, committedValue);
		if (next !== text) writeFileSync(join(ROOT, path), next);
	}
}
