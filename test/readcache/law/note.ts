/** The note after a compaction, and what must hold of it. */
import { readFileSync } from "node:fs";
import {
	type SeenFile,
	seenNote,
	type UnchangedFile,
	unchangedSince,
} from "../../../src/readcache/seen-files.ts";
import { type Deed, judge, type Slot } from "./oracle.ts";

export interface Compacted {
	/** What our extension took for in view. */
	readonly files: readonly SeenFile[];
	/** The last request before the compaction. */
	readonly request: readonly Slot[];
}

interface Now {
	readonly view: Parameters<typeof unchangedSince>[1];
	readonly cwd: string;
	readonly deeds: Map<string, Deed>;
}

/** Every line that the note means stood in the request before the compaction, and is in the file now. */
export async function checkNote({ files, request }: Compacted, { view, cwd, deeds }: Now) {
	const unchanged = await unchangedSince(files, view);
	for (const file of unchanged) checkFile(file, request, deeds);
	const text = seenNote(unchanged, cwd);
	if ((text?.length ?? 0) > 1000) throw new Error(`the note is too long: ${text}`);
	return { text, files: unchanged.length };
}

/** A marker in place of the lines would have kept the law. */
function checkFile(
	{ pathKey: file, ranges, totalLines }: UnchangedFile,
	request: readonly Slot[],
	deeds: Map<string, Deed>,
): void {
	const bytes = readFileSync(file);
	for (const { start, end } of ranges) {
		const text = `[readcache: unchanged in lines ${start}-${end} of ${totalLines}]`;
		const got = { content: [{ type: "text", text }] };
		const expected = { content: [{ type: "text", text: "the lines" }] };
		const lines = { offset: start, limit: end - start + 1 };
		const asked = { file, isLinked: false, bytes, at: 0, ...lines, expected, got };
		judge(asked, request, deeds);
	}
}
