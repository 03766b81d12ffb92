import {
	isTestPath,
	type MatchingLines,
	type SearchAnswer,
	type SearchHit,
	type SearchQuery,
	type SymbolBrief,
} from "../../codeindex/index.ts";
import { symbolBrief, type Uncovered } from "./answer-parts.ts";
import type { ProjectFiles } from "./project-files.ts";
import { listOrNone, type Shape, shapeOf } from "./shape.ts";
import { symbolWords } from "./vocabulary.ts";

/** The arguments of KotaDB's `search` for a question of ours. */
export function searchArguments(query: SearchQuery): Record<string, unknown> {
	const { glob, exclude, language, symbolKinds, exportedOnly, contextLines } = query;
	return {
		query: query.query,
		scope: query.scope ?? ["code", "symbols"],
		limit: askedLimit(query),
		// Without lines the names of the files are enough.
		output: contextLines === undefined ? "compact" : "snippet",
		...(contextLines !== undefined && { context_lines: Math.min(contextLines, 10) }),
		filters: {
			...(glob !== undefined && { glob }),
			...(exclude && { exclude }),
			...(language && { language }),
			...(symbolKinds && { symbol_kind: symbolWords(symbolKinds) }),
			...(exportedOnly !== undefined && { exported_only: exportedOnly }),
		},
	};
}

/** What `search` answered, by file: those that declare what was looked for first, tests last. */
export function searchAnswer(
	data: unknown,
	query: SearchQuery,
	files: ProjectFiles,
): Uncovered<SearchAnswer> {
	const shape = shapeOf("search");
	const results = shape.object(shape.object(data, "the answer").results, "results");
	const symbols = listOrNone(shape, results.symbols, "results.symbols");
	const code = listOrNone(shape, results.code, "results.code");
	const found = new Map<string, Draft>();

	for (const [index, item] of symbols.entries()) {
		const { path, symbol } = readSymbol(shape, item, `results.symbols[${index}]`);
		const hit = hitAt(path);
		if (symbol) hit?.symbols.push(symbol);
	}
	for (const [index, item] of code.entries()) {
		const place = `results.code[${index}]`;
		const hit = hitAt(shape.path(item, place));
		if (!hit || query.contextLines === undefined || typeof item === "string") continue;
		const { matches } = shape.object(item, place);
		readMatches(shape, matches, `${place}.matches`, hit.lines);
	}

	const hits = [...found]
		.map(([path, draft]) => toHit(path, draft, query))
		.filter((hit) => query.includeTests !== false || !hit.isTest)
		.toSorted((a, b) => Number(a.isTest) - Number(b.isTest));
	const limit = askedLimit(query);
	return {
		hits: hits.slice(0, query.limit ?? DEFAULT_LIMIT),
		total: hits.length,
		// It says how many it gives, not how many there are.
		...((code.length >= limit || symbols.length >= limit) && { atLeast: true as const }),
	};

	function hitAt(path: string): Draft | undefined {
		const known = files.find(path);
		if (known === undefined) return undefined;
		const hit = found.get(known) ?? { symbols: [], lines: new Map() };
		found.set(known, hit);
		return hit;
	}
}

const DEFAULT_LIMIT = 15;
const MAX_LIMIT = 100;

/** Its limit counts tests too; where they are dropped, more has to be asked for. */
function askedLimit({ limit = DEFAULT_LIMIT, includeTests }: SearchQuery): number {
	return Math.min(MAX_LIMIT, includeTests === false ? limit * 3 : limit);
}

interface Draft {
	readonly symbols: SymbolBrief[];
	/** Lines of the file by their numbers: those around one match may hold another. */
	readonly lines: Map<number, { text: string; matches: boolean }>;
}

/**
 * A symbol and its file. Its place is in `location` or, in shorter forms, beside its
 * name; where only paths were asked for there is nothing but a path.
 */
function readSymbol(
	shape: Shape,
	item: unknown,
	place: string,
): { path: string; symbol?: SymbolBrief } {
	if (typeof item === "string") return { path: item };
	const fields = shape.object(item, place);
	const at = fields.location === undefined ? fields : shape.object(fields.location, place);
	return {
		path: shape.path(at, at === fields ? place : `${place}.location`),
		symbol: symbolBrief(shape, item, place),
	};
}

function readMatches(shape: Shape, value: unknown, place: string, lines: Draft["lines"]): void {
	for (const [index, item] of shape.list(value, place).entries()) {
		const at = `${place}[${index}]`;
		const match = shape.object(item, at);
		const line = Math.max(1, shape.count(match.line, `${at}.line`));
		const before = listOrNone(shape, match.context_before, `${at}.context_before`);
		const after = listOrNone(shape, match.context_after, `${at}.context_after`);
		for (const [offset, text] of [...before, match.content, ...after].entries()) {
			const number = line - before.length + offset;
			const matches = number === line || lines.get(number)?.matches === true;
			if (number >= 1) lines.set(number, { text: shape.text(text, at), matches });
		}
	}
}

function toHit(path: string, { symbols, lines }: Draft, { contextLines }: SearchQuery): SearchHit {
	const blocks: { first: number; text: string[]; matches: number[] }[] = [];
	for (const [number, { text, matches }] of [...lines].toSorted(([a], [b]) => a - b)) {
		let block = blocks.at(-1);
		if (!block || block.first + block.text.length !== number) {
			block = { first: number, text: [], matches: [] };
			blocks.push(block);
		}
		block.text.push(text);
		if (matches) block.matches.push(number);
	}
	return {
		path,
		isTest: isTestPath(path),
		symbols,
		lines: blocks satisfies MatchingLines[],
		...(contextLines !== undefined && {
			matchingLines: blocks.reduce((sum, { matches }) => sum + matches.length, 0),
		}),
	};
}
