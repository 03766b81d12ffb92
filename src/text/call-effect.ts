import { counted, grouped, short } from "./figures.ts";

/** What is known of a tool call that has ended. All of it is untrusted. */
export interface EndedCall {
	readonly tool: string;
	readonly args?: unknown;
	/** `details` of the result, with the notes of pi and of our systems. */
	readonly details?: unknown;
	/** The result as the model got it. */
	readonly text?: string;
	readonly isError?: boolean;
	readonly durationMs?: number;
	/** The text that stands in the context now, if it has been replaced since. */
	readonly replacement?: string;
}

/**
 * What a call did, in short parts for one line: `unchanged, 20 lines not sent`, or `0.4 s`, `exit 3`,
 * `212 lines folded`. Empty if there is nothing to say. Parts contain no text of the result.
 */
export function callEffect(call: EndedCall): string[] {
	const parts = call.isError ? failureParts(call) : resultParts(call);
	const isTimed = isShell(call.tool) && call.durationMs !== undefined;
	const { replacement } = call;
	return [
		...(isTimed ? [seconds(call.durationMs ?? 0)] : []),
		...parts,
		...(replacement === undefined ? [] : [replacedPart(replacement)]),
	];
}

/** Counts the added and removed lines of a unified diff. */
export function changedLines(patch: string): { added: number; removed: number } {
	let added = 0;
	let removed = 0;
	let isInHunk = false;
	for (const line of patch.split("\n")) {
		if (line.startsWith("@@")) isInHunk = true;
		else if (line.startsWith("diff ") || line.startsWith("Index: ")) isInHunk = false;
		else if (!isInHunk) continue;
		else if (line.startsWith("+")) added++;
		else if (line.startsWith("-")) removed++;
	}
	return { added, removed };
}

/** Format: `0.4 s`, `12 s`, `2 min 5 s`. */
export function seconds(ms: number): string {
	const tenths = Math.max(0, Math.round(ms / 100));
	if (tenths < 100) return `${tenths / 10} s`;
	const whole = Math.round(ms / 1000);
	if (whole < 60) return `${whole} s`;
	const rest = whole % 60;
	return rest === 0 ? `${whole / 60} min` : `${Math.floor(whole / 60)} min ${rest} s`;
}

const SHELLS: ReadonlySet<string> = new Set(["bash", "powershell"]);

function isShell(tool: string): boolean {
	return SHELLS.has(tool);
}

/** Pi ends the output of a failed command with one of these lines. */
const EXIT = /(?:^|\n)Command exited with code (-?\d{1,10})\s*$/;
const TIMEOUT = /(?:^|\n)Command timed out after (\d{1,10}) seconds\s*$/;
const ABORTED = /(?:^|\n)Command aborted\s*$/;

function failureParts({ tool, text = "", details }: EndedCall): string[] {
	if (!isShell(tool)) return ["failed"];
	const end = text.slice(-200);
	const [, code] = EXIT.exec(end) ?? [];
	const [, limit] = TIMEOUT.exec(end) ?? [];
	if (code !== undefined) return [`exit ${code}`, ...foldedParts(details, text)];
	if (limit !== undefined) return [`timed out after ${limit} s`];
	return [ABORTED.test(end) ? "stopped" : "failed"];
}

function resultParts(call: EndedCall): string[] {
	const { tool, args, details, text = "" } = call;
	if (tool === "edit") return editParts(details);
	if (tool === "write") {
		const content = field(args, "content");
		return typeof content === "string" ? [`${linesOf(content)} written`] : [];
	}
	const read = tool === "read" ? (cacheParts(details, text) ?? pageParts(details)) : undefined;
	return read ?? sizeParts(details, text);
}

function editParts(details: unknown): string[] {
	const patch = field(details, "patch");
	if (typeof patch !== "string") return [];
	const { added, removed } = changedLines(patch);
	return added + removed === 0 ? [] : [`+${grouped(added)} −${grouped(removed)}`];
}

