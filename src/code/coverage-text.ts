import type { Coverage } from "../codeindex/index.ts";
import { clip, clipMiddle } from "../text/clip.ts";
import { counted, grouped } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import { type Advice, toolAdvice } from "./advice.ts";

/** The last line of every answer: what it covers, how fresh it is, and what the index could not understand. */
export function coverageLine(
	coverage: Coverage,
	nowMs: number,
	{ index }: Advice = toolAdvice,
): string {
	const { files, unparsed, unresolvedImports, checkedMs, refreshedFiles, complete } = coverage;
	const { leftOut, notStored } = coverage;
	const facts = [
		...(complete
			? []
			: [`INCOMPLETE, the first indexing is not finished: ${index} goes on with it`]),
		`${counted(files, "file")} indexed`,
		`checked ${ago(nowMs - checkedMs)}`,
		...(refreshedFiles > 0 ? [`${counted(refreshedFiles, "change")} taken in`] : []),
		...(unparsed.count > 0 ? [unparsedFiles(unparsed)] : []),
		...(leftOut ? [leftOutText(leftOut)] : []),
		...(notStored ? [notStoredText(notStored)] : []),
		...(unresolvedImports > 0 ? [counted(unresolvedImports, "unresolved import")] : []),
	];
	return `[${facts.join("; ")}]`;
}

/** Why there can be nothing at all, if that is so: a project without source, or an index that has only begun. */
export function whyNothingIndexed(
	{ files, complete }: Coverage,
	{ index }: Advice,
): string | undefined {
	if (files > 0) return undefined;
	return complete
		? "The project has no TypeScript or JavaScript files (.ts .tsx .mts .cts .js .jsx .mjs .cjs), or git ignores them all: use other tools."
		: `Nothing is indexed yet: the first indexing was interrupted. ${index} goes on with it.`;
}

const NAMED_FILES = 3;
const PATH_BYTES = 60;
const REASON_BYTES = 80;

function unparsedFiles({ count: files, paths }: Coverage["unparsed"]): string {
	const named = paths.slice(0, NAMED_FILES).map((path) => clipMiddle(oneLine(path), PATH_BYTES));
	const more = files > named.length ? ", …" : "";
	const which = named.length > 0 ? ` (${named.join(", ")}${more})` : "";
	return `${counted(files, "file")} not fully parsed${which}`;
}

/** What of the project is not in the index, and why. */
export function leftOutText({
	count: all,
	kinds,
	first,
}: NonNullable<Coverage["leftOut"]>): string {
	const parts = kinds.length > 1 ? kinds.map(({ what, count }) => `${grouped(count)} ${what}`) : [];
	const sorts = parts.length > 0 ? `: ${parts.join(", ")}` : "";
	const named = first.slice(0, 1).map(({ path, reason }) => {
		const place = path === "" ? "" : `${clipMiddle(oneLine(path), PATH_BYTES)}: `;
		return ` (${place}${clip(oneLine(reason), REASON_BYTES)}${all > 1 ? ", …" : ""})`;
	});
	return `${grouped(all)} left out${sorts}${named.join("")}`;
}

/** Why the index has to be made again by the next process. */
export function notStoredText({ place, reason }: NonNullable<Coverage["notStored"]>): string {
	return `kept in memory only, ${clipMiddle(oneLine(place), PATH_BYTES)} cannot be written to (${clip(oneLine(reason), REASON_BYTES)})`;
}

function ago(ms: number): string {
	const seconds = Math.round(ms / 1000);
	if (seconds < 5) return "just now";
	if (seconds < 120) return `${seconds} s ago`;
	const minutes = Math.round(seconds / 60);
	if (minutes < 120) return `${minutes} min ago`;
	return `${grouped(Math.round(minutes / 60))} h ago`;
}
