import { homedir } from "node:os";
import { join } from "node:path";
import type { Blob, BlobStore } from "../core/blob-store.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { SessionView, ToolResultItem } from "../session/index.ts";
import { bytesOf, clip } from "../text/clip.ts";
import { grouped, short } from "../text/figures.ts";
import { collapsed } from "../text/one-line.ts";
import type { Candidate } from "./candidates.ts";

export const MAX_STUB_BYTES = 300;

/** A stub's assumed cost before it is made. */
export const MAX_STUB_TOKENS = estimateTokens(MAX_STUB_BYTES);

/**
 * The call, its size, a line of its text, and the exact call that restores it. `undefined` where
 * that is no shorter than the result.
 */
export function stubFor(item: ToolResultItem, text: string, blob: Blob): string | undefined {
	const back = `Full text: read ${shownPath(blob.path)}`;
	const size = `${grouped(text.length)} chars`;
	const head = `${OPENING}${callOf(item)}: ${size}.`;
	const fixed = bytesOf(` ${back}`);
	if (fixed > MAX_STUB_BYTES - MIN_HEAD_BYTES) return undefined; // the blob path is too long
	// Priority: the restoring call, the original call, then the gist.
	const call = clip(head, MAX_STUB_BYTES - fixed);
	const gist = clip(gistOf(text), MAX_STUB_BYTES - fixed - bytesOf(call) - 3);
	const stub = `${call}${gist === "" ? "" : ` "${gist}"`} ${back}`;
	return bytesOf(stub) < bytesOf(text) ? stub : undefined;
}

const OPENING = "(Pruned) ";

export function isStub(text: string | undefined): boolean {
	return text?.startsWith(OPENING) === true && Buffer.byteLength(text) <= MAX_STUB_BYTES;
}

export interface KeptOut {
	readonly results: number;
	readonly tokens: number;
}

/** Counts all stubs, whichever process made them. */
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

const MIN_HEAD_BYTES = 60;

/** For example `read(path="src/a.ts", offset=10)`. */
export function callOf({ toolName, input }: Pick<ToolResultItem, "toolName" | "input">): string {
	const entries = typeof input === "object" && input !== null ? Object.entries(input) : [];
	const shown = entries
		.filter(([, value]) => value !== undefined && value !== null)
		.map(([name, value]) => `${shortened(name)}=${shortened(JSON.stringify(value))}`);
	return `${shortened(toolName)}(${shown.join(", ")})`;
}

/** Names are untrusted too: the model writes them. */
function shortened(part: string): string {
	return clip(printable(part.toWellFormed()), MAX_PART_BYTES);
}

const MAX_PART_BYTES = 80;

/** The first meaningful line, escaped so that it cannot leave its quotes. */
function gistOf(text: string): string {
	const beginning = text.slice(0, 2000).replace(/[\ud800-\udbff]$/, "");
	const lines = beginning.split("\n");
	const gist = printable(lines.find((line) => /[\p{L}\p{N}]{2}/u.test(line)) ?? "");
	return gist.replaceAll('"', "'");
}

function printable(text: string): string {
	return collapsed(text.replace(/[\p{Cc}\p{Cf}]/gu, " "));
}

/** With `~`, which `read` accepts. */
function shownPath(path: string): string {
	const home = join(homedir(), "/");
	return path.startsWith(home) ? `~/${path.slice(home.length)}` : path;
}

/** A result with a stub and a stored original. */
export interface Pruned {
	readonly entryId: string;
	readonly toolCallId: string;
	readonly original: string;
	readonly stub: string;
	readonly freedTokens: number;
}

/** `why`: what kept the rest from being pruned, for the user. */
export interface Batch {
	readonly pruned: readonly Pruned[];
	readonly why?: string;
}

/** Bounds the delay of a turn: pi appends each edit to the session file. */
const MAX_BATCH = 500;

const SIDE_BY_SIDE = 8;

/** Superseded results first. Invariant: no stub without a stored and verified original. */
export function prune(candidates: readonly Candidate[], blobs: BlobStore): Promise<Batch> {
	const first = candidates.filter(({ why }) => why === "superseded");
	const then = candidates.filter(({ why }) => why !== "superseded");
	const chosen = [...first, ...then].slice(0, MAX_BATCH);
	return inGroups(chosen, (candidate) => pruneOne(candidate, blobs));
}

/** Stores deleted originals again; returns the stubs whose original is stored. */
export function keepAgain(pruned: readonly Pruned[], blobs: BlobStore): Promise<Batch> {
	return inGroups(pruned, async (one) => {
		const kept = await keepProven(one.original, blobs);
		return typeof kept === "string" ? kept : one;
	});
}

/** Stops when a whole group fails: one failure may be the text's, all are the store's. */
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

async function pruneOne({ item }: Candidate, blobs: BlobStore): Promise<Pruned | string> {
	const { text: original } = item;
	if (original === undefined) return "the result holds more than text";
	const kept = await keepProven(original, blobs);
	if (typeof kept === "string") return kept;
	const stub = stubFor(item, original, kept);
	const pruned = stub === undefined ? undefined : prunedAs(item, stub);
	return pruned ?? "the path of the blob folder is too long to be named in a stub";
}

export function prunedAs(item: ToolResultItem, stub: string): Pruned | undefined {
	const { entryId, toolCallId, text: original, tokens } = item;
	if (original === undefined) return undefined;
	const freedTokens = tokens - estimateTokens(stub.length);
	return { entryId, toolCallId, original, stub, freedTokens };
}

/** Reads back what it stored: an existing copy may be damaged. */
async function keepProven(text: string, blobs: BlobStore): Promise<Blob | string> {
	for (let attempt = 1; ; attempt++) {
		const kept = await blobs.keep(text);
		if (kept.kind === "not-kept") return kept.why;
		const loaded = await blobs.load(kept.blob.id);
		if (loaded.kind === "found" && loaded.text === text) return kept.blob;
		// Loading deletes a damaged copy.
		if (attempt === 2) return loaded.kind === "failed" ? loaded.why : "the copy is not as it was";
	}
}

/** Requests know results by call id; candidates with a reused id are left out. */
export function knownByCall(
	candidates: readonly Candidate[],
	results: ReadonlyMap<string, ToolResultItem>,
): Candidate[] {
	const byCall = Map.groupBy(results.values(), ({ toolCallId }) => toolCallId);
	return candidates.filter(({ item }) => byCall.get(item.toolCallId)?.length === 1);
}

/** A list, as tools return it: pi sends both forms alike. */
export function contentOf({ stub }: Pruned): { type: "text"; text: string }[] {
	return [{ type: "text", text: stub }];
}

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
