import type { PromptTokens } from "../../core/bill.ts";
import { counted } from "../../text/figures.ts";
import { MISS_CAUSES } from "../../text/miss-causes.ts";
import { plainText } from "../../text/one-line.ts";
import { promptSize } from "./billed.ts";
import { percent } from "./deviation.ts";
import type { FolderReport, ReplayReport } from "./report.ts";
import {
	clock,
	copiesNote,
	madeUpNotes,
	money,
	partName,
	savedAlreadyNotes,
	short,
	skippedNotes,
	summaryOf,
	times,
	unpricedNotes,
} from "./report-text.ts";

/** Maximum number of rows in a table. `--json` has all of them. */
const MOST_ROWS = 200;

export const MOST_SESSIONS = 100;

/** Identifies our pages. It is within their first 1,000 characters. */
export const PAGE_MARK = 'name="generator" content="strata replay"';

/** Returns a self-contained page: no script, and a content security policy that forbids loading anything. */
export function reportHtml(reports: readonly ReplayReport[], folder?: FolderReport): string {
	const sessions = folder?.sessions.length ?? reports.length;
	const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="generator" content="strata replay"><meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width">
<title>Session costs</title><style>${STYLE}</style></head><body>
<h1>Cost of ${sessions === 1 ? "this session" : `these ${sessions} sessions`}</h1>
${folder ? folderSection(folder, reports.length) : ""}${reports.map(section)}
<p class="small">Costs are in plain input tokens: cache reads and writes count by their price. Answers are not included.
<b>append-only</b> means the agent's own requests, with only those cache losses that follow from the provider's rules. All policies are compared with it.</p>
</body></html>
`;
	return page.text;
}

function folderSection(folder: FolderReport, shown: number): Html {
	const { file, requests, sessions, failed } = folder;
	const rest = sessions.length > shown ? ` Below are the ${shown} most expensive.` : "";
	return html`<section><h2>All sessions in ${plainText(file, 500)}</h2>
${gist(folder)}<p>${counted(requests, "request")} in ${counted(sessions.length, "session")}${copiesNote(folder)}.${rest}</p>
${failed.length > 0 ? html`<p class="note">${counted(failed.length, "file", "files")} failed:</p>` : ""}
${failed.slice(0, MOST_ROWS).map(({ reason }) => html`<p class="note">${plainText(reason, 500)}</p>`)}
${policyTable(folder)}${notes([...madeUpNotes(sessions), ...unpricedNotes(folder)])}</section>`;
}

function section(report: ReplayReport): Html {
	const { file, requests, models, check } = report;
	return html`<section><h2>${plainText(file, 500)}</h2>
${gist(report)}
<p>${counted(requests, "request")}${copiesNote(report)}. ${models.map(
		(model) =>
			html`${plainText(model.name)}: ${counted(model.requests, "request")}; a cached read costs ${model.readRatio} and a write ${model.writeRatio} of the input price. `,
	)}With the cache losses that were billed, replay deviates from the bill by ${percent(check.deviation)}.</p>
${notes([...(check.reasons ?? []), ...savedAlreadyNotes(report), ...skippedNotes(report)])}
${policyTable(report)}${notes([...madeUpNotes([report]), ...unpricedNotes(report)])}${charts(report)}${missTable(report)}${duplicateTable(report)}</section>`;
}

function notes(lines: readonly string[]): Html[] {
	return lines.map((note) => html`<p class="note">${note}</p>`);
}

function gist(report: Pick<ReplayReport, "policies" | "misses">): Html[] {
	return summaryOf(report).map((line) => html`<p class="gist">${line}</p>`);
}

function policyTable({ policies }: Pick<ReplayReport, "policies">): Html {
	const top = policies.reduce((most, { ratio }) => Math.max(most, ratio), 1);
	const rows = policies.map(
		(row) => html`<tr><th scope="row">${row.name}<small>${row.description}</small></th>
<td>${times(row.ratio)}</td><td>${barChart(row.ratio / top)}</td><td>${money(row.dollars)}</td><td>${short(row.cost)}</td>
<td>${short(row.read)}</td><td>${short(row.write)}</td><td>${short(row.input)}</td><td>${short(row.maxContext)}</td></tr>`,
	);
	return html`<table><thead><tr><th>policy</th><th colspan="2" class="text">cost, relative to append-only</th><th>dollars</th>
<th>input tokens</th><th>read</th><th>written</th><th>uncached</th><th>largest</th></tr></thead><tbody>${rows}</tbody></table>`;
}

function charts({ chart }: ReplayReport): Html {
	const sizes = chart.flatMap(({ points }) => points.map(promptSize));
	const top = sizes.reduce((most, size) => Math.max(most, size), 1);
	return html`<h3>Tokens per request</h3>
<p class="key"><span class="read">read from the cache</span> <span class="write">written to it</span> <span class="input">uncached</span></p>
<div class="charts">${chart.map(({ name, points }) => html`<figure><figcaption>${name}</figcaption>${requestChart(points, top)}</figure>`)}</div>`;
}

function missTable({ misses }: ReplayReport): Html {
	if (misses.length === 0) return html`<h3>No cache misses</h3>`;
	const rows = misses
		.toSorted((a, b) => b.cost - a.cost)
		.slice(0, MOST_ROWS)
		.sort((a, b) => a.request - b.request)
		.map(
			(miss) =>
				html`<tr><td>${miss.request}${partName(miss)}</td><td>${clock(miss.atMs)}</td><td>${short(miss.tokens)}</td><td>${short(miss.cost)}</td>
<td class="text">${MISS_CAUSES[miss.cause]}</td><td class="text">${plainText(miss.changed ?? "")}</td></tr>`,
		);
	return html`<h3>Cache misses (${countOf(misses)})</h3><table><thead><tr><th>request</th><th>time (UTC)</th><th>tokens paid again</th>
<th>cost in input tokens</th><th class="text">cause</th><th class="text">first change</th></tr></thead><tbody>${rows}</tbody></table>`;
}

function duplicateTable({ duplicateReads }: ReplayReport): Html {
	if (duplicateReads.length === 0) return html`<h3>No redundant file reads</h3>`;
	const rows = duplicateReads
		.slice(0, MOST_ROWS)
		.map(
			(file) =>
				html`<tr><td class="text">${plainText(file.path, 300)}</td><td>${file.times}</td><td>${short(file.tokens)}</td><td>${short(file.cost)}</td></tr>`,
		);
	return html`<h3>Redundant file reads (${countOf(duplicateReads)})</h3><table><thead><tr><th>file</th><th>times</th>
<th>tokens</th><th>cost in input tokens</th></tr></thead><tbody>${rows}</tbody></table>`;
}

function countOf({ length }: readonly unknown[]): string {
	return length > MOST_ROWS ? `the ${MOST_ROWS} most expensive of ${length}` : String(length);
}

const STYLE = `
:root { color-scheme: light dark; --read: #5b9bd5; --write: #e08a3c; --input: #b04a5a; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1rem; overflow-wrap: anywhere; border-top: 1px solid #8888; padding-top: 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #8883; vertical-align: top; white-space: nowrap; }
th:first-child, .text { text-align: left; }
td.text, tbody th { white-space: normal; overflow-wrap: anywhere; }
small { display: block; font-weight: normal; opacity: .7; } .small { font-size: 13px; opacity: .7; }
.gist { font-size: 1.15rem; font-weight: 600; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(480px, 100%), 1fr)); gap: 0 1.5rem; }
svg { width: 100%; height: auto; display: block; }
svg text { font-size: 11px; fill: currentColor; opacity: .7; }
svg line { stroke: currentColor; opacity: .4; }
.bar { width: 160px; margin-top: .3rem; } .bar rect { fill: var(--read); }
.read { fill: var(--read); } .write { fill: var(--write); } .input { fill: var(--input); }
.key span { border-left: 1em solid; padding-left: .4em; margin-right: 1em; }
.key .read { border-color: var(--read); } .key .write { border-color: var(--write); } .key .input { border-color: var(--input); }
figure { margin: 1rem 0; } figcaption { font-weight: 600; } .note { color: var(--input); }
`;

const WIDTH = 480;
const HEIGHT = 120;

function requestChart(points: readonly PromptTokens[], top: number): Html {
	const floor = points.map(() => 0);
	const areas = (["read", "write", "input"] as const).map((layer) => {
		const from = [...floor];
		for (const [at, point] of points.entries()) floor[at] = (floor[at] ?? 0) + point[layer];
		return html`<path class="${layer}" d="${area(from, floor, top)}"/>`;
	});
	return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT + 16}" role="img" aria-label="tokens per request">
<line x1="0" y1="${HEIGHT}" x2="${WIDTH}" y2="${HEIGHT}"/>${areas}
<text x="4" y="12">${short(top)} tokens</text><text x="4" y="${HEIGHT + 14}">first request</text><text x="${WIDTH - 4}" y="${HEIGHT + 14}" text-anchor="end">last</text></svg>`;
}

