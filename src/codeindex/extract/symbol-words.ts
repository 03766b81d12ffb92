import type { Binding, FileFacts } from "../facts.ts";
import { symbolsOf } from "../symbol-order.ts";
import { stemOf } from "./stem.ts";
import { identifierWords } from "./words.ts";

/** Stems of the words of one symbol, by where they stand. */
export interface SymbolWords {
	readonly name: readonly string[];
	readonly owner: readonly string[];
	readonly doc: readonly string[];
	readonly signature: readonly string[];
}

/** In the order of `symbolsOf`. */
export function symbolWords(bindings: readonly Binding[]): readonly SymbolWords[] {
	return symbolsOf(bindings).map(({ facts, owners }) => ({
		name: stemsOf(facts.name),
		owner: [...new Set(owners.flatMap(stemsOf))],
		doc: stemsOf(facts.doc ?? ""),
		signature: stemsOf(facts.signature).filter((stem) => !KEYWORDS.has(stem)),
	}));
}

/** Distinct stems of all symbols of a file. */
export function declaredStems({ bindings }: FileFacts): string[] {
	const all = new Set<string>();
	for (const { name, doc, signature } of symbolWords(bindings)) {
		for (const stems of [name, doc, signature]) for (const stem of stems) all.add(stem);
	}
	return [...all];
}

/** Distinct stems of the words in a text, camel case split; `utf8` also gives `utf`. */
export function stemsOf(text: string): string[] {
	const found = new Set<string>();
	for (const part of text.match(WORD) ?? []) {
		for (const stem of known.get(part) ?? remember(part)) found.add(stem);
	}
	return [...found];
}

const WORD = /[\p{L}\p{N}_$]+/gu;

/** Most words repeat, within a file and among files. */
const known = new Map<string, readonly string[]>();
const MAX_KNOWN = 50_000;

function remember(part: string): readonly string[] {
	if (known.size >= MAX_KNOWN) known.clear();
	const stems = [...new Set(identifierWords(part).map(stemOf))];
	known.set(part, stems);
	return stems;
}

/** Stems of words that most signatures have. */
const KEYWORDS: ReadonlySet<string> = new Set(
	"export default const let var function async await class interface type enum readonly static private protected public abstract override extends implements new get set return void string number boolean unknown any undefined null true false promise array record partial this"
		.split(" ")
		.map(stemOf),
);
