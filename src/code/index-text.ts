import type { BuildReport, IndexProgress, IndexStatus } from "../codeindex/index.ts";
import { clip, clipMiddle } from "../text/clip.ts";
import { counted, grouped, megabytes } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import {
	type Advice,
	leftOutText,
	notStoredText,
	pendingText,
	TOOL_ADVICE,
	whyNothingIndexed,
} from "./outline.ts";

export function buildText(report: BuildReport, advice: Advice = TOOL_ADVICE): string {
	const { coverage, added, changed, removed, seconds } = report;
	const nothing = whyNothingIndexed(coverage, advice);
	if (nothing) return nothing;
	const changes = Object.entries({ added, changed, removed })
		.filter(([, count]) => count > 0)
		.map(([change, count]) => `${grouped(count)} ${change}`);
	const what = changes.join(", ") || "nothing had changed";
	const left = leftOutTexts(coverage)
		.map((text) => ` ${text}.`)
		.join("");
	const { notStored } = coverage;
	const unstored = notStored ? ` It is ${notStoredText(notStored)}.` : "";
	return `The index is up to date: ${counted(coverage.files, "file")}, ${what} (${seconds.toFixed(1)} s).${left}${unstored}`;
}

function leftOutTexts({
	leftOut,
	linksNotFollowed: links = 0,
}: Pick<IndexStatus, "leftOut" | "linksNotFollowed">): string[] {
	return [
		...(leftOut ? [leftOutText(leftOut)] : []),
		...(links > 0
			? [`${counted(links, "link")} not followed (broken, or out of the project)`]
			: []),
	];
}

export function progressText({ phase, done, total }: IndexProgress): string {
	if (total === undefined)
		return done > 0 ? `indexing: ${phase}, ${grouped(done)}` : `indexing: ${phase}`;
	const percent = total > 0 ? Math.floor((100 * done) / total) : 100;
	return `indexing: ${phase}, ${grouped(done)} of ${grouped(total)} (${percent} %)`;
}

/** What the user is asked before the first indexing. */
export function consentText({ root, database }: Pick<IndexStatus, "root" | "database">): string {
	return `The source files of ${root} will be read, and an index of them will be stored in ${database}. Nothing is written to the project or sent anywhere.`;
}

export function statusText(status: IndexStatus, nowMs: number): string[] {
	const { state, root, database, bytes, files, symbols, updatedMs, pending, note } = status;
	const indexed = {
		absent: "no: /kota index or the tool kota_index starts it",
		partial: "in part: it was interrupted, /kota index goes on with it",
		ready: "yes",
	}[state];
	const lines = [
		`project: ${oneLine(root)}`,
		`indexed: ${indexed}`,
		...(note ? [`note: ${clip(oneLine(note), 300)}`] : []),
	];
	if (state === "absent") return lines;
	const age = updatedMs === undefined ? "" : `, last changed ${ageOf(nowMs - updatedMs)} ago`;
	return [
		...lines,
		`contents: ${counted(files, "file")}, ${counted(symbols, "symbol")}${age}`,
		...(pending === undefined ? [] : [`in progress: ${pendingText(pending, files)}`]),
		...leftOutTexts(status).map((text) => `not in it: ${text}`),
		`database: ${clipMiddle(oneLine(database), 300)} (${megabytes(bytes)})`,
	];
}

function ageOf(ms: number): string {
	const minutes = Math.max(0, Math.round(ms / 60_000));
	if (minutes < 120) return `${minutes} min`;
	const hours = Math.round(minutes / 60);
	return hours < 48 ? `${hours} h` : `${grouped(Math.round(hours / 24))} days`;
}
