import { getOrAdd } from "../core/get-or-add.ts";
import type { Hash } from "../core/hash.ts";
import type { Lines } from "../core/lines.ts";
import { covers, type Knowledge, type Segment, wholeVersion, within } from "./knowledge.ts";
import type { LineRange, Mode } from "./metadata.ts";
import type { Window } from "./text-file.ts";

/** A read of a text file, with everything a decision depends on. */
export interface ReadToDecide {
	readonly lines: Lines;
	readonly hash: Hash;
	readonly range: LineRange;
	/** The lines of pi's own answer. */
	readonly window: Window & { kind: "lines" };
	readonly knowledge: Knowledge;
}

/** Every decision except `plain` refers to text that is provably in view. */
export type Decision =
	| { kind: "plain"; mode: Mode & ("full" | "full_fallback"); why: string; base?: Hash }
	| { kind: "unchanged"; base: Hash }
	/** `cut`: more requested lines follow `range`, as in pi's truncated answer. */
	| { kind: "unchanged_range"; base: Hash; range: LineRange; changedOutside: boolean; cut: boolean }
	| { kind: "diff"; base: Hash; text: string; changedLines: number };

export interface Dependencies {
	/** Verified bytes of an earlier version; `undefined` on a cache miss. */
	load(version: Hash): Promise<Lines | undefined>;
	/** The diff to the current file, or the reason not to send a diff. */
	diff(base: Lines): Promise<{ text: string; changedLines: number } | { why: string }>;
	/** Maximum number of consecutive diffs. After these, the file is sent in full again. */
	readonly maxChain: number;
}

/** Returns `plain` for anything unproven. */
export async function decide(read: ReadToDecide, dependencies: Dependencies): Promise<Decision> {
	const { lines, hash, range, window, knowledge } = read;
	const { segments } = knowledge;
	const isFull = range.start === 1 && range.end === lines.count;
	if (within(segments, range).length === 0) {
		return { kind: "plain", mode: "full", why: knowledge.lost ?? "not-seen-yet" };
	}

	const load = memoized(dependencies.load);
	if (covers(segments, range)) {
		const same = await compare(read, range, load);
		if (same.kind === "missing") return fallback("object-missing", same.version);
		// A full answer also shows where the file ends, so a longer version is not the same file.
		const endsDiffer = segments.some(({ totalLines }) => totalLines !== lines.count);
		if (same.kind === "same" && !(isFull && endsDiffer)) {
			if (isFull) return marker({ kind: "unchanged", base: same.base });
			return marker({ ...same, kind: "unchanged_range", range, cut: false });
		}
	}

	const diffed = isFull ? await tryDiff(read, { ...dependencies, load }) : undefined;
	if (diffed?.kind === "diff") return diffed;

	const visible = { start: range.start, end: window.end };
	if (window.cutBy && covers(segments, visible)) {
		const same = await compare(read, visible, load);
		if (same.kind === "same")
			return marker({ ...same, kind: "unchanged_range", range: visible, cut: true });
	}
	if (diffed) return diffed;
	return covers(segments, range)
		? fallback("range-changed", within(segments, range)[0]?.version as Hash)
		: { kind: "plain", mode: "full", why: "partly-seen" };

	function marker(decision: Decision & { kind: "unchanged" | "unchanged_range" }): Decision {
		const shown = decision.kind === "unchanged" ? range : decision.range;
		const overtaken = within(segments, shown).some((part) => isOvertaken(part, hash));
		return overtaken ? fallback("own-edit-overtaken", decision.base) : decision;
	}
}

/** Whether the file changed again after the model's own edit, which may have been undone. */
function isOvertaken({ edited }: Segment, hash: Hash): boolean {
	return edited !== undefined && edited !== hash;
}

function fallback(why: string, base: Hash): Decision {
	return { kind: "plain", mode: "full_fallback", why, base };
}

type Comparison =
	| { kind: "same"; base: Hash; changedOutside: boolean }
	| { kind: "different" }
	| { kind: "missing"; version: Hash };

function memoized(load: Dependencies["load"]): Dependencies["load"] {
	const loading = new Map<Hash, ReturnType<Dependencies["load"]>>();
	return (version) => getOrAdd(loading, version, () => load(version));
}

async function compare(
	{ lines, hash, knowledge }: ReadToDecide,
	range: LineRange,
	load: Dependencies["load"],
): Promise<Comparison> {
	const others = within(knowledge.segments, range).filter((part) => part.version !== hash);
	let changedOutside = false;
	for (const part of others) {
		const base = await load(part.version);
		if (!base) return { kind: "missing", version: part.version };
		if (!sameLines(base, lines, part)) return { kind: "different" };
		changedOutside ||= !sameOutside(base, lines, range);
	}
	return { kind: "same", base: others[0]?.version ?? hash, changedOutside };
}

function sameLines(base: Lines, current: Lines, { start, end }: LineRange): boolean {
	if (end > base.count || end > current.count) return false;
	return base.slice(start, end).equals(current.slice(start, end));
}

/** Ignores differences within the range, since a newer view showed those lines. */
function sameOutside(base: Lines, current: Lines, { start, end }: LineRange): boolean {
	if (end > base.count) return false;
	const before = (lines: Lines) =>
		lines.bytes.subarray(0, lines.size(1, start) - lines.size(start, start));
	const after = (lines: Lines) => lines.bytes.subarray(lines.size(1, end));
	return before(base).equals(before(current)) && after(base).equals(after(current));
}

async function tryDiff(
	{ hash, knowledge }: ReadToDecide,
	dependencies: Dependencies,
): Promise<Decision | undefined> {
	const whole = wholeVersion(knowledge.segments);
	if (!whole) return undefined;
	const { version, chain } = whole;
	if (isOvertaken(whole, hash)) return fallback("own-edit-overtaken", version);
	if (chain >= dependencies.maxChain) return fallback("chain-too-long", version);
	const base = await dependencies.load(version);
	if (!base) return fallback("object-missing", version);
	const diff = await dependencies.diff(base);
	return "why" in diff ? fallback(diff.why, version) : { kind: "diff", base: version, ...diff };
}
