import { counted } from "../../text/figures.ts";
import type { ReplayReport } from "./report.ts";

export function summaryOf({
	policies,
	misses,
}: Pick<ReplayReport, "policies" | "misses">): string[] {
	const ratioOf = (policy: string) => policies.find(({ name }) => name === policy)?.ratio;
	const [billed, strata] = [ratioOf("billed"), ratioOf("strata")];
	const missed = misses.reduce((sum, { cost }) => sum + cost, 0);
	const sentences: string[] = [];
	if (billed !== undefined) {
		const why = misses.length > 0 ? `; ${short(missed)} input tokens went on cache misses` : "";
		sentences.push(`Billed ${times(billed)} × what pi's own requests had to cost${why}.`);
	}
	if (strata !== undefined) sentences.push(`Strata would have cost ${times(strata)} ×.`);
	return sentences.length > 0 ? [sentences.join(" ")] : [];
}

export function savedAlreadyNotes({ savedAlready }: ReplayReport): string[] {
	const { shortReads, edits } = savedAlready;
	const done = [
		...(shortReads > 0 ? [`${counted(shortReads, "read")} answered short`] : []),
		...(edits > 0 ? [`${counted(edits, "content")} replaced or taken out`] : []),
	];
	if (done.length === 0) return [];
	return [
		`This session was made smaller while it ran (${done.join(", ")}): its bill and all policies start from there.`,
	];
}

export function skippedNotes({ skipped, skippedBy }: ReplayReport): string[] {
	const notes: string[] = [];
	const { damaged, tooLong, surplus, relinked, requests } = skippedBy;
	if (skipped > 0) {
		notes.push(
			`${counted(skipped, "line was", "lines were")} skipped: ${damaged} damaged, ${tooLong} too long, ${surplus} beyond the limit.`,
		);
	}
	if (relinked > 0) {
		notes.push(
			`${counted(relinked, "entry names", "entries name")} a parent that is not there and ${relinked === 1 ? "was" : "were"} taken to follow the line above.`,
		);
	}
	if (requests > 0) {
		notes.push(
			`The session is too large: its last ${requests === 1 ? "request is" : `${requests} requests are`} left out.`,
		);
	}
	return notes;
}

/** 0.61 or 12.3 */
export function times(ratio: number): string {
	return ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(2);
}

export function money(dollars: number | undefined): string {
	return dollars === undefined ? "" : `$${dollars.toFixed(2)}`;
}

export function percent(share: number): string {
	return `${share < 0 ? "−" : "+"}${Math.abs(share * 100).toFixed(2)} %`;
}

/** UTC, as in the session file. */
export function clock(ms: number): string {
	const date = new Date(ms);
	return Number.isNaN(date.getTime()) ? "?" : date.toISOString().slice(0, 19).replace("T", " ");
}

/** `1.23 M`, `45.6 k`, `789` */
export function short(count: number): string {
	if (count < 999.5) return String(Math.round(count));
	const power = UNITS.findIndex((_, at) => count < 999.5 * 1000 ** at);
	const at = power === -1 ? UNITS.length - 1 : power;
	return `${(count / 1000 ** at).toPrecision(3)}${UNITS[at]}`;
}

const UNITS = ["", " k", " M", " G", " T"];
