import { getOrAdd } from "../core/get-or-add.ts";
import { type Hash, hashBytes, isHash } from "../core/hash.ts";
import { property } from "../core/property.ts";

/** Lines of an earlier result that stand behind one line of a shortened result. Counted from 1. */
export interface ResultReference {
	readonly line: number;
	/** The call whose result shows the lines. */
	readonly base: string;
	readonly first: number;
	readonly last: number;
}

/** Written into `details.birth` of a result that was shortened before any request contained it. */
export interface Shortened {
	readonly v: 1;
	/** Version of the form of references and folds. */
	readonly form: number;
	/** Hash of the text that the model sees. */
	readonly shown: Hash;
	/** Hash of that text with its references expanded. */
	readonly expanded: Hash;
	/** Hash of the exact text, which is its id in the blob store. */
	readonly original: Hash;
	/** By how many characters the result is shorter than its exact text. */
	readonly savedChars: number;
	readonly references: readonly ResultReference[];
}

/** `undefined` if the result was not shortened, or if the note is malformed. */
export function shortenedOf({ details }: { readonly details: unknown }): Shortened | undefined {
	const note = property(details, "birth") as Record<keyof Shortened, unknown> | undefined;
	if (property(note, "v") !== 1 || !note) return undefined;
	const { shown, expanded, original, form, savedChars, references } = note;
	if (![shown, expanded, original].every(isHash)) return undefined;
	if (!isPositive(form) || !isPositive(savedChars)) return undefined;
	if (!Array.isArray(references) || !references.every(isReference)) return undefined;
	return note as Shortened;
}

function isReference(value: unknown): value is ResultReference {
	const { line, base, first, last } = (value ?? {}) as Record<keyof ResultReference, unknown>;
	const areLines = isPositive(line) && isPositive(first) && isPositive(last) && first <= last;
	return areLines && typeof base === "string";
}

function isPositive(value: unknown): value is number {
	return Number.isSafeInteger(value) && (value as number) > 0;
}

/** The shown text with the lines that its references mean; `undefined` if some are missing. */
export function expandReferences(
	shown: string,
	references: readonly ResultReference[],
	textOf: (base: string) => string | undefined,
): string | undefined {
	const lines = shown.split("\n");
	const bases = new Map<string, string[] | undefined>();
	for (const { line, base, first, last } of references) {
		// A result may refer to many places of a long one, which is split once.
		const meant = getOrAdd(bases, base, () => textOf(base)?.split("\n"))?.slice(first - 1, last);
		if (lines[line - 1] === undefined || meant?.length !== last - first + 1) return undefined;
		lines[line - 1] = meant.join("\n");
	}
	return lines.join("\n");
}

/**
 * What a result is once an edit shows the lines that its references mean: as if it had been returned with
 * that text. `undefined` if the edit shows another text.
 */
export function restoredResult(result: {
	readonly details: unknown;
	readonly returned: string | undefined;
	readonly text: string | undefined;
}): { returned: string; details: unknown } | undefined {
	const { details, returned, text } = result;
	if (returned === undefined || text === undefined || text === returned) return undefined;
	const note = shortenedOf({ details });
	if (!note || note.references.length === 0) return undefined;
	if (hashBytes(returned) !== note.shown || hashBytes(text) !== note.expanded) return undefined;
	const { birth, ...others } = details as { birth: unknown };
	if (note.expanded === note.original) return { returned: text, details: others };
	// Output that was made quiet is still shorter than its exact text.
	const savedChars = note.savedChars - (text.length - returned.length);
	const left = { ...note, shown: note.expanded, savedChars, references: [] };
	return { returned: text, details: { ...others, birth: left } };
}
