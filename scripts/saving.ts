/** Draws `docs/images/saving.svg` from the committed results: `npm run saving`. Its test draws it again and compares. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PICTURE = fileURLToPath(new URL("../docs/images/saving.svg", import.meta.url));
const RESULTS = fileURLToPath(new URL("../bench/results/economy.json", import.meta.url));

interface Bar {
	readonly label: string;
	/** Of the result, before the share at which reads are billed. */
	readonly policy: string;
	readonly color: string;
}

const BARS: readonly Bar[] = [
	{ label: "as it was billed", policy: "billed", color: "#8a94a3" },
	{ label: "pi alone, no cache ever lost", policy: "append-only", color: "#b26f15" },
	{ label: "with the read cache", policy: "read-cache", color: "#2a78b5" },
	{ label: "with the read cache and pruning", policy: "strata", color: "#15806a" },
];

const WIDTH = 860;
const LEFT = 286;
const ROW = 44;
const TOP = 84;
const HEIGHT = TOP + BARS.length * ROW + 46;

/** Costs of one real session, relative to pi alone. `results` is the text of `bench/results/economy.json`. */
export function savingPicture(results: string): string {
	const cases: { case: string; value: number }[] = JSON.parse(results).results;
	const costs = BARS.map(({ policy }) => {
		const found = cases.find((one) => one.case === `trace: ${policy}, reads at 0.1`);
		if (!found) throw new Error(`bench/results/economy.json has no cost of the policy ${policy}`);
		return found.value;
	});
	const scale = (WIDTH - LEFT - 90) / Math.max(...costs);
	const rows = BARS.map(({ label, color }, row) => {
		const cost = costs[row] as number;
		const y = TOP + row * ROW;
		const end = LEFT + cost * scale;
		return `	<text x="${LEFT - 14}" y="${y + 20}" text-anchor="end">${label}</text>
	<rect x="${LEFT}" y="${y}" width="${(cost * scale).toFixed(1)}" height="30" rx="4" fill="${color}"/>
	<text x="${(end + 10).toFixed(1)}" y="${y + 20}" font-weight="600">${cost.toFixed(2)}</text>`;
	});
	const summary = BARS.map(
		({ label }, row) => `${label}: ${(costs[row] as number).toFixed(2)}`,
	).join("; ");
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="Input cost of a real session. ${summary}." font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="15" fill="#1c2733">
	<rect width="${WIDTH}" height="${HEIGHT}" rx="10" fill="#ffffff" stroke="#d5dbe3"/>
	<text x="24" y="36" font-size="19" font-weight="600">Input cost of a real session of 471 requests</text>
	<text x="24" y="60" fill="#53606f">Claude Opus 4.5, replayed by strata replay; pi alone = 1. Lower is better.</text>
${rows.join("\n")}
	<text x="24" y="${HEIGHT - 18}" font-size="13" fill="#53606f">Source: bench/results/economy.json. Models that bind their thinking to the prefix are pruned only after a compaction.</text>
</svg>
`;
}

if (import.meta.main) writeFileSync(PICTURE, savingPicture(readFileSync(RESULTS, "utf8")));
