import type { FileLine, ReadSession } from "./session.ts";

/** The reads of a session, and how much of them was still in view. */
export interface ReadCounts {
	/** Bytes of all results of tools. */
	readonly resultBytes: number;
	readonly reads: number;
	readonly readBytes: number;
	/** Reads of a file that was read before in the session, and their bytes. */
	readonly rereads: number;
	readonly rereadBytes: number;
	/** Bytes of lines that were in view: same file, same number, same text. */
	readonly inViewBytes: number;
	/** Reads all lines of which were in view, and their bytes: a marker can replace them. */
	readonly whollyInView: number;
	readonly whollyInViewBytes: number;
}

/**
 * A line is in view if the newest result since the last compaction that showed a line of that number in that file showed
 * the same text, is no stub, and is of an earlier answer. So lines that moved are new, and so are lines that a compaction kept.
 */
export function countReads({ events }: Pick<ReadSession, "events">): ReadCounts {
	const counts = {
		resultBytes: 0,
		reads: 0,
		readBytes: 0,
		rereads: 0,
		rereadBytes: 0,
		inViewBytes: 0,
		whollyInView: 0,
		whollyInViewBytes: 0,
	};
	const known = new Set<string>();
	let view = new Map<string, Map<number, { text: string; result: string }>>();
	const cleared = new Set<string>();
	let answer: string | undefined;
	/** Shows the results of the current answer to the ones after it. */
	let pending: (() => void)[] = [];

	for (const event of events) {
		if (event.kind === "compaction") {
			view = new Map();
			pending = [];
			continue;
		}
		if (event.kind === "cleared") {
			for (const result of event.results) cleared.add(result);
			continue;
		}
		counts.resultBytes += event.bytes;
		if (event.answer !== answer) {
			for (const show of pending) show();
			pending = [];
			answer = event.answer;
		}
		if (!event.read) continue;
		const { path, lines } = event.read;
		const isReread = known.has(path);
		known.add(path);
		const seen = lines.filter(({ number, text }) => {
			const shown = view.get(path)?.get(number);
			return shown?.text === text && !cleared.has(shown.result);
		});
		const isWhole = seen.length === lines.length;
		counts.reads++;
		counts.readBytes += event.bytes;
		counts.rereads += isReread ? 1 : 0;
		counts.rereadBytes += isReread ? event.bytes : 0;
		// The last line has no line break of its own.
		counts.inViewBytes += Math.min(event.bytes, bytesOf(seen));
		counts.whollyInView += isWhole ? 1 : 0;
		counts.whollyInViewBytes += isWhole ? event.bytes : 0;
		pending.push(() => {
			const shown = view.get(path) ?? new Map();
			for (const { number, text } of lines) shown.set(number, { text, result: event.id });
			view.set(path, shown);
		});
	}
	return counts;
}

function bytesOf(lines: readonly FileLine[]): number {
	return lines.reduce((sum, { bytes }) => sum + bytes, 0);
}
