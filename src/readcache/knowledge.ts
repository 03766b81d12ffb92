import type { Hash } from "../core/hash.ts";
import { type LineRange, type Metadata, shownRange } from "./metadata.ts";

/** An event that changes the knowledge of one file. */
export type FileEvent =
	/** The file was shown literally, or as a diff against the version known before. */
	| { kind: "view"; meta: Metadata; seen: Seen }
	/** The file was read in a way we do not track (an image, an error, another program's answer). */
	| { kind: "untracked" }
	/** The user or the model wants these lines in full again. */
	| { kind: "refresh"; scope: LineRange | "full" }
	/** The model changed the file. The hashes are set if noted. */
	| { kind: "edit"; before: Hash | undefined; after: Hash | undefined }
	/** The request shows the file, outside the session; `version` is `undefined` if unknown. */
	| { kind: "in-request"; version: Hash | undefined };

type Seen = { visible: true } | { visible: false; why: string };

/** Lines that the model last saw in this version. */
export interface Segment extends LineRange {
	readonly version: Hash;
	readonly totalLines: number;
	/** Number of diffs between the last literal view of these lines and their text. */
	readonly chain: number;
	/** The version after the model's own later edit. If the file now differs, it changed again. */
	edited?: Hash | "unknown";
	/** Set by a refresh. The lines count as unseen, but are newer than any version seen before. */
	refreshed?: true;
}

/** The lines of one file that are provably in view. */
export interface Knowledge {
	/** In line order, without overlaps. {@link within} leaves out refreshed segments. */
	readonly segments: Segment[];
	/** Why older knowledge was dropped. */
	readonly lost?: string;
}

/**
 * Takes the oldest event first; the newest view of each line wins. A view that is no longer visible drops
 * all older knowledge, since its text is unknown.
 */
export function knowledgeOf(events: Iterable<FileEvent>): Knowledge {
	let segments: Segment[] = [];
	let lost: string | undefined;
	const dropAll = (why: string) => {
		segments = [];
		lost = why;
	};

	for (const event of events) {
		switch (event.kind) {
			case "untracked":
				dropAll("untracked");
				break;
			case "refresh":
				if (event.scope === "full") dropAll("refreshed");
				else segments = afterRefresh(segments, event.scope);
				break;
			case "edit":
				segments = segments.map((segment) => afterEdit(segment, event));
				break;
			case "in-request": {
				const same = segments.filter(({ version }) => version === event.version);
				if (same.length < segments.length) lost = "shown-otherwise";
				segments = same;
				break;
			}
			case "view": {
				const next = event.seen.visible ? afterView(segments, event.meta) : undefined;
				if (next) segments = next;
				else dropAll(event.seen.visible ? "base-lost" : event.seen.why);
			}
		}
	}
	return { segments, ...(lost !== undefined && { lost }) };
}

export function wholeVersion(segments: Segment[]): Segment | undefined {
	const [first] = segments;
	if (!first || !covers(segments, { start: 1, end: first.totalLines })) return undefined;
	if (segments.some((segment) => segment.version !== first.version)) return undefined;
	const chain = Math.max(...segments.map((segment) => segment.chain));
	const marks = segments.flatMap((segment) => segment.edited ?? []);
	const edited = marks.find((mark) => mark === "unknown") ?? marks[0];
	return { ...first, start: 1, end: first.totalLines, chain, ...(edited && { edited }) };
}

/** Whether all lines of the range are known, in any version. */
export function covers(segments: Segment[], { start, end }: LineRange): boolean {
	let next = start;
	for (const segment of segments) {
		if (segment.refreshed) continue;
		if (segment.start > next) break;
		next = Math.max(next, segment.end + 1);
	}
	return next > end;
}

export function within(segments: Segment[], range: LineRange): Segment[] {
	return clipped(segments, range).filter((segment) => !segment.refreshed);
}

function afterView(segments: Segment[], meta: Metadata): Segment[] | undefined {
	const { servedHash: version, totalLines } = meta;
	if (meta.mode === "diff") {
		const base = wholeVersion(segments);
		if (!base || base.version !== meta.baseHash) return undefined;
		return [{ start: 1, end: totalLines, version, totalLines, chain: base.chain + 1 }];
	}
	const shown: Segment = { ...shownRange(meta), version, totalLines, chain: 0 };
	// The answer also showed the file's length, so lines beyond it are gone.
	const older = clipped(without(segments, shown), { start: 1, end: totalLines });
	return [...older, shown].sort((a, b) => a.start - b.start);
}

function afterRefresh(segments: Segment[], scope: LineRange): Segment[] {
	const refreshed = clipped(segments, scope).map((part): Segment => ({ ...part, refreshed: true }));
	return [...without(segments, scope), ...refreshed].sort((a, b) => a.start - b.start);
}

/** The model relies on all its edits. If an edit was undone before the next one, the text is unknown. */
function afterEdit(segment: Segment, { before, after }: FileEvent & { kind: "edit" }): Segment {
	const stood = segment.edited === undefined || segment.edited === before;
	return { ...segment, edited: stood && after ? after : "unknown" };
}

function clipped(segments: Segment[], { start, end }: LineRange): Segment[] {
	return segments
		.filter((segment) => segment.end >= start && segment.start <= end)
		.map((segment) =>
			segment.start >= start && segment.end <= end
				? segment
				: { ...segment, start: Math.max(segment.start, start), end: Math.min(segment.end, end) },
		);
}

function without(segments: Segment[], { start, end }: LineRange): Segment[] {
	return segments.flatMap((segment) => {
		// Avoids copies: a file read in a thousand pieces must not copy all of them each time.
		if (segment.end < start || segment.start > end) return segment;
		return [
			...clipped([segment], { start: 1, end: start - 1 }),
			...clipped([segment], { start: end + 1, end: Number.MAX_SAFE_INTEGER }),
		];
	});
}
