import type { PromptTokens } from "../request.ts";
import { short } from "./figures.ts";
import { type Html, html } from "./html-text.ts";

const WIDTH = 480;
const HEIGHT = 120;

export function requestChart(points: readonly PromptTokens[], top: number): Html {
	const layers = [
		{ name: "read", of: ({ read }: PromptTokens) => read },
		{ name: "write", of: ({ write }: PromptTokens) => write },
		{ name: "input", of: ({ input }: PromptTokens) => input },
	];
	const floor = points.map(() => 0);
	const areas = layers.map(({ name, of }) => {
		const from = [...floor];
		for (const [at, point] of points.entries()) floor[at] = (floor[at] ?? 0) + of(point);
		return html`<path class="${name}" d="${area(from, floor, top)}"/>`;
	});
	return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT + 16}" role="img" aria-label="tokens per request">
<line x1="0" y1="${HEIGHT}" x2="${WIDTH}" y2="${HEIGHT}"/>${areas}
<text x="4" y="12">${short(top)} tokens</text><text x="4" y="${HEIGHT + 14}">first request</text><text x="${WIDTH - 4}" y="${HEIGHT + 14}" text-anchor="end">last</text></svg>`;
}

/** SVG; `share` is between 0 and 1. */
export function barChart(share: number): Html {
	const width = (Math.max(0, Math.min(1, share)) * 200).toFixed(1);
	return html`<svg class="bar" viewBox="0 0 200 12" aria-hidden="true"><rect width="${width}" height="12"/></svg>`;
}

/** Steps, so that every request keeps its width. */
function area(from: readonly number[], to: readonly number[], top: number): string {
	const width = WIDTH / Math.max(1, to.length);
	const y = (value: number) => (HEIGHT - (value / Math.max(1, top)) * HEIGHT).toFixed(1);
	const x = (at: number) => (at * width).toFixed(1);
	const there = to.map((value, at) => `L${x(at)} ${y(value)}L${x(at + 1)} ${y(value)}`);
	const back = from.map((value, at) => `L${x(at + 1)} ${y(value)}L${x(at)} ${y(value)}`).reverse();
	return `M0 ${HEIGHT}${there.join("")}${back.join("")}Z`;
}
