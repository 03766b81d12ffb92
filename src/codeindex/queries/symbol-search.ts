import { getOrAdd } from "../../core/get-or-add.ts";
import { stemsOf } from "../extract/symbol-words.ts";
import type { FileId, IndexReader } from "../index-reader.ts";
import { linkerOf } from "../link/linker.ts";
import { keyOf, pairsOf } from "../link/modules.ts";
import { symbolsOf } from "../symbol-order.ts";
import {
	type FoundSymbol,
	matchesFilters,
	type SymbolFilters,
	type SymbolMatch,
} from "./symbols.ts";

/** Rows that are looked at. The best symbols are among them, since BM25 has ranked them. */
const MAX_ROWS = 200;

/** Symbols by the words of a question, per file, best first. The best of all has a score of 1. */
export function symbolsByWords(
	reader: IndexReader,
	query: string,
	filters: SymbolFilters,
): ReadonlyMap<FileId, readonly SymbolMatch[]> {
	const stems = questionStems(query);
	const rows = reader.matchingSymbols(stems, MAX_ROWS);
	const found = new Map<string, { symbol: FoundSymbol; score: number }>();
	for (const { file, place, rank } of rows) {
		const symbol = symbolAt(reader, file, place);
		if (!symbol || !matchesFilters(symbol, filters)) continue;
		const score = -rank * weightOf(reader, symbol, stems);
		// A declaration file stands for its JavaScript.
		const key = keyOf(linkerOf(reader).implementation(symbol.entity) ?? symbol.entity);
		const known = found.get(key);
		if (!known || isBetter(reader, symbol, known.symbol)) {
			found.set(key, { symbol, score: Math.max(score, known?.score ?? 0) });
		} else known.score = Math.max(score, known.score);
	}
	const best = Math.max(...[...found.values()].map(({ score }) => score));
	const byFile = new Map<FileId, SymbolMatch[]>();
	for (const { symbol, score } of [...found.values()].sort((a, b) => b.score - a.score)) {
		getOrAdd(byFile, symbol.entity.file, () => []).push({ symbol, score: score / best });
	}
	return byFile;
}

function isBetter(reader: IndexReader, one: FoundSymbol, other: FoundSymbol): boolean {
	const pairs = pairsOf(reader);
	return pairs.implementation(other.entity.file) === one.entity.file;
}

function symbolAt(reader: IndexReader, file: FileId, place: number): FoundSymbol | undefined {
	const one = symbolsOf(reader.bindings(file))[place];
	if (!one) return undefined;
	const { binding, path, owners, facts } = one;
	const exported = linkerOf(reader).ownExports(file).byBinding.has(binding);
	const entity: FoundSymbol["entity"] =
		path.length === 0
			? { kind: "declared", file, binding }
			: { kind: "member", file, binding, path };
	return { entity, facts, exported, owners };
}

/** What words alone do not say: functions and classes answer more questions than fields do. */
function weightOf(reader: IndexReader, symbol: FoundSymbol, stems: readonly string[]): number {
	const { facts, exported, entity, owners } = symbol;
	const isTest = reader.files.get(entity.file)?.isTest ?? false;
	const kind = WEIGHTS[facts.symbol] ?? 1;
	const names = new Set([facts.name, ...owners, facts.doc ?? "", facts.signature].flatMap(stemsOf));
	const covered = stems.filter((stem) => names.has(stem)).length / stems.length;
	return kind * (exported ? 1 : 0.9) * (isTest ? 0.5 : 1) * (0.2 + covered);
}

const WEIGHTS: Partial<Record<string, number>> = {
	property: 0.6,
	variable: 0.8,
	type: 0.85,
	interface: 0.85,
	enum: 0.7,
};

/** Stems of the words that say something. If none does, of all. */
function questionStems(query: string): readonly string[] {
	const words = query.match(/[\p{L}\p{N}_$]+/gu) ?? [];
	const telling = words.filter((word) => !STOP_WORDS.has(word.toLowerCase()));
	return stemsOf((telling.length > 0 ? telling : words).slice(0, MAX_WORDS).join(" "));
}

/** The first words of a long query carry its topic. */
const MAX_WORDS = 16;

const STOP_WORDS = new Set(
	"a about after all also an and any are as at be been before between but by can could did do does during each for from had has have how i if in into is it its just many me more most much my no not of on once one only or other our out over own same should so some such than that the their them then there these they this those through to too under until up us was we were what when where whether which while who whom whose why will with within without would you your".split(
		" ",
	),
);
