/** Draws `docs/images/saving.svg` from the committed results: `npm run saving`. Its test draws it again and compares. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PICTURE = fileURLToPath(new URL("../docs/images/saving.svg", import.meta.url));
const RESULTS = fileURLToPath(new URL("../bench/results/real.json", import.meta.url));

const AGENTS = [
	{ agent: "pi", name: "pi" },
	{ agent: "claude-code", name: "Claude Code" },
	{ agent: "codex", name: "Codex" },
];

const BARS = [
	{ label: "shorter at birth", policy: "birth-quiet", color: "#2a78b5" },
	{ label: "strata: what ships in pi", policy: "strata", color: "#15806a" },
];

interface Result {
	readonly case: string;
	readonly value: number;
	readonly from?: { readonly sessions?: number; readonly requests?: number };
}

const WIDTH = 860;
const LEFT = 286;
const BAR = 24;
const TOP = 84;
const GROUP = 26 + BARS.length * (BAR + 6) + 10;
const HEIGHT = TOP + AGENTS.length * GROUP + 34;
const SCALE = WIDTH - LEFT - 90;

/** The mean cost of real sessions, relative to the agent's own requests. `results` is the text of `bench/results/real.json`. */
export function savingPicture(results: string): string {
	const cases: readonly Result[] = JSON.parse(results).results;
	const meanOf = (agent: string, policy: string) => {
		const found = cases.find((one) => one.case === `${agent}: ${policy}, mean`);
		if (!found) throw new Error(`bench/results/real.json has no mean of ${policy} for ${agent}`);
		return found;
	};
	const groups = AGENTS.map(({ agent, name }, at) => {
		const top = TOP + at * GROUP;
		const { from } = meanOf(agent, BARS[0]?.policy ?? "");
		const size = `${counted(from?.sessions, "session")}, ${counted(from?.requests, "request")}`;
		const title = `	<text x="24" y="${top + 14}" font-weight="600">${name}: ${size}</text>`;
		const bars = BARS.map((bar, row) =>
			barAt(top + 26 + row * (BAR + 6), bar, meanOf(agent, bar.policy)),
		);
		return [title, ...bars].join("\n");
	});
	const summary = AGENTS.flatMap(({ agent, name }) =>
		BARS.map(({ label, policy }) => `${name}, ${label}: ${meanOf(agent, policy).value.toFixed(2)}`),
	).join("; ");
	const one = LEFT + SCALE;
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="Mean input cost of real sessions, relative to the agent alone. ${summary}." font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="15" fill="#1c2733">
	<rect width="${WIDTH}" height="${HEIGHT}" rx="10" fill="#ffffff" stroke="#d5dbe3"/>
	<text x="24" y="36" font-size="19" font-weight="600">Mean input cost of real sessions, replayed</text>
	<text x="24" y="60" fill="#53606f">The agent alone, with no cache lost, = 1 (dashed). Lower is better.</text>
	<line x1="${one}" y1="${TOP}" x2="${one}" y2="${HEIGHT - 44}" stroke="#8a94a3" stroke-dasharray="4 4"/>
${groups.join("\n")}
	<text x="24" y="${HEIGHT - 18}" font-size="13" fill="#53606f">Source: bench/results/real.json. Other agents have only what is shorter at birth.</text>
</svg>
`;
}

function barAt(y: number, { label, color }: (typeof BARS)[number], { value }: Result): string {
	const width = value * SCALE;
	return `	<text x="${LEFT - 14}" y="${y + 17}" text-anchor="end">${label}</text>
	<rect x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" rx="4" fill="${color}"/>
	<text x="${(LEFT + width - 10).toFixed(1)}" y="${y + 17}" text-anchor="end" font-weight="600" fill="#ffffff">${value.toFixed(2)}</text>`;
}

function counted(count: number | undefined, name: string): string {
	return `${(count ?? 0).toLocaleString("en-US")} ${name}${count === 1 ? "" : "s"}`;
}

if (import.meta.main) writeFileSync(PICTURE, savingPicture(readFileSync(RESULTS, "utf8")));
