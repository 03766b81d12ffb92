import type { Binding, FileFacts } from "../facts.ts";
import { symbolsOf } from "../symbol-order.ts";
import { identifierWords } from "./identifier-words.ts";
import { stemOf } from "./stem.ts";

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
		owner: stemsOfParts(owners.flatMap(partsOf)),
		doc: facts.doc === undefined ? [] : stemsOf(facts.doc),
		signature: stemsOfParts(partsOf(facts.signature).filter((part) => !KEYWORDS.has(part))),
	}));
}

/** Distinct stems of all symbols of a file. */
export function declaredStems({ bindings }: FileFacts): readonly string[] {
	const parts = new Set<string>();
	const add = (text: string) => {
		for (const part of partsOf(text)) parts.add(part);
	};
	for (const { facts } of symbolsOf(bindings)) {
		add(facts.name);
		add(facts.signature);
		if (facts.doc !== undefined) add(facts.doc);
	}
	return stemsOfParts([...parts]);
}

/** Distinct stems of the words in a text, camel case split; `utf8` also gives `utf`. */
export function stemsOf(text: string): readonly string[] {
	return stemsOfParts(partsOf(text));
}

function partsOf(text: string): readonly string[] {
	return text.match(WORD) ?? [];
}

function stemsOfParts(parts: readonly string[]): readonly string[] {
	const [first, second] = parts;
	if (first === undefined) return [];
	if (second === undefined) return stemsOfPart(first);
	const found = new Set<string>();
	for (const part of parts) for (const stem of stemsOfPart(part)) found.add(stem);
	return [...found];
}

/** Without Unicode classes, which are slow: other scripts have no camel case and few separators. */
const WORD = /[A-Za-z0-9_$\u00aa-\uffff]+/g;

/** Most words repeat, within a file and among files. */
const known = new Map<string, readonly string[]>();
const MAX_KNOWN = 50_000;

function stemsOfPart(part: string): readonly string[] {
	return known.get(part) ?? remember(part);
}

function remember(part: string): readonly string[] {
	if (known.size >= MAX_KNOWN) known.clear();
	const stems = [...new Set(identifierWords(part).map(stemOf))];
	known.set(part, stems);
	return stems;
}

/** Words that most signatures have. */
const KEYWORDS: ReadonlySet<string> = new Set(
	"export default const let var function async await class interface type enum readonly static private protected public abstract override extends implements new get set return void string number boolean unknown any undefined null true false Promise Array Record Partial this".split(
		" ",
	),
);
