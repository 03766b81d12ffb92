import type {
	MatchingLines,
	SearchAnswer,
	SearchHit,
	SearchQuery,
	SymbolBrief,
} from "../../codeindex/index.ts";
import { isTestPath } from "../../core/project-path.ts";
import type { ProjectFiles } from "./answer-part.ts";
import { type AnswerPart, symbolWords } from "./answer-part.ts";

export function searchArguments(query: SearchQuery): Record<string, unknown> {
	const { glob, exclude, language, symbolKinds, exportedOnly, contextLines } = query;
	return {
		query: query.query,
		scope: query.scope ?? ["code", "symbols"],
		limit: askedLimit(query),
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

export function readSearch(
	answer: AnswerPart,
	query: SearchQuery,
	files: ProjectFiles,
): Omit<SearchAnswer, "coverage"> {
	const results = answer.field("results");
	const symbols = results.list("symbols");
	const code = results.list("code");
	const found = new Map<string, PartialHit>();

	for (const item of symbols) {
		// With output `paths`, items are plain strings.
		const symbol = item.isText ? undefined : item.symbol();
		const path = (symbol ?? item).path();
		const brief = symbol?.brief();
		const hit = hitAt(path);
		if (brief) hit?.symbols.push(brief);
	}
	for (const item of code) {
		const hit = hitAt(item.path());
		if (!hit || query.contextLines === undefined || item.isText) continue;
		for (const match of item.field("matches").items()) readMatch(match, hit.lines);
	}

	const hits = [...found]
		.map(([path, partial]) => toHit(path, partial, query))
		.filter((hit) => query.includeTests !== false || !hit.isTest)
		.toSorted((a, b) => Number(a.isTest) - Number(b.isTest));
	const limit = askedLimit(query);
	return {
		hits: hits.slice(0, query.limit ?? DEFAULT_LIMIT),
		total: hits.length,
		// KotaDB reports the number returned, not the total.
		...((code.length >= limit || symbols.length >= limit) && { atLeast: true as const }),
	};

	function hitAt(path: string): PartialHit | undefined {
		const known = files.find(path);
		if (known === undefined) return undefined;
		const hit = found.get(known) ?? { symbols: [], lines: new Map() };
		found.set(known, hit);
		return hit;
	}
}

const DEFAULT_LIMIT = 15;
const MAX_LIMIT = 100;

/** KotaDB's limit counts tests, so more results are requested if tests are dropped here. */
function askedLimit({ limit = DEFAULT_LIMIT, includeTests }: SearchQuery): number {
	return Math.min(MAX_LIMIT, includeTests === false ? limit * 3 : limit);
}

interface PartialHit {
	readonly symbols: SymbolBrief[];
	/** Lines by number, since the context of one match may contain another. */
	readonly lines: Map<number, { text: string; matches: boolean }>;
}

function readMatch(match: AnswerPart, lines: PartialHit["lines"]): void {
	const line = Math.max(1, match.field("line").count());
	const before = match.list("context_before");
	const after = match.list("context_after");
	for (const [offset, { value }] of [...before, match.field("content"), ...after].entries()) {
		const number = line - before.length + offset;
		const matches = number === line || lines.get(number)?.matches === true;
		if (number >= 1) lines.set(number, { text: match.holding(value).text(), matches });
	}
}

function toHit(path: string, hit: PartialHit, { contextLines }: SearchQuery): SearchHit {
	const { symbols, lines } = hit;
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
