import { getOrAdd } from "../core/get-or-add.ts";
import { type LinedText, lineStarts } from "./lines.ts";
import { type CallResult, nameOf, OWN_LINE } from "./result.ts";

/** Lines of an earlier result, as it is shown. */
export interface Reference {
	/** From 1, both included. */
	readonly first: number;
	readonly last: number;
	/** The call of the result, by {@link nameOf}. */
	readonly name: string;
	/** Set if a newer result has the same name. */
	readonly id?: string;
}

export const REFERENCE_START = `${OWN_LINE}lines `;

/**
 * The line that stands for a run of lines. Without an id it refers to the newest earlier result of that
 * name. `path` is where the result that holds the reference is stored.
 */
export function referenceLine({ first, last, name, id }: Reference, path?: string): string {
	const which = id === undefined ? "" : ` (${id})`;
	const stored = path === undefined ? "" : `; full text: read ${path}`;
	return `${REFERENCE_START}${first}-${last} of the output of \`${name}\`${which} above, unchanged${stored}]`;
}

const FORM =
	/^\[strata: lines ([1-9]\d{0,8})-([1-9]\d{0,8}) of the output of `([^`]*)`(?: \(([^\s()`]+)\))? above, unchanged(?:; full text: read [^\n]+)?\]$/;

/** Whether an id can stand in a reference. */
export function isPlainId(id: string): boolean {
	return /^[!-'*-_a-~]{1,64}$/.test(id);
}

function parseReference(line: string): Reference | undefined {
	const [, first, last, name, id] = FORM.exec(line) ?? [];
	if (first === undefined || last === undefined || name === undefined) return undefined;
	return { first: Number(first), last: Number(last), name, ...(id !== undefined && { id }) };
}

/**
 * The text of a shortened result before its references were made; `undefined` if one of them is not
 * backed. `earlier` has the results above it, in order, with the texts that the model sees.
 */
export function expand(shown: string, earlier: readonly CallResult[]): string | undefined {
	const named = earlier.map((result) => ({ result, name: nameOf(result) }));
	const starts = new Map<CallResult, Int32Array>();
	return expandBy(shown, ({ name, id }) => {
		const isMeant = (one: (typeof named)[number]) =>
			one.name === name && (id === undefined || one.result.id === id);
		const { result } = named.findLast(isMeant) ?? {};
		if (result?.text === undefined) return undefined;
		const { text } = result;
		return { text, starts: getOrAdd(starts, result, () => lineStarts(text)) };
	});
}

/** A reference in a shown text, with the result that it means. */
export interface PlacedReference {
	/** The line of the shown text that it is, from 1. */
	readonly line: number;
	/** The id of the result that shows the lines. */
	readonly base: string;
	readonly first: number;
	readonly last: number;
}

function expandBy(shown: string, find: FindShown): string | undefined {
	const parts: string[] = [];
	const isBacked = eachPart(shown, find, (part) => {
		parts.push(part);
		return true;
	});
	return isBacked ? parts.join("") : undefined;
}

/** Whether {@link expandBy} returns `text`, without making a second one. */
export function expandsTo(text: string, shown: string, find: FindShown): boolean {
	let compared = 0;
	const isEqual = eachPart(shown, find, (part) => {
		const end = compared + part.length;
		if (text.slice(compared, end) !== part) return false;
		compared = end;
		return true;
	});
	return isEqual && compared === text.length;
}

type FindShown = (reference: Reference) => LinedText | undefined;

/** Visits the parts of the expanded text in order. False if a reference is not backed, or a visit ends it. */
function eachPart(shown: string, find: FindShown, visit: (part: string) => boolean): boolean {
	let copied = 0;
	for (let from = nextReference(shown, 0); from !== -1; from = nextReference(shown, copied)) {
		const newline = shown.indexOf("\n", from);
		const end = newline === -1 ? shown.length : newline;
		const reference = parseReference(shown.slice(from, end));
		const lines = reference && linesOf(find(reference), reference);
		if (lines === undefined || !visit(shown.slice(copied, from)) || !visit(lines)) return false;
		copied = end;
	}
	return visit(shown.slice(copied));
}

/** Looks for the words first: a search that begins with a line end stops at every line. */
function nextReference(text: string, from: number): number {
	let at = text.indexOf(REFERENCE_START, from);
	while (at > 0 && text[at - 1] !== "\n") at = text.indexOf(REFERENCE_START, at + 1);
	return at;
}

function linesOf(base: LinedText | undefined, { first, last }: Reference): string | undefined {
	if (!base || first > last) return undefined;
	const { text, starts } = base;
	const [from, end] = [starts[first - 1], starts[last]];
	return from === undefined || end === undefined ? undefined : text.slice(from, end - 1);
}
