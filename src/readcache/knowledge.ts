import type { Hash } from "../core/hash.ts";
import { type LineRange, type Metadata, shownRange } from "./metadata.ts";

/** Something in the active context that bears on what the model knows of one file. */
export type FileEvent =
	/** Text of the file was shown: as it is, or as a diff against the version known before. */
	| { kind: "view"; meta: Metadata; seen: Seen }
	/** The file was read in a way we do not follow (an image, an error, another program's answer). */
	| { kind: "untracked" }
	/** The user or the model wants these lines afresh. */
	| { kind: "refresh"; scope: LineRange | "full" }
	/** The model itself changed the file; `before` and `after` are what it was and became, if that was noted. */
	| { kind: "edit"; before: Hash | undefined; after: Hash | undefined }
	/** The request itself shows the file, outside of the session; `undefined` when it cannot be told as what. */
	| { kind: "beside"; version: Hash | undefined };

/** Whether the model has the view's text before it, or why not. */
export type Seen = { visible: true } | { visible: false; why: string };

/** Lines of one version of the file whose newest view is that version's. */
export interface Segment extends LineRange {
	version: Hash;
	/** How many lines that version has. */
	totalLines: number;
	/** How many diffs lie between a literal view of these lines and their text. */
	chain: number;
	/**
	 * Set when the model has changed the file after it saw these lines: what the file was then, or `unknown`. As long
	 * as it is that, the model can put view and change together; otherwise somebody else has been at it since.
	 */
	edited?: Hash | "unknown";
	/**
	 * Set when these lines are wanted afresh: they are no longer known, but a version that was seen before them must
	 * not pass for the newest whole one either.
	 */
	refreshed?: true;
}

/** What the model provably has in view of one file. */
export interface Knowledge {
	/** In line order, not overlapping; {@link within} leaves out those wanted afresh. */
	segments: Segment[];
	/** Why older knowledge was given up, if it was. */
	lost?: string;
}

/**
 * Goes through a file's events, oldest first; the newest view of each line wins. A view that the model does not have
 * before it any more ends all older knowledge: it was newer, and what it showed cannot be ruled out.
 */
export function knowledgeOf(events: Iterable<FileEvent>): Knowledge {
	let segments: Segment[] = [];
	let lost: string | undefined;
	const forget = (why: string) => {
		segments = [];
		lost = why;
	};

	for (const event of events) {
		switch (event.kind) {
			case "untracked":
				forget("untracked");
				break;
			case "refresh":
				if (event.scope === "full") forget("refreshed");
				else segments = afterRefresh(segments, event.scope);
				break;
			case "edit":
				segments = segments.map((segment) => afterEdit(segment, event));
				break;
			case "beside": {
				const same = segments.filter(({ version }) => version === event.version);
				if (same.length < segments.length) lost = "shown-otherwise";
				segments = same;
				break;
			}
			case "view": {
				const next = event.seen.visible ? afterView(segments, event.meta) : undefined;
				if (next) segments = next;
				else forget(event.seen.visible ? "base-lost" : event.seen.why);
			}
		}
	}
	return { segments, ...(lost !== undefined && { lost }) };
}

/** The one version of which every line is known, if there is one. */
export function wholeVersion(segments: Segment[]): Segment | undefined {
	const [first] = segments;
	if (!first || !covers(segments, { start: 1, end: first.totalLines })) return undefined;
	if (segments.some((segment) => segment.version !== first.version)) return undefined;
	const chain = Math.max(...segments.map((segment) => segment.chain));
	const marks = segments.flatMap((segment) => segment.edited ?? []);
	const edited = marks.find((mark) => mark === "unknown") ?? marks[0];
	return { ...first, start: 1, end: first.totalLines, chain, ...(edited && { edited }) };
}

/** Whether every line of the range is known, whichever version. */
export function covers(segments: Segment[], { start, end }: LineRange): boolean {
	let next = start;
	for (const segment of segments) {
		if (segment.refreshed) continue;
		if (segment.start > next) break;
		next = Math.max(next, segment.end + 1);
	}
	return next > end;
}

/** The known parts of the segments that lie in the range. */
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
	// The answer also said how long the file is: what was known beyond that is no longer there.
	const older = clipped(without(segments, shown), { start: 1, end: totalLines });
	return [...older, shown].sort((a, b) => a.start - b.start);
}

function afterRefresh(segments: Segment[], scope: LineRange): Segment[] {
	const refreshed = clipped(segments, scope).map((segment) => ({
		...segment,
		refreshed: true as const,
	}));
	return [...without(segments, scope), ...refreshed].sort((a, b) => a.start - b.start);
}

/** The model believes in all its edits: one that was no longer there when the next was made leaves the rest unknown. */
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
		// Most lie elsewhere; a file read in a thousand pieces must not copy them all a thousand times.
		if (segment.end < start || segment.start > end) return segment;
		return [
			...clipped([segment], { start: 1, end: start - 1 }),
			...clipped([segment], { start: end + 1, end: Number.MAX_SAFE_INTEGER }),
		];
	});
}
