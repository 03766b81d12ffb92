import { relative, sep } from "node:path";
import type { SessionSource } from "../session/index.ts";
import type { FileEventLog } from "./file-event-log.ts";
import { covers, knowledgeOf, type Segment } from "./knowledge.ts";
import type { LineRange } from "./metadata.ts";
import { type Eligibility, readTextFile } from "./text-file.ts";

/** Lines of one file that were in view. */
export interface SeenFile {
	readonly pathKey: string;
	readonly segments: readonly Segment[];
}

/** The files that are in view now, those that were first read last in front. */
export function filesInView(events: FileEventLog, source: SessionSource): SeenFile[] {
	const files = events.paths(source).map((pathKey): SeenFile => {
		const { segments } = knowledgeOf(events.eventsOf(source, pathKey));
		return { pathKey, segments: segments.filter(({ refreshed }) => !refreshed) };
	});
	return files.filter(({ segments }) => segments.length > 0).toReversed();
}

/** A file whose lines were in view and are on disk as they were. */
export interface UnchangedFile {
	readonly pathKey: string;
	readonly ranges: readonly LineRange[];
	readonly totalLines: number;
}

/** Bounds of the note, and of the files that are read to write it. */
const MAX_FILES = 20;
const MAX_CHECKED = 40;
const MAX_FILE_BYTES = 2 * 1024 * 1024;
const MAX_CHARACTERS = 1000;
const MAX_RANGES = 3;

/** Those of the files that have not changed since they were in view, and are not in view now. */
export async function unchangedSince(
	seen: readonly SeenFile[],
	{ events, source, eligibility }: View,
): Promise<UnchangedFile[]> {
	const unchanged: UnchangedFile[] = [];
	const maxFileBytes = Math.min(eligibility.maxFileBytes, MAX_FILE_BYTES);
	for (const { pathKey, segments } of seen.slice(0, MAX_CHECKED)) {
		if (unchanged.length === MAX_FILES) break;
		const { segments: left } = knowledgeOf(events.eventsOf(source, pathKey));
		if (segments.every((segment) => covers(left, segment))) continue;
		const now = await readTextFile({ path: pathKey, pathKey }, { ...eligibility, maxFileBytes });
		if ("why" in now) continue;
		const isSame = ({ version, edited }: Segment) => version === now.hash && edited === undefined;
		if (!segments.every(isSame)) continue;
		unchanged.push({ pathKey, ranges: joined(segments), totalLines: now.lines.count });
	}
	return unchanged;
}

interface View {
	readonly events: FileEventLog;
	readonly source: SessionSource;
	readonly eligibility: Eligibility;
}

/** The note to the model; `undefined` if there is nothing to name. */
export function seenNote(files: readonly UnchangedFile[], cwd: string): string | undefined {
	const names = files.flatMap((file) => nameOf(file, cwd) ?? []);
	while (textOf(names).length > MAX_CHARACTERS) names.pop();
	return names.length > 0 ? textOf(names) : undefined;
}

function textOf(names: readonly string[]): string {
	return `[strata: before the compaction you saw these files, and they have not changed since: ${names.join(", ")}. Read again only what you still need.]`;
}

/** `undefined` for a path that could be mistaken for something else. */
function nameOf({ pathKey, ranges, totalLines }: UnchangedFile, cwd: string): string | undefined {
	const inside = relative(cwd, pathKey);
	const path = inside === ".." || inside.startsWith(`..${sep}`) ? pathKey : inside;
	if (/[\p{Cc}[\]]/u.test(path)) return undefined;
	const [first] = ranges;
	if (ranges.length === 1 && first?.start === 1 && first.end === totalLines) return path;
	const shown = ranges.slice(0, MAX_RANGES).map(({ start, end }) => `${start}-${end}`);
	return `${path} (lines ${shown.join(", ")} of ${totalLines})`;
}

/** Ranges that touch become one. */
function joined(segments: readonly Segment[]): LineRange[] {
	const ranges: LineRange[] = [];
	for (const { start, end } of segments) {
		const last = ranges.at(-1);
		if (last && last.end + 1 === start) ranges[ranges.length - 1] = { start: last.start, end };
		else ranges.push({ start, end });
	}
	return ranges;
}
