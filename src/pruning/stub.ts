import type { Blob } from "../core/blob-store.ts";
import { shownPath } from "../core/places.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { SessionView, ToolResultItem } from "../session/index.ts";
import { bytesOf, clip } from "../text/clip.ts";
import { grouped, short } from "../text/figures.ts";
import { collapsed } from "../text/one-line.ts";

export const MAX_STUB_BYTES = 300;

/** Shorter output stays, since a stub frees too little to pay for rewriting the text after it. */
export const LEAST_CHARS = 2 * MAX_STUB_BYTES;

/** Assumed size of a stub before it is made. */
export const MAX_STUB_TOKENS = estimateTokens(MAX_STUB_BYTES);

/** The call, size, a line of text, and how to read the full text. `undefined` if the stub is not shorter. */
export function stubFor(item: ToolResultItem, text: string, blob: Blob): string | undefined {
	const back = `Full text: read ${shownPath(blob.path)}`;
	const head = `${OPENING}${callOf(item)}: ${grouped(text.length)} chars.`;
	const fixed = bytesOf(` ${back}`);
	if (fixed > MAX_STUB_BYTES - MIN_HEAD_BYTES) return undefined; // the blob path is too long
	// Priorities: the call that restores the text, the original call, then the gist.
	const call = clip(head, MAX_STUB_BYTES - fixed);
	const gist = clip(gistOf(text), MAX_STUB_BYTES - fixed - bytesOf(call) - 3);
	const stub = `${call}${gist === "" ? "" : ` "${gist}"`} ${back}`;
	return bytesOf(stub) < bytesOf(text) ? stub : undefined;
}

const OPENING = "(Pruned) ";

export function isStub(text: string | undefined): boolean {
	return text?.startsWith(OPENING) === true && Buffer.byteLength(text) <= MAX_STUB_BYTES;
}

export type StubTotals = ReturnType<typeof stubTotals>;

/** Counts all stubs, including those of earlier processes. */
export function stubTotals(inContext: Iterable<ToolResultItem>) {
	let results = 0;
	let freed = 0;
	for (const { text, returned, tokens } of inContext) {
		if (text === returned || !isStub(text)) continue;
		results++;
		freed += estimateTokens(returned?.length ?? 0) - tokens;
	}
	return { results, tokens: freed };
}

const MIN_HEAD_BYTES = 60;

/** For example `read(path="src/a.ts", offset=10)`. */
export function callOf({ toolName, input }: Pick<ToolResultItem, "toolName" | "input">): string {
	const entries = typeof input === "object" && input !== null ? Object.entries(input) : [];
	const shown = entries
		.filter(([, value]) => value !== undefined && value !== null)
		.map(([name, value]) => `${shortened(name)}=${shortened(JSON.stringify(value))}`);
	return `${shortened(toolName)}(${shown.join(", ")})`;
}

/** Names are untrusted too, since the model writes them. */
function shortened(part: string): string {
	return clip(printable(part.toWellFormed()), MAX_PART_BYTES);
}

const MAX_PART_BYTES = 80;

/** The first line with a word or number, escaped so that it cannot end its quotes. */
function gistOf(text: string): string {
	const beginning = text.slice(0, 2000).replace(/[\ud800-\udbff]$/, "");
	const lines = beginning.split("\n");
	const gist = printable(lines.find((line) => /[\p{L}\p{N}]{2}/u.test(line)) ?? "");
	return gist.replaceAll('"', "'");
}

function printable(text: string): string {
	return collapsed(text.replace(/[\p{Cc}\p{Cf}]/gu, " "));
}

/** Returns a list, as tools do. Pi sends a list and a plain string in the same way. */
export function contentOf(stub: string): { type: "text"; text: string }[] {
	return [{ type: "text", text: stub }];
}

export function pruningStatus(
	usage: ReturnType<SessionView["getContextUsage"]>,
	prunedTokens: number,
): string {
	const freed = prunedTokens > 0 ? `${short(prunedTokens)} pruned` : "nothing pruned";
	if (!usage?.tokens) return freed;
	return `context ${short(usage.tokens)} of ${short(usage.contextWindow)}, ${freed}`;
}
