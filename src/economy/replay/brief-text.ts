import { counted, money } from "../../text/figures.ts";
import { MISS_ADVICE, MISS_CAUSES } from "../../text/miss-causes.ts";
import { plainText } from "../../text/one-line.ts";
import type { FolderReport, PolicyRow, ReplayReport } from "./report.ts";
import {
	copiesNote,
	madeUpNotes,
	partName,
	savedAlreadyNotes,
	short,
	skippedNotes,
	times,
	unpricedNotes,
} from "./report-text.ts";

/** Which policies the short report shows, in this order. */
export interface BriefOptions {
	readonly shown: readonly string[];
}

/** What a person asks first: what it cost, what would have cost less, and why caches missed. */
export function briefText(report: ReplayReport, { shown }: BriefOptions): string[] {
	return [
		`Session ${plainText(report.file, 500)}${partName(report)}`,
		...headline(report),
		...savedAlreadyNotes(report),
		...unpricedNotes(report),
		"",
		...policyLines(report.policies, shown),
		"",
		...causeLines(report),
		...skippedNotes(report),
		`Replay deviates from the bill by ${(100 * report.check.deviation).toFixed(2)} %. --all shows every policy, each miss and the charts.`,
	];
}

export function briefFolderText(folder: FolderReport, { shown }: BriefOptions): string[] {
	const { file, requests, sessions, failed } = folder;
	return [
		`All sessions in ${plainText(file, 500)}`,
		`${counted(requests, "request")} in ${counted(sessions.length, "session")}${copiesNote(folder)}`,
		...comparison(folder.policies),
		...madeUpNotes(folder.sessions),
		...unpricedNotes(folder),
		"",
		...policyLines(folder.policies, shown),
		"",
		...causeLines(folder),
		...(failed.length > 0 ? ["Failed:"] : []),
		...failed.map(({ reason }) => `  ${plainText(reason, 500)}`),
		"--all shows every session, policy and miss.",
	];
}

function headline(report: ReplayReport): string[] {
	const models = report.models.map(({ name }) => plainText(name)).join(", ");
	const sent = `${counted(report.requests, "request")}${copiesNote(report)}`;
	return [`${sent} of ${models}`, ...comparison(report.policies), ...madeUpNotes([report])];
}

/**
 * Such as `Prompts cost $37.90 as billed, without the answers. By the provider's rules $32.35, with pi-strata about
 * $20.62: $11.73 (36 %) less.` What a provider lost or kept against its rules is no effect of a policy.
 */
function comparison(policies: readonly PolicyRow[]): string[] {
	const find = (name: string) => policies.find((policy) => policy.name === name);
	const [billed, strata] = [find("billed"), find("strata")];
	if (!billed) return [];
	const paid = `Prompts cost ${amount(billed)} as billed, without the answers.`;
	if (!strata) return [paid];
	const plain = find("append-only") ?? billed;
	const less = 1 - strata.cost / plain.cost;
	const percent = `${Math.round(100 * Math.abs(less))} %`;
	const isPriced = plain.dollars !== undefined && strata.dollars !== undefined;
	const difference = isPriced ? money(Math.abs((plain.dollars ?? 0) - (strata.dollars ?? 0))) : "";
	const by = isPriced ? `${difference} (${percent})` : percent;
	const more = less >= 0 ? "less" : "more";
	const ours = `with pi-strata about ${amount(strata)}: ${by} ${more}.`;
	return amount(plain) === amount(billed)
		? [`${paid} W${ours.slice(1)}`]
		: [`${paid} By the provider's rules ${amount(plain)}, ${ours}`];
}

function amount({ dollars, cost }: PolicyRow): string {
	return dollars === undefined ? `as much as ${short(cost)} input tokens` : money(dollars);
}

/** For policies whose own description names other policies. */
const PLAIN_WORDS: Readonly<Record<string, string>> = {
	strata:
		"pi-strata as it ships: text in view is not sent again, old results are pruned when that pays",
};

function policyLines(policies: readonly PolicyRow[], shown: readonly string[]): string[] {
	const rows = shown.flatMap((name) => policies.filter((policy) => policy.name === name));
	const dollars = rows.map((row) => (row.dollars === undefined ? "" : money(row.dollars)));
	const names = Math.max("policy".length, ...rows.map(({ name }) => name.length));
	const width = Math.max("dollars".length, ...dollars.map(({ length }) => length));
	const head = `  ${"policy".padEnd(names)}  ${"dollars".padStart(width)}  cost`;
	const lines = rows.map(({ name, ratio, description }, at) => {
		const price = (dollars[at] ?? "").padStart(width);
		const what = PLAIN_WORDS[name] ?? description;
		return `  ${name.padEnd(names)}  ${price}  ${times(ratio).padStart(4)}  ${what}`;
	});
	const rest = policies.length - rows.length;
	const more = rest > 0 ? `; ${counted(rest, "more policy", "more policies")} with --all` : "";
	return [head, ...lines, `  (cost: relative to append-only${more})`];
}

/** Misses by cause, the dearest first, each with what to do about it. */
function causeLines({
	misses,
	policies,
}: Pick<ReplayReport | FolderReport, "misses" | "policies">): string[] {
	if (misses.length === 0) return ["No cache misses.", ""];
	const price = dollarsPerToken(policies);
	const shownCost = (cost: number) =>
		price === undefined ? `${short(cost)} input tokens` : `about ${money(cost * price)}`;
	const costOf = (some: readonly { readonly cost: number }[]) =>
		some.reduce((sum, { cost }) => sum + cost, 0);
	const causes = [...Map.groupBy(misses, ({ cause }) => cause)]
		.map(([cause, own]) => ({ cause, count: own.length, cost: costOf(own) }))
		.sort((a, b) => b.cost - a.cost);
	const all = counted(misses.length, "cache miss", "cache misses");
	return [
		`${all} cost ${shownCost(costOf(misses))}:`,
		...causes.flatMap(({ cause, count, cost }) => [
			`  ${count} ×  ${shownCost(cost)}  ${MISS_CAUSES[cause]}`,
			`       what to do: ${MISS_ADVICE[cause]}`,
		]),
		"",
	];
}

/** Of a plain input token, on average over the session; `undefined` if a price is unknown. */
function dollarsPerToken(policies: readonly PolicyRow[]): number | undefined {
	const billed = policies.find(({ name }) => name === "billed");
	return billed?.dollars === undefined ? undefined : billed.dollars / billed.cost;
}