/** Returns SVG. `share` is between 0 and 1. */
function barChart(share: number): Html {
	const width = (Math.max(0, Math.min(1, share)) * 200).toFixed(1);
	return html`<svg class="bar" viewBox="0 0 200 12" aria-hidden="true"><rect width="${width}" height="12"/></svg>`;
}

/** Draws steps, so that every request has the same width. */
function area(from: readonly number[], to: readonly number[], top: number): string {
	const width = WIDTH / Math.max(1, to.length);
	const y = (value: number) => (HEIGHT - (value / Math.max(1, top)) * HEIGHT).toFixed(1);
	const x = (at: number) => (at * width).toFixed(1);
	const there = to.map((value, at) => `L${x(at)} ${y(value)}L${x(at + 1)} ${y(value)}`);
	const back = from.map((value, at) => `L${x(at + 1)} ${y(value)}L${x(at)} ${y(value)}`).reverse();
	return `M0 ${HEIGHT}${there.join("")}${back.join("")}Z`;
}

declare const htmlBrand: unique symbol;

/** Text that is escaped already. Any other value is escaped before it enters a page. */
type Html = { readonly [htmlBrand]: true; readonly text: string };

/** Escapes every value that is not `Html` or a list of it. */
function html(
	strings: TemplateStringsArray,
	...values: (string | number | Html | readonly Html[])[]
): Html {
	const text = strings.reduce((all, part, at) => all + rendered(values[at - 1] ?? "") + part);
	return { text } as Html;
}

function rendered(value: string | number | Html | readonly Html[]): string {
	if (typeof value === "string") return escapeHtml(value);
	if (typeof value === "number") return String(value);
	if ("text" in value) return value.text;
	return value.map(({ text }) => text).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
	"&": "&amp;",
	"<": "&lt;",
	">": "&gt;",
	'"': "&quot;",
	"'": "&#39;",
};

function escapeHtml(text: string): string {
	return text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}