/** What the read cache answered instead of the file; undefined if it sent the lines. */
function cacheParts(details: unknown, text: string): string[] | undefined {
	const note = field(details, "readcache");
	const total = count(note, "totalLines");
	const asked = count(note, "rangeEnd") - count(note, "rangeStart") + 1;
	switch (field(note, "mode")) {
		case "unchanged":
			return [`unchanged, ${counted(total, "line")} not sent`];
		case "unchanged_range":
			return [`unchanged, ${counted(asked, "line")} not sent`];
		case "diff": {
			const [, changed] = DIFF_HEADER.exec(text) ?? [];
			return changed === undefined
				? [`only the changes sent, of ${counted(asked, "line")}`]
				: [`${counted(Number(changed), "changed line")} sent, of ${grouped(total)}`];
		}
		case "full":
		case "full_fallback":
			return shownParts(note, total);
		default:
			return undefined;
	}
}

/** The lines that were sent, if the note says which. */
function shownParts(note: unknown, total: number): string[] | undefined {
	const shown = field(note, "shown");
	const [first, last] = Array.isArray(shown) ? shown : [0, 0];
	if (!(Number.isSafeInteger(first) && Number.isSafeInteger(last))) return undefined;
	if (!(first >= 1 && first <= last && last <= total)) return undefined;
	const isWhole = first === 1 && last === total;
	const range =
		first === last ? `line ${grouped(first)}` : `lines ${grouped(first)}–${grouped(last)}`;
	return [isWhole ? counted(total, "line") : `${range} of ${grouped(total)}`];
}

const DIFF_HEADER = /^\[readcache: (\d{1,9}) lines changed of \d{1,9}\]/;

/** Which part of a long text or PDF was sent; undefined if the answer is not a page. */
function pageParts(details: unknown): string[] | undefined {
	if (typeof field(details, "uri") !== "string") return undefined;
	const pages = field(details, "page_info");
	const first = count(pages, "page_start");
	const last = count(pages, "page_end");
	const all = count(pages, "total_pages");
	if (first > 0 && all > 0) {
		const which = first === last ? `page ${first}` : `pages ${first}–${last}`;
		return [`${which} of ${grouped(all)}`];
	}
	const total = count(details, "total_chars");
	return total > 0 && field(details, "truncated") === true
		? [`a part of ${short(total)} characters`]
		: undefined;
}

function sizeParts(details: unknown, text: string): string[] {
	const truncation = field(details, "truncation");
	const folded = foldedParts(details, text);
	const total = count(truncation, "totalLines");
	const kept = count(truncation, "outputLines");
	if (field(truncation, "truncated") === true && total > kept && kept > 0) {
		return [`${grouped(kept)} of ${counted(total, "line")}`, ...folded];
	}
	const original = count(details, "originalBytes");
	if (field(details, "truncated") === true && original > 0) {
		return [`shortened from ${short(original)} bytes`];
	}
	const isEmpty = text === "" || text === "(no output)";
	return [isEmpty ? "no output" : linesOf(text), ...folded];
}

/** What was shortened before the model first saw it. */
function foldedParts(details: unknown, text: string): string[] {
	const note = field(details, "birth");
	if (count(note, "savedChars") === 0) return [];
	const references = field(note, "references");
	let repeated = 0;
	for (const one of Array.isArray(references) ? references : []) {
		repeated += Math.max(0, count(one, "last") - count(one, "first") + 1);
	}
	let folded = 0;
	for (const [, lines = "0"] of text.matchAll(FOLD)) folded += Number(lines.replaceAll(",", ""));
	const parts = [
		...(folded > 0 ? [`${counted(folded, "line")} folded`] : []),
		...(repeated > 0 ? [`${counted(repeated, "line")} shown before`] : []),
	];
	if (parts.length > 0) return parts;
	return [`${counted(count(note, "savedChars"), "character")} folded`];
}

const FOLD = /^\[strata: ([\d,]{1,12}) more lines? /gm;

/** Whether a text stands for a pruned result. */
export function isStubText(text: string): boolean {
	return text.startsWith("(Pruned) ");
}

/** What became of a result: the text that stands for it in the context now. */
export function replacedPart(replacement: string): string {
	return isStubText(replacement) ? "now a stub" : "replaced since";
}

function linesOf(text: string): string {
	const ends = text.endsWith("\n") ? 0 : 1;
	let lines = ends;
	for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines++;
	return counted(text === "" ? 0 : lines, "line");
}

function field(value: unknown, name: string): unknown {
	return typeof value === "object" && value !== null
		? (value as Record<string, unknown>)[name]
		: undefined;
}

function count(value: unknown, name: string): number {
	const found = field(value, name);
	return typeof found === "number" && Number.isFinite(found) && found > 0 ? Math.floor(found) : 0;
}
