import { counted, money, short } from "../text/figures.ts";
import { plainText } from "../text/one-line.ts";
import type { AccountRequest, BookSums, SessionAccount } from "./session-account.ts";

export interface SavedReport {
	readonly account: SessionAccount;
	readonly session: BookSums;
	/** Of all sessions of pi, or why they are not known. */
	readonly book: { readonly today: BookSums; readonly all: BookSums } | string;
	readonly window: { readonly tokens: number | undefined; readonly size: number };
	/** Dollars a day; 0 if there is none. */
	readonly budget: number;
}

/** Names of the systems that save, for people. */
const SYSTEMS: Readonly<Record<string, string>> = {
	readCache: "read cache",
	birth: "shorter new results (birth)",
	pruning: "pruning of old results",
};

/** What `/strata` begins with. */
export function savedText(report: SavedReport): string[] {
	const { account, session, book } = report;
	const periods: [name: string, sums: BookSums][] = [["this session", session]];
	if (typeof book !== "string" && book.all.requests > 0) {
		periods.push(["today", book.today], ["in all", book.all]);
	}
	const amounts = periods.map(([name, sums]) => `${amountText(sums)} ${name}`);
	return [
		`pi-strata compared with pi alone, estimated: ${amounts.join(", ")}`,
		...systemTable(periods),
		...costLines(report),
		...windowLine(report),
		...(account.isDemo
			? ["The prices of the demo are made up; today and in all leave it out."]
			: []),
		...(typeof book === "string" ? [`Other sessions are not counted: ${book}`] : []),
	];
}

/** Such as `$0.04 saved`; in tokens where no price is known. */
function amountText(sums: BookSums): string {
	const dollars = total(sums, "dollars");
	if (dollars === 0 && total(sums, "tokens") === 0) return "nothing yet";
	const isPriced = sums.requests > sums.unpriced || dollars !== 0;
	if (!isPriced) return `${short(total(sums, "tokens"))} tokens saved`;
	return dollars < 0 ? `${money(-dollars)} lost` : `${money(dollars)} saved`;
}

function total({ saved }: BookSums, unit: "tokens" | "dollars"): number {
	return Object.values(saved).reduce((sum, own) => sum + own[unit], 0);
}

function systemTable(periods: readonly (readonly [string, BookSums])[]): string[] {
	const names = Object.keys(SYSTEMS).filter((system) =>
		periods.some(([, { saved }]) => saved[system]),
	);
	if (names.length === 0) return [];
	const cell = ({ saved }: BookSums, system: string) => {
		const own = saved[system];
		return own ? `${money(own.dollars)}, ${short(own.tokens)} tokens` : "–";
	};
	const head = ["", ...periods.map(([name]) => name)];
	const rows = names.map((system) => [
		SYSTEMS[system] ?? system,
		...periods.map(([, sums]) => cell(sums, system)),
	]);
	return aligned([head, ...rows]).map((line) => `  ${line}`);
}

function costLines({ account, session, book, budget }: SavedReport): string[] {
	const lines = session.requests > 0 ? [`This session: ${sessionCost(account)}.`] : [];
	const over = account.totals.appendOnlyOverLimit ?? 0;
	if (over > 0) {
		lines.push(
			`In ${counted(over, "request")} pi alone would have compacted first; the estimate leaves that out.`,
		);
	}
	if (budget > 0 && typeof book !== "string") lines.push(`${budgetText(book.today, budget)}.`);
	return lines;
}

/** Such as `$0.31 for 14 requests (prompts $0.20, answers $0.11)`. */
export function sessionCost({ totals }: SessionAccount): string {
	const { requests, cost, outputDollars = 0 } = totals;
	const sent = counted(requests, "request");
	if (cost.dollars === undefined) return `${sent} of unknown price`;
	const whole = money(cost.dollars + outputDollars);
	return `${whole} for ${sent} (prompts ${money(cost.dollars)}, answers ${money(outputDollars)})`;
}

export function budgetText({ dollars, unpriced }: BookSums, budget: number): string {
	const share = Math.floor((100 * dollars) / budget);
	const more = unpriced > 0 ? `, and ${counted(unpriced, "request")} of unknown price` : "";
	return `Budget: ${money(dollars)} of ${money(budget)} spent today (${share} %)${more}`;
}

