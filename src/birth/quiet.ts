import { grouped } from "../text/figures.ts";
import {
	type LineEdit,
	lineAt,
	lineCount,
	lineEnd,
	type ScannedText,
	Scanner,
	savedBy,
} from "./lines.ts";
import { leastPieces } from "./pieces.ts";
import { reportsProblem } from "./problem.ts";
import { hasLineLike, isShowable, isWorthIt, OWN_LINE } from "./result.ts";
import type { QuietSettings } from "./settings.ts";
import { SimilarLines } from "./similar-lines.ts";
import { rendered } from "./terminal.ts";

/**
 * Output of a command as a terminal would show it, with repeated lines folded; `undefined` if it stays
 * as it is. Lines that report a problem, their neighbours and the tail are never folded. `path` is where
 * the exact output is stored.
 */
export function quiet(
	text: string,
	settings: QuietSettings,
	path?: string,
	scanner = new Scanner(),
): string | undefined {
	if (hasLineLike(OWN_LINE, text)) return undefined;
	if (path !== undefined && !isShowable(path)) return undefined;
	const plain = rendered(text);
	if (plain === undefined) return undefined;
	const isRendered = plain !== text;
	if (isRendered && hasLineLike(OWN_LINE, plain)) return undefined;
	const stored = path === undefined ? "" : `; exact output: read ${path}`;
	const scanned = scanner.scan(plain);
	const note = { start: 0, end: 0, line: `${OWN_LINE}as a terminal shows it${stored}]` };
	const edits = [
		...(isRendered && stored !== "" ? [note] : []),
		...folds(scanned, settings, isRendered ? "" : stored),
	];
	const length = plain.length - savedBy(scanned, edits);
	if (!isWorthIt(text.length, length, settings.minSavedTokens)) return undefined;
	return edits.length === 0 ? plain : scanner.edited(scanned, edits);
}

/** Lines from `start` up to `end`, and the words that stand for them. */
interface Fold {
	readonly start: number;
	readonly end: number;
	readonly says: string;
}

/** The first fold says where the exact output is. */
function folds(text: ScannedText, settings: QuietSettings, stored: string): LineEdit[] {
	const edits: LineEdit[] = [];
	const last = lineCount(text) - settings.tail;
	let similar: SimilarLines | undefined;
	for (let at = 0; at < last; ) {
		// Most lines: the next one has other words.
		if (text.shapes[at] !== text.shapes[at + 1]) {
			at++;
			continue;
		}
		similar ??= new SimilarLines(text, last);
		const { run, end } = nextFold(text, similar, at, last, settings);
		const edit = run && {
			...run,
			line: `${OWN_LINE}${run.says}${edits.length === 0 ? stored : ""}]`,
		};
		if (edit && isCheaper(text, edit)) edits.push(edit);
		at = end;
	}
	return edits;
}

/** Of the line ends that a tokenizer makes one token of. */
const MAX_LINE_ENDS = 64;

/** Whether a fold is shorter in characters, and in a lower bound of tokens. */
function isCheaper(text: ScannedText, fold: LineEdit): boolean {
	const { start, end, line } = fold;
	if (savedBy(text, [fold]) <= 0) return false;
	const pieces = leastPieces(line, Number.POSITIVE_INFINITY);
	const lineEnds = Math.floor((end - start) / MAX_LINE_ENDS);
	const folded = text.text.slice(text.starts[start], lineEnd(text, end - 1));
	return lineEnds > pieces || lineEnds + leastPieces(folded, pieces + 1) > pieces;
}

/** The run of lines that begins at `at`, if it can be folded, and where the next one may begin. */
function nextFold(
	text: ScannedText,
	similar: SimilarLines,
	at: number,
	last: number,
	settings: QuietSettings,
): { run?: Fold; end: number } {
	const end = endOfEqual(text, at, last);
	if (end - at >= settings.minEqual) {
		const part = awayFromProblems(text, at + 1, end, settings.near);
		const count = part.end - part.start;
		if (count < 1) return { end };
		return { run: { ...part, says: `${more(count)} equal to the line above` }, end };
	}
	const run = similar.runFrom(at);
	if (!run || run.end - at < settings.minSimilar) return { end };
	const part = awayFromProblems(text, at + 1, run.end - 1, settings.near);
	if (part.end - part.start < 1) return { end: run.end };
	const says = similar.describe(run, part.start, part.end);
	const count = more(part.end - part.start);
	return { run: { ...part, says: `${count} like those around it, with ${says}` }, end: run.end };
}

/** The end of the lines that are equal to the one at `at`. */
function endOfEqual(scanned: ScannedText, at: number, last: number): number {
	const { text, starts, hashes } = scanned;
	const from = starts[at] as number;
	const length = (starts[at + 1] as number) - from;
	let end = at + 1;
	while (
		end < last &&
		hashes[end] === hashes[at] &&
		(starts[end + 1] as number) - (starts[end] as number) === length
	) {
		end++;
	}
	// All are equal if each is equal to the one before it. Equal hashes alone prove nothing.
	const size = Math.max(0, (end - at - 1) * length - 1);
	const second = from + length;
	if (text.slice(from, from + size) === text.slice(second, second + size)) return end;
	const first = lineAt(scanned, at);
	for (end = at + 1; end < last && lineAt(scanned, end) === first; ) end++;
	return end;
}

function more(lines: number): string {
	return `${grouped(lines)} more ${lines === 1 ? "line" : "lines"}`;
}

/** The part of a run that is not near a problem. Its lines are alike, so its first one speaks for all. */
function awayFromProblems(text: ScannedText, from: number, to: number, near: number) {
	const isProblem = (line: number) =>
		line >= 0 && line < lineCount(text) && reportsProblem(lineAt(text, line));
	if (isProblem(from - 1)) return { start: from, end: from };
	let [start, end] = [from, to];
	const runStart = from - 1;
	for (let before = 1; before <= near; before++) {
		if (!isProblem(runStart - before)) continue;
		start = Math.max(start, runStart - before + near + 1);
		break;
	}
	for (let after = 0; after < near; after++) {
		if (!isProblem(to + after)) continue;
		end = Math.min(end, to + after - near);
		break;
	}
	return { start, end: Math.max(start, end) };
}
