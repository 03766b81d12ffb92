import { getOrAdd } from "../../core/get-or-add.ts";
import { type SymbolWords, stemsOf, symbolWords } from "../extract/symbol-words.ts";
import type { Binding } from "../facts.ts";
import type { FileId, IndexReader } from "../index-reader.ts";
import { linkerOf } from "../link/linker.ts";
import { keyOf, pairsOf } from "../link/modules.ts";
import { type OrderedSymbol, symbolsOf } from "../symbol-order.ts";
import { isMinified } from "./known-file.ts";
import {
	type FoundSymbol,
	matchesFilters,
	type SymbolFilters,
	type SymbolMatch,
} from "./symbols.ts";

/** Files whose symbols are looked at: those that have the most telling of the words. */
const MAX_FILES = 150;

/** Symbols by the words of a question, per file, best first. The best of all has a score of 1. */
export function symbolsByWords(
	reader: IndexReader,
	query: string,
	filters: SymbolFilters,
): ReadonlyMap<FileId, readonly SymbolMatch[]> {
	const stems = questionStems(query);
	const files = stems.map((stem) => reader.declaring(stem));
	const rarity = new Map(stems.map((stem, at) => [stem, rarityOf(reader, files[at] ?? [])]));
	const ranked = rankedSymbols(reader, candidateFiles(reader, stems, { files, rarity }), rarity);
	const linker = linkerOf(reader);
	const pairs = pairsOf(reader);
	const matches: SymbolMatch[] = [];
	/** Places in `matches` of symbols that a declaration file may repeat. */
	const paired = new Map<string, number>();
	for (const match of ranked) {
		const { symbol } = match;
		if (!matchesFilters(symbol, filters)) continue;
		const hasPair = pairs.other(symbol.entity.file) !== undefined;
		// A declaration file stands for its JavaScript.
		const key = hasPair ? keyOf(linker.implementation(symbol.entity) ?? symbol.entity) : "";
		const place = hasPair ? paired.get(key) : undefined;
		const known = place === undefined ? undefined : matches[place];
		if (place === undefined || !known) {
			if (hasPair) paired.set(key, matches.length);
			matches.push(match);
		} else if (describes(reader, known.symbol, symbol)) {
			matches[place] = { symbol, score: known.score };
		}
	}
	const best = matches[0]?.score ?? 1;
	const byFile = new Map<FileId, SymbolMatch[]>();
	for (const { symbol, score } of matches) {
		getOrAdd(byFile, symbol.entity.file, () => []).push({ symbol, score: score / best });
	}
	return byFile;
}

/** Whether `one` is the declaration of `other` in a declaration file. */
function describes(reader: IndexReader, one: FoundSymbol, other: FoundSymbol): boolean {
	return pairsOf(reader).implementation(one.entity.file) === other.entity.file;
}

function rarityOf(reader: IndexReader, files: readonly FileId[]): number {
	return Math.log(1 + reader.files.size / (1 + files.length));
}

function candidateFiles(
	reader: IndexReader,
	stems: readonly string[],
	{ files, rarity }: { files: readonly (readonly FileId[])[]; rarity: ReadonlyMap<string, number> },
): FileId[] {
	let last = 0;
	for (const ids of files) for (const id of ids) last = Math.max(last, id);
	// By id: a word may be in all files.
	const sums = new Float64Array(last + 1);
	for (const [at, stem] of stems.entries()) {
		const rare = rarity.get(stem) ?? 0;
		for (const id of files[at] ?? []) sums[id] = (sums[id] as number) + rare;
	}
	for (let id = 0; id <= last; id++) {
		const sum = sums[id] as number;
		if (sum === 0) continue;
		const file = reader.files.get(id as FileId);
		sums[id] = file ? sum * (file.isTest ? 0.5 : 1) * (isMinified(file) ? 0.1 : 1) : 0;
	}
	return highest(sums, MAX_FILES);
}

