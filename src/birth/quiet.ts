import { grouped } from "../text/figures.ts";
import { reportsProblem } from "./problem.ts";
import { hasLineLike, isShowable, isWorthIt, OWN_LINE } from "./result.ts";
import type { QuietSettings } from "./settings.ts";
import { similarRun } from "./similar-lines.ts";
import { rendered } from "./terminal.ts";

/**
 * Output of a command as a terminal would show it, with repeated lines folded; `undefined` if it stays
 * as it is. Lines that report a problem, their neighbours and the tail are never folded. `path` is where
 * the exact output is stored.
 */
export function quiet(text: string, settings: QuietSettings, path?: string): string | undefined {
	if (hasLineLike(OWN_LINE, text)) return undefined;
	if (path !== undefined && !isShowable(path)) return undefined;
	const plain = rendered(text);
	if (plain === undefined) return undefined;
	if (plain !== text && hasLineLike(OWN_LINE, plain)) return undefined;
	const stored = path === undefined ? "" : `; exact output: read ${path}`;
	const isRendered = plain !== text;
	const folded = fold(plain, settings, isRendered ? "" : stored);
	if (folded === undefined && !isRendered) return undefined;
	const note = isRendered && stored !== "" ? `${OWN_LINE}as a terminal shows it${stored}]\n` : "";
	const shown = note + (folded ?? plain);
	return isWorthIt(text, shown, settings.minSavedTokens) ? shown : undefined;
}

/** Lines from `start` up to `end`, and the line that stands for them. */
interface Fold {
	readonly start: number;
	readonly end: number;
	readonly says: string;
}

/** `undefined` if nothing can be folded. The first fold says where the exact output is. */
function fold(text: string, settings: QuietSettings, stored: string): string | undefined {
	const lines = text.split("\n");
	const shown: string[] = [];
	let copied = 0;
	let note = stored;
	const last = lines.length - settings.tail;
	for (let at = 0; at < last; ) {
		const { run, end } = nextFold(lines, at, last, settings);
		const line = run && `${OWN_LINE}${run.says}${note}]`;
		if (run && line && line.length < charsOf(lines, run)) {
			for (; copied < run.start; copied++) shown.push(lines[copied] as string);
			shown.push(line);
			copied = run.end;
			note = "";
		}
		at = end;
	}
	if (copied === 0) return undefined;
	for (; copied < lines.length; copied++) shown.push(lines[copied] as string);
	return shown.join("\n");
}

/** The run of lines that begins at `at`, if it can be folded, and where the next one may begin. */
function nextFold(
	lines: readonly string[],
	at: number,
	last: number,
	settings: QuietSettings,
): { run?: Fold; end: number } {
	const first = lines[at] as string;
	let end = at + 1;
	while (end < last && lines[end] === first) end++;
	if (end - at >= settings.minEqual) {
		const part = awayFromProblems(lines, at + 1, end, settings.near);
		const count = part.end - part.start;
		if (count < 1) return { end };
		return { run: { ...part, says: `${more(count)} equal to the line above` }, end };
	}
	const similar = similarRun(lines, at, last);
	if (!similar || similar.end - at < settings.minSimilar) return { end };
	const part = awayFromProblems(lines, at + 1, similar.end - 1, settings.near);
	if (part.end - part.start < 1) return { end: similar.end };
	const says = similar.describe(part.start, part.end);
	return {
		run: {
			...part,
			says: `${more(part.end - part.start)} like those around it, with ${says}`,
		},
		end: similar.end,
	};
}

function more(lines: number): string {
	return `${grouped(lines)} more ${lines === 1 ? "line" : "lines"}`;
}

/** The part of a run that is not near a problem. Its lines are alike, so its first one speaks for all. */
function awayFromProblems(lines: readonly string[], from: number, to: number, near: number) {
	if (reportsProblem(lines[from - 1] as string)) return { start: from, end: from };
	let [start, end] = [from, to];
	const runStart = from - 1;
	for (let before = 1; before <= near; before++) {
		const line = lines[runStart - before];
		if (line === undefined || !reportsProblem(line)) continue;
		start = Math.max(start, runStart - before + near + 1);
		break;
	}
	for (let after = 0; after < near; after++) {
		const line = lines[to + after];
		if (line === undefined || !reportsProblem(line)) continue;
		end = Math.min(end, to + after - near);
		break;
	}
	return { start, end: Math.max(start, end) };
}

function charsOf(lines: readonly string[], { start, end }: Fold): number {
	let chars = end - start - 1;
	for (let at = start; at < end; at++) chars += (lines[at] as string).length;
	return chars;
}
