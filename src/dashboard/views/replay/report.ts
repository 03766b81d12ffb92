import type { Data } from "../../../protocol/index.ts";

/** Characters of a session file that the server accepts. */
export const MOST_CHARACTERS = 8_000_000;

/** Larger files are not read at all: a character takes up to four bytes. */
const MOST_BYTES = 4 * MOST_CHARACTERS;

/** Ask before reading a file, and again with its length. */
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

/** The server does not know the name of a file whose text it was sent. */
export function replayProblem(why: string, file: string): string {
	return why.replace(/^content(?= )/, () => file);
}

export type PolicyLine = ReturnType<typeof policyLines>[number];

export function policyLines({ policies }: Pick<Data<"ReplayReport">, "policies">) {
	const dearest = Math.max(...policies.map(({ cost }) => cost), 0);
	// The bill is no policy, and one that costs as much as append-only is no gain.
	const best = policies
		.filter(({ name, ratio }) => name !== BILL && ratio < 0.9995)
		.sort((one, other) => one.cost - other.cost)[0];
	return policies.map(
		({ name, description, cost, dollars, ratio, read, write, input, maxContext }) => ({
			name,
			description,
			cost,
			...(dollars !== undefined && { dollars }),
			/** To append-only. A division by nothing arrives as null. */
			ratio: Number.isFinite(ratio) ? ratio : undefined,
			/** Of the dearest line, from 0 to 1. */
			bar: dearest > 0 ? cost / dearest : 0,
			readShare: read + write + input > 0 ? read / (read + write + input) : 0,
			maxContext,
			isBill: name === BILL,
			isBest: name === best?.name,
		}),
	);
}

const BILL = "billed";

/** The size of each prompt, with the number of its request. */
export function promptCourse({
	chart,
	requests,
}: Pick<Data<"ReplayReport">, "chart" | "requests">): {
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

const COMPARED = ["append-only", "read-cache", "strata"];

/** A note where part of the savings is in every figure already. */
export function savedAlreadyNote({
	savedAlready: { shortReads, edits },
}: Pick<Data<"ReplayReport">, "savedAlready">): string | undefined {
	if (shortReads + edits === 0) return undefined;
	const reads = `${shortReads} ${shortReads === 1 ? "read was" : "reads were"} answered short`;
	const contents = `${edits} ${edits === 1 ? "content was" : "contents were"} replaced`;
	return `The session was made smaller while it ran: ${reads}, ${contents}. Its bill and all policies, append-only included, start from there; what it saved against pi alone is in its Cost view.`;
}

export function reportNotes({ check, skipped, models, requests }: Data<"ReplayReport">): string[] {
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
