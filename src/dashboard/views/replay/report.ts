import type { ReplayReport } from "../../../protocol/index.ts";

/** The most characters of a session file that the server takes in one piece. */
export const MOST_CHARACTERS = 8_000_000;

/** Files above this are not even read: a character takes up to four bytes, and the page must not choke. */
const MOST_BYTES = 4 * MOST_CHARACTERS;

/** Why a file cannot be sent, in words; `undefined` if it can. Ask before reading it, and again with its length. */
export function sizeProblem(file: {
	name: string;
	bytes: number;
	characters?: number;
}): string | undefined {
	const { name, bytes, characters = 0 } = file;
	if (bytes === 0) return `${name} is empty.`;
	if (bytes <= MOST_BYTES && characters <= MOST_CHARACTERS) return undefined;
	const size = (Math.max(bytes, characters) / 1e6).toFixed(1);
	return `${name} has ${size} MB; the server takes ${MOST_CHARACTERS / 1e6} MB. Put it into the sessions folder and pick it from the list, or run: strata replay <file>`;
}

/** Why a replay failed, in words. The server does not know the name of a file whose text it was sent. */
export function replayProblem(why: string, file: string): string {
	return why.replace(/^content(?= )/, () => file);
}

/** A policy as a line of the comparison. */
export interface PolicyLine {
	readonly name: string;
	readonly description: string;
	readonly cost: number;
	readonly dollars?: number;
	/** To append-only; `undefined` where that cost nothing. */
	readonly ratio: number | undefined;
	/** Of the dearest line, for a bar from 0 to 1. */
	readonly bar: number;
	/** Of its prompt tokens, those that came from the cache. */
	readonly readShare: number;
	readonly maxContext: number;
	/** What was really paid. */
	readonly isBill: boolean;
	/** The cheapest line, if it is cheaper than append-only; never the bill. */
	readonly isBest: boolean;
}

/** The policies in the order of the report. */
export function policyLines({ policies }: Pick<ReplayReport, "policies">): PolicyLine[] {
	const dearest = Math.max(...policies.map(({ cost }) => cost), 0);
	const best = bestOf(policies);
	return policies.map(
		({ name, description, cost, dollars, ratio, read, write, input, maxContext }) => ({
			name,
			description,
			cost,
			...(dollars !== undefined && { dollars }),
			// A division by nothing arrives as null.
			ratio: Number.isFinite(ratio) ? ratio : undefined,
			bar: dearest > 0 ? cost / dearest : 0,
			readShare: read + write + input > 0 ? read / (read + write + input) : 0,
			maxContext,
			isBill: name === BILL,
			isBest: name === best,
		}),
	);
}

const BILL = "billed";

/** The name of the cheapest policy. The bill is none, and what costs as much as append-only is no gain. */
function bestOf(policies: ReplayReport["policies"]): string | undefined {
	const better = policies.filter(({ name, ratio }) => name !== BILL && ratio < 0.9995);
	return better.sort((one, other) => one.cost - other.cost)[0]?.name;
}

/** The size of each prompt under the policies of {@link COMPARED}, with the number of its request. */
export function promptCourse({ chart, requests }: Pick<ReplayReport, "chart" | "requests">): {
	numbers: number[];
	rows: { name: string; values: number[] }[];
} {
	const shown = chart.filter(({ name }) => COMPARED.includes(name));
	const length = Math.min(...shown.map(({ points }) => points.length));
	if (!Number.isFinite(length)) return { numbers: [], rows: [] };
	return {
		// Long sessions are thinned out evenly.
		numbers: Array.from({ length }, (_, at) => Math.round(((at + 1) * requests) / length)),
		rows: shown.map(({ name, points }) => ({
			name,
			values: points.slice(0, length).map(({ input, read, write }) => input + read + write),
		})),
	};
}

/** Without a cache prompts are as large as with one: only what changes them is worth a line. */
const COMPARED = ["append-only", "read-cache", "strata"];

/** Says so where part of the savings is in every figure already; nothing for a session of plain pi. */
export function savedAlreadyNote({
	savedAlready: { shortReads, edits },
}: Pick<ReplayReport, "savedAlready">): string | undefined {
	if (shortReads + edits === 0) return undefined;
	const reads = `${shortReads} ${shortReads === 1 ? "read was" : "reads were"} answered short`;
	const contents = `${edits} ${edits === 1 ? "content was" : "contents were"} replaced`;
	return `The session was made smaller while it ran: ${reads}, ${contents}. Its bill and all policies, append-only included, start from there; what it saved against pi alone is in its Cost view.`;
}

/** What a reader should know before trusting the numbers. */
export function reportNotes(report: ReplayReport): string[] {
	const { check, skipped, models, requests } = report;
	const notes: string[] = [];
	if (requests === 0)
		notes.push("The file holds no answered request, so there is nothing to compare.");
	if (check.billed > 0) {
		const off = Math.abs(check.deviation * 100).toFixed(1);
		notes.push(
			`Told when the provider lost its cache, the replay comes within ${off} % of the bill.`,
		);
	}
	if (skipped > 0) {
		notes.push(`${skipped} ${skipped === 1 ? "line" : "lines"} of the file could not be used.`);
	}
	for (const { name, because, readRatio, writeRatio } of models) {
		notes.push(
			`${name}: reading from the cache costs ${readRatio}, writing ${writeRatio} of plain input. ${because}`,
		);
	}
	return notes;
}
