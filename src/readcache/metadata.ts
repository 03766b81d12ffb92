import { INVALIDATION_ENTRY } from "../core/entry-types.ts";
import { type Hash, isHash } from "../core/hash.ts";
import { property } from "../core/property.ts";
import type { CustomItem } from "../session/index.ts";

export const MODES = ["full", "unchanged", "unchanged_range", "diff", "full_fallback"] as const;

export type Mode = (typeof MODES)[number];

/** The version and lines that the model was shown. Stored in `details.readcache`. */
export interface Metadata {
	readonly v: 1;
	readonly pathKey: string;
	/** `full`, or `r:<start>:<end>`. */
	readonly scopeKey: string;
	/** Hash of the file's bytes when it was read. */
	servedHash: Hash;
	/** The version that the answer refers to. Always set for markers and diffs. */
	readonly baseHash?: Hash;
	readonly mode: Mode;
	readonly totalLines: number;
	readonly rangeStart: number;
	readonly rangeEnd: number;
	readonly bytes: number;
	/** First and last line shown, for `full` and `full_fallback`: pi may have truncated the range. */
	readonly shown?: [number, number];
	/** Hash of the returned text, if it contains text of the file. */
	readonly textHash?: Hash;
	/** Size of pi's own answer, for markers and diffs. */
	readonly plainBytes?: number;
}

/** The file that an untracked read through a link returned. */
export function parseUntracked(details: unknown): string | undefined {
	return pathKeyOf(noteIn(details, "untracked"));
}

/** Stored in `details.readcache` of the model's own `edit` or `write`. */
export interface OwnEdit {
	readonly v: 1;
	readonly mode: "own_edit";
	readonly pathKey: string;
	/** The version before the edit, if it was cacheable. */
	readonly baseHash?: Hash;
	readonly servedHash: Hash;
}

export function parseOwnEdit(details: unknown): OwnEdit | undefined {
	const note = noteIn(details, "own_edit");
	const baseHash = property(note, "baseHash");
	if (baseHash !== undefined && !isHash(baseHash)) return undefined;
	return isHash(property(note, "servedHash")) && pathKeyOf(note) ? (note as OwnEdit) : undefined;
}

function noteIn(details: unknown, mode: string): unknown {
	const note = property(details, "readcache");
	return property(note, "v") === 1 && property(note, "mode") === mode ? note : undefined;
}

function pathKeyOf(note: unknown): string | undefined {
	const pathKey = property(note, "pathKey");
	return typeof pathKey === "string" ? pathKey : undefined;
}

/** Line numbers, 1-based and inclusive. */
export interface LineRange {
	readonly start: number;
	readonly end: number;
}

export function shownRange({ shown, rangeStart, rangeEnd }: Metadata): LineRange {
	const [start, end] = shown ?? [rangeStart, rangeEnd];
	return { start, end };
}

export function scopeKeyOf(range: LineRange, totalLines: number): string {
	const isWhole = range.start === 1 && range.end === totalLines;
	return isWhole ? "full" : `r:${range.start}:${range.end}`;
}

/** `undefined` if malformed. */
export function parseScopeKey(scopeKey: unknown): LineRange | "full" | undefined {
	if (scopeKey === "full") return "full";
	const match = typeof scopeKey === "string" ? /^r:(\d+):(\d+)$/.exec(scopeKey) : null;
	if (!match) return undefined;
	const range = { start: Number(match[1]), end: Number(match[2]) };
	return isLine(range.start) && isLine(range.end) && range.start <= range.end ? range : undefined;
}

/** Ignores malformed metadata, since other versions and programs may have written it. */
export function parseMetadata(details: unknown): Metadata | undefined {
	const raw = property(details, "readcache");
	if (property(raw, "v") !== 1) return undefined;
	const meta = raw as Record<keyof Metadata, unknown>;
	const mode = parseMode(meta.mode);
	if (!mode || !isHash(meta.servedHash) || typeof meta.pathKey !== "string" || !meta.pathKey)
		return undefined;
	if (parseScopeKey(meta.scopeKey) === undefined) return undefined;
	const { totalLines, rangeStart, rangeEnd, bytes } = meta;
	if (!isLine(totalLines) || !isLine(rangeStart) || !isLine(rangeEnd) || !isCount(bytes))
		return undefined;
	if (rangeStart > rangeEnd || rangeEnd > totalLines) return undefined;
	if (meta.baseHash !== undefined && !isHash(meta.baseHash)) return undefined;
	if (isDerived(mode) && meta.baseHash === undefined) return undefined;
	if (meta.textHash !== undefined && !isHash(meta.textHash)) return undefined;
	if (meta.shown !== undefined && !isWithin(meta.shown, rangeStart, rangeEnd)) return undefined;
	if (meta.plainBytes !== undefined && !isCount(meta.plainBytes)) return undefined;
	return { ...(raw as Metadata), mode };
}

/** Whether the answer refers to text shown earlier. */
export function isDerived(mode: Mode): boolean {
	return mode === "unchanged" || mode === "unchanged_range" || mode === "diff";
}

/** Whether the details are those of a marker or diff. */
export function isCacheAnswer(details: unknown): boolean {
	const meta = parseMetadata(details);
	return meta !== undefined && isDerived(meta.mode);
}

function parseMode(value: unknown): Mode | undefined {
	if (value === "baseline_fallback") return "full_fallback"; // the name that pi-readcache writes
	return MODES.find((mode) => mode === value);
}

function isCount(value: unknown): value is number {
	return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isLine(value: unknown): value is number {
	return isCount(value) && value > 0;
}

function isWithin(shown: unknown, first: number, last: number): boolean {
	if (!Array.isArray(shown) || shown.length !== 2) return false;
	const [start, end] = shown as unknown[];
	return isLine(start) && isLine(end) && first <= start && start <= end && end <= last;
}

export function unchangedMarker(totalLines: number): string {
	return `[readcache: unchanged, ${totalLines} lines]`;
}

export function unchangedRangeMarker({ start, end }: LineRange, totalLines: number): string {
	return `[readcache: unchanged in lines ${start}-${end} of ${totalLines}]`;
}

export function changedOutsideMarker({ start, end }: LineRange): string {
	return `[readcache: unchanged in lines ${start}-${end}; changes exist outside this range]`;
}

export function isMarker(text: string | undefined): boolean {
	return text?.startsWith("[readcache: unchanged") === true;
}

export function diffHeader(changedLines: number, totalLines: number): string {
	return `[readcache: ${changedLines} lines changed of ${totalLines}]`;
}

/** Written by a refresh. From here on, these lines count as unseen on this branch. */
export interface Invalidation {
	readonly v: 1;
	readonly kind: "invalidate";
	readonly pathKey: string;
	readonly scopeKey: string;
	readonly at: number;
}

export function parseInvalidation({ customType, data }: CustomItem) {
	if (customType !== INVALIDATION_ENTRY) return undefined;
	const pathKey = pathKeyOf(data);
	const scope = parseScopeKey(property(data, "scopeKey"));
	const isOne = property(data, "v") === 1 && property(data, "kind") === "invalidate";
	return isOne && pathKey !== undefined && scope ? { pathKey, scope } : undefined;
}