/** The indexes of the highest values above 0, highest first, then by index. Sorts only these. */
function highest(values: Float64Array, count: number): FileId[] {
	const least = values.toSorted().at(-count) ?? 0;
	const above: number[] = [];
	const equal: number[] = [];
	for (const [index, value] of values.entries()) {
		if (value === 0) continue;
		if (value > least) above.push(index);
		else if (value === least) equal.push(index);
	}
	above.sort((a, b) => (values[b] as number) - (values[a] as number) || a - b);
	return [...above, ...equal].slice(0, count) as FileId[];
}

function rankedSymbols(
	reader: IndexReader,
	files: readonly FileId[],
	rarity: ReadonlyMap<string, number>,
): SymbolMatch[] {
	const found: SymbolMatch[] = [];
	const asked = [...rarity];
	for (const file of files) {
		const { path = "", isTest = false } = reader.files.get(file) ?? {};
		const pathStems = stemsOf(path);
		const inPath = asked.map(([stem]) => pathStems.includes(stem));
		const { byBinding } = linkerOf(reader).ownExports(file);
		for (const { symbol, words } of wordsOf(reader.bindings(file))) {
			const { sum, covered } = scoreOf(words, inPath, asked);
			if (covered === 0) continue;
			const exported = byBinding.has(symbol.binding);
			const weight =
				(WEIGHTS[symbol.facts.symbol] ?? 1) * (exported ? 1 : 0.9) * (isTest ? 0.5 : 1);
			found.push({
				symbol: toFound(file, symbol, exported),
				score: sum * weight * (0.2 + covered),
			});
		}
	}
	return found.sort((a, b) => b.score - a.score);
}

/** Of each file's bindings, which stay the same object while they are cached. */
const wordsOfBindings = new WeakMap<readonly Binding[], SymbolWithWords[]>();

interface SymbolWithWords {
	readonly symbol: OrderedSymbol;
	readonly words: SymbolWords;
}

function wordsOf(bindings: readonly Binding[]): SymbolWithWords[] {
	return getOrAdd(wordsOfBindings, bindings, () => {
		const words = symbolWords(bindings);
		return symbolsOf(bindings).flatMap((symbol, place) => {
			const own = words[place];
			return own ? [{ symbol, words: own }] : [];
		});
	});
}

/** BM25 with fields: a word counts by where it stands, how rare it is, and how few others stand there. */
function scoreOf(
	words: SymbolWords,
	inPath: readonly boolean[],
	asked: readonly (readonly [stem: string, rare: number])[],
): { readonly sum: number; readonly covered: number } {
	let sum = 0;
	let own = 0;
	for (let at = 0; at < asked.length; at++) {
		const [stem, rare] = asked[at] as (typeof asked)[number];
		// The name says most.
		let count =
			inField(words.name, stem, 4, 3) +
			inField(words.owner, stem, 1.5, 3) +
			inField(words.doc, stem, 1.5, 10) +
			inField(words.signature, stem, 0.7, 8);
		if (count > 0) own++;
		if (inPath[at]) count += PATH_WEIGHT;
		sum += (rare * count * 2.2) / (count + 1.2);
	}
	return { sum, covered: own / asked.length };
}

/** `usual` is how many stems such a field has on average. */
function inField(stems: readonly string[], stem: string, weight: number, usual: number): number {
	if (!stems.includes(stem)) return 0;
	return weight / (0.25 + (0.75 * stems.length) / usual);
}

const PATH_WEIGHT = 1;

function toFound(
	file: FileId,
	{ binding, path, owners, facts }: OrderedSymbol,
	exported: boolean,
): FoundSymbol {
	const entity: FoundSymbol["entity"] =
		path.length === 0
			? { kind: "declared", file, binding }
			: { kind: "member", file, binding, path };
	return { entity, facts, exported, owners };
}

/** Functions and classes answer more questions than fields do. */
const WEIGHTS: Partial<Record<string, number>> = {
	property: 0.6,
	variable: 0.8,
	type: 0.85,
	interface: 0.85,
	enum: 0.7,
};

/** Stems of the words that say something. If none does, of all. */
export function questionStems(query: string): readonly string[] {
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
