import { getOrAdd } from "../core/get-or-add.ts";
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

export function parseReference(line: string): Reference | undefined {
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

/** A text with the offsets of its lines, and the one behind its end. */
export interface LinedText {
	readonly text: string;
	readonly starts: Int32Array;
}

export function expandBy(
	shown: string,
	find: (reference: Reference) => LinedText | undefined,
): string | undefined {
	const parts: string[] = [];
	let copied = 0;
	for (let from = nextReference(shown, 0); from !== -1; from = nextReference(shown, copied)) {
		const lineEnd = shown.indexOf("\n", from);
		const end = lineEnd === -1 ? shown.length : lineEnd;
		const reference = parseReference(shown.slice(from, end));
		const lines = reference && linesOf(find(reference), reference);
		if (lines === undefined) return undefined;
		parts.push(shown.slice(copied, from), lines);
		copied = end;
	}
	parts.push(shown.slice(copied));
	return parts.join("");
}

function nextReference(text: string, from: number): number {
	if (from === 0 && text.startsWith(REFERENCE_START)) return 0;
	const at = text.indexOf(`\n${REFERENCE_START}`, from);
	return at === -1 ? -1 : at + 1;
}

function linesOf(base: LinedText | undefined, { first, last }: Reference): string | undefined {
	if (!base || first > last) return undefined;
	const { text, starts } = base;
	const [from, end] = [starts[first - 1], starts[last]];
	return from === undefined || end === undefined ? undefined : text.slice(from, end - 1);
}

/** The last offset is that of a line behind the text, so that line k ends at `starts[k + 1] - 1`. */
function lineStarts(text: string): Int32Array {
	const starts = [0];
	for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
	starts.push(text.length + 1);
	return Int32Array.from(starts);
}
