import type { PricedMiss } from "../economy/index.ts";
import { clipMiddle } from "../text/clip.ts";
import { counted, grouped, short } from "../text/figures.ts";
import { MISS_CAUSES } from "../text/miss-causes.ts";
import type { Book, ConversationSums } from "./book.ts";
import { type BookedRequest, latestRequests } from "./book-rows.ts";
import { promptOf } from "./sent-request.ts";
import { type WindowShare, windowShares } from "./window.ts";

/** A conversation with each of its requests, and what filled the latest one. */
export interface ConversationReport extends ConversationSums {
	readonly steps: readonly Omit<BookedRequest, "pieces" | "settings" | "head" | "base">[];
	readonly window: readonly WindowShare[];
}

/** `undefined` if the book has no such conversation. */
export function conversationReport(book: Book, id: number): ConversationReport | undefined {
	const [sums] = book.sums({ ids: new Set([id]) });
	if (!sums) return undefined;
	const requests = book.requests(id);
	const whole = latestRequests(requests, requests.length).findLast(
		({ request }) => request.tokens && request.step !== "partial",
	);
	const head = whole && book.heads(id).get(whole.request.head)?.pieces;
	const prompt = whole?.request.tokens ? promptOf(whole.request.tokens) : 0;
	return {
		...sums,
		steps: requests.map(({ pieces: _, settings: __, head: ___, base: ____, ...step }) => step),
		window: whole ? windowShares([...(head ?? []), ...whole.messages], prompt) : [],
	};
}

/** One line for the end of a run: `$1.84, 91 % from cache, 2 misses: see strata traffic`. */
export function summaryLine(conversations: readonly ConversationSums[]): string {
	const sum = (count: (one: ConversationSums) => number) =>
		conversations.reduce((total, one) => total + count(one), 0);
	const prompt = sum(({ tokens }) => promptOf(tokens));
	if (prompt === 0) return "no request was billed";
	const misses = sum(({ misses }) => misses);
	const price = priceText({
		dollars: sum(({ dollars }) => dollars),
		unpriced: sum(unpriced),
		prompt,
	});
	const cached = percent(sum(({ tokens }) => tokens.read) / prompt);
	return `${price}, ${cached} from cache, ${counted(misses, "miss", "misses")}: see strata traffic`;
}

const unpriced = (one: ConversationSums) => one.unpriced;

/** Dollars as far as prices are known; tokens if none is. */
function priceText({
	dollars,
	unpriced,
	prompt,
}: {
	dollars: number;
	unpriced: number;
	prompt: number;
}) {
	if (unpriced === 0) return dollarText(dollars);
	if (dollars === 0) return `${short(prompt)} prompt tokens`;
	return `${dollarText(dollars)} and ${counted(unpriced, "request")} without a known price`;
}

/** A table of conversations. */
export function trafficText(conversations: readonly ConversationSums[], nowMs: number): string[] {
	const rows = conversations.map((one) => [
		String(one.id),
		agentText(one),
		one.model,
		grouped(one.requests),
		short(one.context),
		priceText({ ...one, prompt: promptOf(one.tokens) }),
		percent(one.tokens.read / Math.max(1, promptOf(one.tokens))),
		agoText(nowMs - one.usedMs),
		one.lastMiss ? missText(one.lastMiss) : "",
	]);
	const names = [
		"id",
		"agent",
		"model",
		"requests",
		"context",
		"cost",
		"cached",
		"used",
		"last miss",
	];
	return aligned([names, ...rows], [0, 3, 4, 5, 6]);
}

/** A conversation: its sums, its requests, and what fills its window. */
export function conversationText(report: ConversationReport): string[] {
	const { tokens, misses, missDollars } = report;
	const prompt = promptOf(tokens);
	const lost = misses > 0 && missDollars > 0 ? ` (${dollarText(missDollars)})` : "";
	return [
		`${agentText(report)}, ${report.model}: ${counted(report.requests, "request")}, ${priceText({ ...report, prompt })}, ${percent(tokens.read / Math.max(1, prompt))} from cache, ${counted(misses, "miss", "misses")}${lost}`,
		"",
		...aligned(
			[
				["time (UTC)", "read", "written", "plain", "output", "cost", ""],
				...report.steps.map(stepRow),
			],
			[1, 2, 3, 4, 5],
		),
		"",
		`The latest prompt: ${grouped(report.context)} tokens`,
		...windowText(report.window),
	];
}