function windowLine({ window, account }: SavedReport): string[] {
	if (!window.tokens) return [];
	const size = window.size < Number.MAX_SAFE_INTEGER ? ` of ${short(window.size)}` : "";
	const { outOfView } = account;
	const without = outOfView > 0 ? `; ${short(outOfView)} more without pi-strata` : "";
	return [`Window: ${short(window.tokens)}${size} tokens${without}.`];
}

/** The word in pi's footer, such as `strata 22.8k, saved 10.7k`. */
export function statusWord(window: { tokens: number | undefined }, outOfView: number): string {
	const size = !window.tokens ? "strata" : `strata ${short(window.tokens)}`;
	return outOfView > 0 ? `${size}, saved ${short(outOfView)}` : size;
}

/** The line at the end of a run; `undefined` if nothing was billed in it. */
export function runText(account: SessionAccount, known: ReadonlySet<string>): string | undefined {
	const fresh = account.requests.filter(({ entryId }) => !known.has(entryId));
	if (fresh.length === 0) return undefined;
	const part = (requests: readonly AccountRequest[]) => {
		const unknown = requests.some(({ dollars }) => dollars === undefined);
		if (unknown) return counted(requests.length, "request");
		const cost = requests.reduce((sum, { dollars = 0 }) => sum + dollars, 0);
		const saved = requests.reduce((sum, request) => sum + savedIn(request), 0);
		if (saved === 0) return money(cost);
		const word = saved < 0 ? `${money(-saved)} more than pi alone` : `saved about ${money(saved)}`;
		return `${money(cost)}, ${word}`;
	};
	const mark = account.isDemo ? " (made-up prices)" : "";
	return `strata: this run ${part(fresh)}; session ${part(account.requests)}${mark}`;
}

function savedIn({ saved }: AccountRequest): number {
	return Object.values(saved ?? {}).reduce((sum, { dollars = 0 }) => sum + dollars, 0);
}

/** Latest turns in the table of `/strata cost`. */
const SHOWN_TURNS = 10;
const PROMPT_CHARS = 60;

export function turnsText({ requests, isDemo }: SessionAccount): string[] {
	const turns = [...Map.groupBy(requests, ({ turn }) => turn)];
	if (turns.length === 0) return [];
	const rows = turns
		.slice(-SHOWN_TURNS)
		.map(([turn, own]) => [
			String(turn),
			dollarsIn(own),
			counted(own.length, "request"),
			plainText(own[0]?.prompt ?? "", PROMPT_CHARS),
		]);
	const more = turns.length > SHOWN_TURNS ? `, the latest ${SHOWN_TURNS} of ${turns.length}` : "";
	const mark = isDemo ? ", made-up prices" : "";
	return [
		`by turn${more} (prompts and answers${mark}):`,
		...aligned(rows).map((row) => `  ${row}`),
	];
}

export function modelsText({ requests }: SessionAccount): string[] {
	const models = [...Map.groupBy(requests, ({ model }) => model)];
	if (models.length < 2) return [];
	const rows = models.map(([model, own]) => [
		model,
		dollarsIn(own),
		counted(own.length, "request"),
	]);
	return ["by model:", ...aligned(rows).map((row) => `  ${row}`)];
}

function dollarsIn(requests: readonly AccountRequest[]): string {
	if (requests.every(({ dollars }) => dollars === undefined)) return "price unknown";
	const sum = requests.reduce((all, { dollars = 0 }) => all + dollars, 0);
	return requests.some(({ dollars }) => dollars === undefined) ? `${money(sum)}+` : money(sum);
}

function aligned(rows: readonly (readonly string[])[]): string[] {
	const widths = (rows[0] ?? []).map((_, column) =>
		Math.max(...rows.map((row) => row[column]?.length ?? 0)),
	);
	return rows.map((row) =>
		row
			.map((cell, column) => cell.padEnd(widths[column] ?? 0))
			.join("  ")
			.trimEnd(),
	);
}
