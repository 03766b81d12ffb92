import { homedir } from "node:os";
import { join } from "node:path";
import type { Blob } from "../core/blob-store.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { ToolResultItem } from "../session/index.ts";
import { bytesOf, clip } from "../text/clip.ts";
import { grouped } from "../text/figures.ts";
import { collapsed } from "../text/one-line.ts";

/** No stub is longer than this, in bytes. */
export const MAX_STUB_BYTES = 300;

/** The same in tokens: what a stub is taken to cost before it is made. */
export const MAX_STUB_TOKENS = estimateTokens(MAX_STUB_BYTES);

/**
 * What stands in the context for a pruned result: the call, its size, a line of what it was about, and the exact call
 * that brings it back. The text is `undefined` where that would be no shorter than the result itself.
 */
export function stubFor(item: ToolResultItem, text: string, blob: Blob): string | undefined {
	const back = `Full text: read ${shownPath(blob.path)}`;
	const size = `${grouped(text.length)} chars`;
	const head = `${OPENING}${callOf(item)}: ${size}.`;
	const fixed = bytesOf(` ${back}`);
	if (fixed > MAX_STUB_BYTES - MIN_HEAD_BYTES) return undefined; // a folder with an endless name
	// The call that brings it back comes first; then the call it was; the gist gets what is left.
	const call = clip(head, MAX_STUB_BYTES - fixed);
	const gist = clip(gistOf(text), MAX_STUB_BYTES - fixed - bytesOf(call) - 3);
	const stub = `${call}${gist === "" ? "" : ` "${gist}"`} ${back}`;
	return bytesOf(stub) < bytesOf(text) ? stub : undefined;
}

const OPENING = "(Pruned) ";

/** Whether a text that stands for a result is one of our stubs. */
export function isStub(text: string | undefined): boolean {
	return text?.startsWith(OPENING) === true && Buffer.byteLength(text) <= MAX_STUB_BYTES;
}

/** What stubs keep out of a context. */
export interface KeptOut {
	readonly results: number;
	readonly tokens: number;
}

/** Counts the stubs in a context, whoever put them there and when. */
export function keptOut(inContext: Iterable<ToolResultItem>): KeptOut {
	let results = 0;
	let freed = 0;
	for (const { text, returned, tokens } of inContext) {
		if (text === returned || !isStub(text)) continue;
		results++;
		freed += Math.max(0, estimateTokens(returned?.length ?? 0) - tokens);
	}
	return { results, tokens: freed };
}

/** Room for the tool's name and the size at least. */
const MIN_HEAD_BYTES = 60;

/** A call in short: `read(path="src/a.ts", offset=10)`. */
export function callOf({ toolName, input }: Pick<ToolResultItem, "toolName" | "input">): string {
	const entries = typeof input === "object" && input !== null ? Object.entries(input) : [];
	const shown = entries
		.filter(([, value]) => value !== undefined && value !== null)
		.map(([name, value]) => `${shortened(name)}=${shortened(JSON.stringify(value))}`);
	return `${shortened(toolName)}(${shown.join(", ")})`;
}

/** Part of a call as it may be shown: names are the model's own words, too. */
function shortened(part: string): string {
	return clip(printable(part.toWellFormed()), MAX_PART_BYTES);
}

const MAX_PART_BYTES = 80;

/** The first line that says something, in a form that cannot leave the quotes it is put in. */
function gistOf(text: string): string {
	const beginning = text.slice(0, 2000).replace(/[\ud800-\udbff]$/, "");
	const lines = beginning.split("\n");
	const gist = printable(lines.find((line) => /[\p{L}\p{N}]{2}/u.test(line)) ?? "");
	return gist.replaceAll('"', "'");
}

function printable(text: string): string {
	return collapsed(text.replace(/[\p{Cc}\p{Cf}]/gu, " "));
}

/** As a person would write it; `read` takes this form too. */
function shownPath(path: string): string {
	const home = join(homedir(), "/");
	return path.startsWith(home) ? `~/${path.slice(home.length)}` : path;
}