function stepRow(step: ConversationReport["steps"][number]): string[] {
	const { tokens, dollars, miss, provider, changed } = step;
	const note = STEP_NOTES[step.step];
	const first = changed && !miss ? `, first ${changed}` : "";
	const counts = tokens
		? [tokens.read, tokens.write, tokens.input, tokens.output].map(grouped)
		: ["", "", "", ""];
	const notes = [
		...(step.ended === "complete" ? [] : [step.error ?? step.ended]),
		...(note ? [`${note}${first}`] : []),
		...(miss ? [missText(miss)] : []),
		...(provider ? [`the provider says ${provider.type}`] : []),
	];
	const cost = dollars === undefined ? "" : dollarText(dollars);
	return [timeText(step.startedMs), ...counts, cost, notes.join("; ")];
}

const STEP_NOTES: Partial<Record<BookedRequest["step"], string>> = {
	branch: "another branch",
	edit: "an earlier message changed",
	compaction: "compacted",
	partial: "its start was not observed",
};

const MAX_SHOWN = 10;

/** Shares by kind and tool, then by file. */
function windowText(shares: readonly WindowShare[]): string[] {
	const kinds = summed(shares, ({ what, tool }) => (tool ? `${what} of ${tool}` : what));
	const files = summed(shares, ({ path }) => path && clipMiddle(path, MAX_PATH));
	return [...kinds, ...(files.length > 0 ? ["by file:", ...files] : [])].map((line) => `  ${line}`);
}

const MAX_PATH = 70;

function summed(
	shares: readonly WindowShare[],
	nameOf: (share: WindowShare) => string | undefined,
): string[] {
	const sums = new Map<string, { share: number; tokens: number }>();
	for (const one of shares) {
		const name = nameOf(one);
		if (name === undefined) continue;
		const { share, tokens } = sums.get(name) ?? { share: 0, tokens: 0 };
		sums.set(name, { share: share + one.share, tokens: tokens + one.tokens });
	}
	const largest = [...sums].sort(([, a], [, b]) => b.share - a.share).slice(0, MAX_SHOWN);
	const rows = largest.map(([name, { share, tokens }]) => [percent(share), grouped(tokens), name]);
	const more = sums.size - rows.length;
	return [...aligned(rows, [0, 1]), ...(more > 0 ? [`… and ${grouped(more)} more`] : [])];
}

/** `48,200 tokens paid again ($0.27): the tools changed, first tool Web`. */
export function missText({ tokens, dollars, cause, changed }: PricedMiss): string {
	const price = dollars === undefined ? "" : ` (${dollarText(dollars)})`;
	const first = changed ? `, first ${changed}` : "";
	return `${grouped(tokens)} tokens paid again${price}: ${MISS_CAUSES[cause]}${first}`;
}

function agentText({ speaker }: Pick<ConversationSums, "speaker">): string {
	return speaker.subagent ? `${speaker.agent} (sub-agent)` : speaker.agent;
}

function dollarText(dollars: number): string {
	return `$${dollars.toFixed(dollars < 0.1 ? 3 : 2)}`;
}

function percent(share: number): string {
	return `${Math.round(100 * share)} %`;
}

function timeText(atMs: number): string {
	return new Date(atMs).toISOString().slice(0, 19).replace("T", " ");
}

function agoText(ms: number): string {
	const minutes = Math.max(0, Math.round(ms / 60_000));
	if (minutes < 60) return `${minutes} min ago`;
	if (minutes < 48 * 60) return `${Math.round(minutes / 60)} h ago`;
	return `${Math.round(minutes / (24 * 60))} d ago`;
}

/** Rows as lines; the columns `right` are aligned on the right. */
function aligned(rows: readonly (readonly string[])[], right: readonly number[]): string[] {
	const widths = (rows[0] ?? []).map((_, at) =>
		Math.max(...rows.map((row) => (row[at] ?? "").length)),
	);
	return rows.map((row) =>
		row
			.map((cell, at) => {
				const width = widths[at] ?? 0;
				return right.includes(at) ? cell.padStart(width) : cell.padEnd(width);
			})
			.join("  ")
			.trimEnd(),
	);
}
