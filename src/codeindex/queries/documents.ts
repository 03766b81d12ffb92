import { compareText } from "../../core/compare-text.ts";
import { matchesAny } from "../../core/glob.ts";
import type { SearchHit, SearchQuery } from "../answers.ts";
import { stemsOf } from "../extract/symbol-words.ts";
import type { ReadText } from "../index-reader.ts";
import { questionStems } from "./symbol-search.ts";

const MAX_HITS = 5;
/** Bounds of one search: documents are read each time, so that they need no index. */
const MAX_READ = 300;
const MAX_READ_CHARS = 4_000_000;
/** Longer documents are data. */
const MAX_DOCUMENT_CHARS = 200_000;
const MAX_LINES = 3;
const MAX_LINE_LENGTH = 240;

/** Documents and configuration files that have all the telling words, or most of them; best first. */
export function searchDocuments(
	query: SearchQuery,
	paths: readonly string[],
	readText: ReadText,
): SearchHit[] {
	const { scope = ["code"], glob, exclude = [], language, symbolKinds, exportedOnly } = query;
	const isAboutCode = language !== undefined || symbolKinds !== undefined || exportedOnly === true;
	const stems = questionStems(query.query);
	if (isAboutCode || !scope.includes("code") || stems.length === 0) return [];
	const wanted = paths.filter(
		(path) => (glob === undefined || matchesAny([glob], path)) && !matchesAny(exclude, path),
	);
	const found: { path: string; score: number; lines: readonly ScoredLine[]; all: number }[] = [];
	let left = MAX_READ_CHARS;
	for (const path of nearestFirst(wanted).slice(0, MAX_READ)) {
		if (left <= 0) break;
		const text = readText(path);
		if (text === undefined || text.length > MAX_DOCUMENT_CHARS) continue;
		left -= text.length;
		const lines = matchingLines(text, stems);
		const inText = new Set([...stemsOf(path), ...lines.flatMap(({ stems: own }) => own)]);
		const covered = stems.filter((stem) => inText.has(stem)).length / stems.length;
		if (lines.length === 0 || covered <= LEAST_COVERED) continue;
		lines.sort((a, b) => b.score - a.score || a.line - b.line);
		const score = covered + (lines[0]?.score ?? 0) / stems.length;
		found.push({ path, score, lines: lines.slice(0, MAX_LINES), all: lines.length });
	}
	found.sort((a, b) => b.score - a.score || compareText(a.path, b.path));
	return found.slice(0, MAX_HITS).map(({ path, lines, all }) => ({
		path,
		isTest: false,
		symbols: [],
		lines: lines
			.toSorted((a, b) => a.line - b.line)
			.map(({ line, text }) => ({ first: line, text: [text], matches: [line] })),
		matchingLines: all,
	}));
}

const LEAST_COVERED = 0.5;

/** Documents of the project come before those of its parts. */
function nearestFirst(paths: readonly string[]): string[] {
	const depths = new Map(paths.map((path) => [path, path.split("/").length]));
	const depth = (path: string) => depths.get(path) ?? 0;
	return paths.toSorted((a, b) => depth(a) - depth(b) || compareText(a, b));
}

interface ScoredLine {
	readonly line: number;
	readonly text: string;
	readonly stems: readonly string[];
	readonly score: number;
}

function matchingLines(text: string, stems: readonly string[]): ScoredLine[] {
	const folded = text.toLowerCase();
	// Stems are beginnings of words, but for a last `i` that was a `y`.
	const starts = stems.map((stem) => stem.replace(/i$/, ""));
	if (!starts.some((start) => folded.includes(start))) return [];
	const found: ScoredLine[] = [];
	let line = 0;
	for (const written of text.split("\n")) {
		line++;
		const lower = written.toLowerCase();
		if (!starts.some((start) => lower.includes(start))) continue;
		const own = new Set(stemsOf(written.slice(0, MAX_DOCUMENT_CHARS)));
		const matched = stems.filter((stem) => own.has(stem));
		if (matched.length === 0) continue;
		const isHeading = /^\s*#/.test(written);
		const shown =
			written.length > MAX_LINE_LENGTH ? `${written.slice(0, MAX_LINE_LENGTH)}…` : written;
		const score = matched.length + (isHeading ? 0.5 : 0);
		found.push({ line, text: shown.toWellFormed().trimEnd(), stems: matched, score });
	}
	return found;
}
