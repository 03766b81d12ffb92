import type { PricedMiss } from "../economy/index.ts";
import { clipMiddle } from "../text/clip.ts";
import { counted, grouped, short } from "../text/figures.ts";
import { MISS_CAUSES } from "../text/miss-causes.ts";
import { stepNote } from "../text/step-note.ts";
import type { Book, ConversationSums } from "./book.ts";
import type { BookedStep } from "./book-rows.ts";
import { leftBy, promptOf } from "./sent-request.ts";
import type { TracePiece } from "./trace.ts";
import { type WindowPart, type WindowShare, windowParts, windowShares } from "./window.ts";

/** A conversation with its requests, the oldest first, and what filled the latest one. */
export interface ConversationReport extends ConversationSums {
	readonly steps: readonly Omit<BookedStep, "head" | "base">[];
	/** Empty if the prompt has more than {@link MAX_PIECES} pieces. */
	readonly window: readonly WindowShare[];
}

/** No model's window holds as many. Their memory would be more than the server's worker has. */
const MAX_PIECES = 100_000;

/** `undefined` if the book has no such conversation. `limit`: only the latest requests. Default: all. */
export function conversationReport(
	book: Book,
	id: number,
	limit?: number,
): ConversationReport | undefined {
	const sums = book.conversation(id);
	if (!sums) return undefined;
	const requests = book.steps(id, limit);
	const whole = requests.findLast(({ tokens, step }) => tokens && step !== "partial");
	const latest = whole && leftBy(whole);
	const prompt = latest ? promptOf(latest) : 0;
	return {
		...sums,
		steps: requests.map(({ head: _, base: __, ...step }) => step),
		window: whole && whole.shared <= MAX_PIECES ? windowShares(piecesOf(book, whole), prompt) : [],
	};
}

function piecesOf(book: Book, request: BookedStep): TracePiece[] {
	const head = book.heads(request.conversation).get(request.head)?.pieces ?? [];
	return [...head, ...book.messages(request)];
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
	const saved = savedText({
		savedTokens: sum(({ savedTokens }) => savedTokens),
		savedInShadow: sum(({ savedInShadow }) => savedInShadow),
	});
	return `${price}, ${cached} from cache, ${counted(misses, "miss", "misses")}${saved}: see strata traffic`;
}

/** Empty if nothing was saved. Tokens are estimates. */
function savedText(saved: Pick<ConversationSums, "savedTokens" | "savedInShadow">): string {
	const { savedTokens, savedInShadow } = saved;
	const real = savedTokens > 0 ? `, about ${grouped(savedTokens)} prompt tokens saved` : "";
	const shadow = savedInShadow > 0 ? `, birth would save about ${grouped(savedInShadow)}` : "";
	return real + shadow;
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
		`${agentText(report)}, ${report.model}: ${counted(report.requests, "request")}, ${priceText({ ...report, prompt })}, ${percent(tokens.read / Math.max(1, prompt))} from cache, ${counted(misses, "miss", "misses")}${lost}${savedText(report)}`,
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
	const note = stepNote(step.step);
	const first = changed && !miss ? `, first ${changed}` : "";
	const counts = tokens
		? [tokens.read, tokens.write, tokens.input, tokens.output].map(grouped)
		: ["", "", "", ""];
	const notes = [
		...(step.ended === "complete" ? [] : [step.error ?? step.ended]),
		...(note ? [`${note}${first}`] : []),
		...(miss ? [missText(miss)] : []),
		...(step.cleared ? [`the provider cleared ${grouped(step.cleared)} tokens`] : []),
		...(step.savedTokens ? [`about ${grouped(step.savedTokens)} tokens saved`] : []),
		...(step.savedInShadow ? [`birth would save about ${grouped(step.savedInShadow)}`] : []),
		...(step.kept ? [KEPT[step.kept] ?? `results stay: ${step.kept}`] : []),
		...(provider ? [`the provider says ${provider.type}`] : []),
	];
	const cost = dollars === undefined ? "" : dollarText(dollars);
	return [timeText(step.startedMs), ...counts, cost, notes.join("; ")];
}

/** Why results stayed as they are, in words. */
const KEPT: Readonly<Record<string, string>> = {
	edited: "results stay: the provider may edit earlier ones",
	encoded: "results stay: the request is compressed",
	failed: "results stay: an error of strata",
	late: "results stay that were answered before",
	"no-store": "new results stay: the store of savings failed",
	refused: "results stay: the provider refused them shortened",
	slow: "new results stay: there was no time left",
	stateful: "results stay: the provider holds a part of the prompt",
	unreadable: "results stay: the request is not understood",
	websocket: "results stay: WebSockets are sent as they are",
};

const MAX_SHOWN = 10;

/** Shares by kind and tool, then by file. */
function windowText(shares: readonly WindowShare[]): string[] {
	const { byTool, byFile } = windowParts(shares);
	const files = byFile.length > 0 ? ["by file:", ...partsText(byFile)] : [];
	return [...partsText(byTool), ...files].map((line) => `  ${line}`);
}

const MAX_PATH = 70;

function partsText(parts: readonly WindowPart[]): string[] {
	const rows = parts
		.slice(0, MAX_SHOWN)
		.map(({ name, share, tokens }) => [
			percent(share),
			grouped(tokens),
			clipMiddle(name, MAX_PATH),
		]);
	const more = parts.length - rows.length;
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
