import { homedir } from "node:os";
import { join } from "node:path";
import type { Blob, BlobStore } from "../core/blob-store.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { SessionView, ToolResultItem } from "../session/index.ts";
import { bytesOf, clip } from "../text/clip.ts";
import { grouped, short } from "../text/figures.ts";
import { collapsed } from "../text/one-line.ts";
import type { Candidate } from "./candidates.ts";

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

/** A result that has a stub and a stored original. */
export interface Pruned {
	readonly entryId: string;
	readonly toolCallId: string;
	readonly original: string;
	readonly stub: string;
	readonly freedTokens: number;
}

/** What became of a batch. `why` names what kept the rest from being pruned, in words. */
export interface Batch {
	readonly pruned: readonly Pruned[];
	readonly why?: string;
}

/** More at once would hold up the turn: pi appends each to the session file by itself. */
const MAX_BATCH = 500;

/** Files written side by side. */
const SIDE_BY_SIDE = 8;

/**
 * Stores the original of each candidate and makes its stub, those first that were shown again or have changed
 * since. Nothing gets a stub whose original was not stored before, and found there as it was.
 */
export function prune(candidates: readonly Candidate[], blobs: BlobStore): Promise<Batch> {
	const first = candidates.filter(({ why }) => why === "superseded");
	const then = candidates.filter(({ why }) => why !== "superseded");
	const chosen = [...first, ...then].slice(0, MAX_BATCH);
	return inGroups(chosen, (candidate) => pruneOne(candidate, blobs));
}

/** Of stubs made for an earlier request, those whose original is kept now: what was deleted since is stored again. */
export function keepAgain(pruned: readonly Pruned[], blobs: BlobStore): Promise<Batch> {
	return inGroups(pruned, async (one) => {
		const kept = await keepProven(one.original, blobs);
		return typeof kept === "string" ? kept : one;
	});
}

/** Does some at a time, until all of them fail: one text may be at fault by itself, else it is the store. */
async function inGroups<Item>(
	items: readonly Item[],
	work: (item: Item) => Promise<Pruned | string>,
): Promise<Batch> {
	const pruned: Pruned[] = [];
	let why: string | undefined;
	for (let start = 0; start < items.length; start += SIDE_BY_SIDE) {
		const outcomes = await Promise.all(items.slice(start, start + SIDE_BY_SIDE).map(work));
		const done = outcomes.filter((outcome) => typeof outcome !== "string");
		pruned.push(...done);
		why ??= outcomes.find((outcome) => typeof outcome === "string");
		if (done.length === 0) break;
	}
	return { pruned, ...(why !== undefined && { why }) };
}

/** The stub, or in words why there is none. */
async function pruneOne({ item }: Candidate, blobs: BlobStore): Promise<Pruned | string> {
	const { text: original } = item;
	if (original === undefined) return "the result holds more than text";
	const kept = await keepProven(original, blobs);
	if (typeof kept === "string") return kept;
	const stub = stubFor(item, original, kept);
	const pruned = stub === undefined ? undefined : prunedAs(item, stub);
	return pruned ?? "the path of the blob folder is too long to be named in a stub";
}

/** A result with a stub that it has or had already; `undefined` if it holds more than text. */
export function prunedAs(item: ToolResultItem, stub: string): Pruned | undefined {
	const { entryId, toolCallId, text: original, tokens } = item;
	if (original === undefined) return undefined;
	const freedTokens = tokens - estimateTokens(stub.length);
	return { entryId, toolCallId, original, stub, freedTokens };
}

/** Keeps a text and reads it back: a copy that was there before may have been damaged since. */
async function keepProven(text: string, blobs: BlobStore): Promise<Blob | string> {
	for (let attempt = 1; ; attempt++) {
		const kept = await blobs.keep(text);
		if (kept.kind === "not-kept") return kept.why;
		const loaded = await blobs.load(kept.blob.id);
		if (loaded.kind === "found" && loaded.text === text) return kept.blob;
		// A damaged copy is deleted by the attempt to load it.
		if (attempt === 2) return loaded.kind === "failed" ? loaded.why : "the copy is not as it was";
	}
}

/** Candidates that can be replaced in a request: there results are known by their calls, and some ids are used twice. */
export function knownByCall(
	candidates: readonly Candidate[],
	results: ReadonlyMap<string, ToolResultItem>,
): Candidate[] {
	const byCall = Map.groupBy(results.values(), ({ toolCallId }) => toolCallId);
	return candidates.filter(({ item }) => byCall.get(item.toolCallId)?.length === 1);
}

/** What stands in the session for a pruned result. In a list, as tools return it: pi sends both forms alike. */
export function contentOf({ stub }: Pruned): { type: "text"; text: string }[] {
	return [{ type: "text", text: stub }];
}

/** The line that is always shown: context size now, and freed so far. */
export function pruningStatus(
	usage: ReturnType<SessionView["getContextUsage"]>,
	tokensKeptOut: number,
): string {
	const size = usage?.tokens
		? `context ${short(usage.tokens)} of ${short(usage.contextWindow)}`
		: "";
	const freed = tokensKeptOut > 0 ? `${short(tokensKeptOut)} pruned` : "nothing pruned";
	return size === "" ? freed : `${size}, ${freed}`;
}
