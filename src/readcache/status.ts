import { estimateTokens } from "../core/tokens.ts";
import type { ContextLog, SessionSource } from "../session/index.ts";
import { grouped } from "../text/figures.ts";
import { knowledgeOf, type Segment, within } from "./knowledge.ts";
import { isDerived, MODES, type Mode, parseMetadata } from "./metadata.ts";
import type { ReadCache } from "./read-cache.ts";

export type Status = ReturnType<typeof statusOf>;

/** Derived from the active context, except for `cache.tally`, which counts live. */
export function statusOf(
	cache: ReadCache,
	source: SessionSource,
	log: ContextLog,
	surroundings: { mode: string; store: { objects: number; bytes: number } },
) {
	const served = Object.fromEntries(MODES.map((mode) => [mode, 0])) as Record<Mode, number>;
	let savedBytes = 0;
	for (const item of log.items) {
		if (item.kind !== "toolResult" || item.toolName !== "read") continue;
		const meta = parseMetadata(item.details);
		if (!meta) continue;
		served[meta.mode] += 1;
		if (isDerived(meta.mode) && meta.plainBytes !== undefined && item.returned !== undefined) {
			// Negative if a marker is longer than the text it replaces.
			savedBytes += meta.plainBytes - Buffer.byteLength(item.returned);
		}
	}
	const files = cache.events.paths(source).flatMap((path) => {
		const knowledge = knowledgeOf(cache.events.eventsOf(source, path));
		const segments = within(knowledge.segments, { start: 1, end: Number.MAX_SAFE_INTEGER });
		return segments.length > 0 ? [{ path, lines: describe(segments) }] : [];
	});
	const { shadow } = cache.tally;
	return {
		...surroundings,
		files,
		/** Number of answers in the active context, by mode. */
		served,
		/** Tokens that markers and diffs in the active context save, compared with pi's own answers. */
		savedTokens: estimateTokens(Math.max(0, savedBytes)),
		/** Why pi's own answers were served since the session started, with counts. */
		plain: [...cache.tally.plain].sort((a, b) => b[1] - a[1]),
		...(surroundings.mode === "shadow" && {
			shadow: {
				served: [...shadow.served],
				savedTokens: estimateTokens(Math.max(0, shadow.savedBytes)),
				unsound: shadow.unsound,
			},
		}),
	};
}

const MAX_FILES = 30;

export function formatStatus(status: Status): string {
	const { files, served, store, plain, shadow } = status;
	const lines = [
		`read cache: ${status.mode}, about ${grouped(status.savedTokens)} tokens saved in the current context`,
		`answers: ${Object.entries(served)
			.map(([mode, count]) => `${mode} ${count}`)
			.join(", ")}`,
		`store: ${store.objects} file versions, ${(store.bytes / 1024).toFixed(1)} KB`,
	];
	if (shadow) {
		const kinds = shadow.served.map(([mode, count]) => `${mode} ${count}`).join(", ") || "nothing";
		lines.push(
			`shadow: would have served ${kinds} and saved about ${shadow.savedTokens} tokens; answers that would have been wrong: ${shadow.unsound}`,
		);
	}
	if (plain.length > 0) {
		lines.push("pi's own answer was served because:");
		for (const [why, count] of plain)
			lines.push(`  ${String(count).padStart(5)}  ${EXPLANATIONS[why] ?? why}`);
	}
	lines.push(files.length > 0 ? "in view:" : "in view: no file");
	for (const file of files.slice(0, MAX_FILES)) lines.push(`  ${file.path}  ${file.lines}`);
	if (files.length > MAX_FILES) lines.push(`  … and ${files.length - MAX_FILES} more`);
	return lines.join("\n");
}

const EXPLANATIONS: Record<string, string> = {
	"not-seen-yet": "the file was not in view",
	"partly-seen": "only some of the lines were in view",
	edited: "the earlier text was pruned or edited out of the context",
	"not-sent": "the earlier text was not in the last request",
	altered: "another extension changed the earlier text in the request",
	rewritten: "another extension changed the earlier result",
	ambiguous: "several results share one call id",
	reordered: "another extension reordered the results",
	refreshed: "a refresh was requested",
	untracked: "the file was read in a way that is not tracked",
	"shown-otherwise": "the request itself showed another version of the file",
	"base-lost": "the text an earlier diff builds on is no longer in view",
	"range-changed": "the lines changed",
	"object-missing": "the earlier version is not in the store",
	"chain-too-long": "too many diffs in a row",
	"own-edit-overtaken": "the file changed again after the model's own edit",
	"diff-too-large": "a diff would not be smaller",
	"diff-verification-failed": "a diff did not reproduce the file",
	"too-large-to-diff": "the file exceeds the limits for diffs",
	excluded: "the file is on the exclude list",
	"not-found": "no such file",
	"not-a-file": "not a regular file",
	"not-text": "not UTF-8 text",
	"too-big": "the file exceeds readcache.maxFileBytes",
	unreadable: "the file could not be read",
	"line-too-long": "a single line exceeds pi's limit",
	"odd-range": "offset or limit is not a whole number ≥ 1",
	"beyond-end": "offset is beyond the end of the file",
	"unknown-output": "pi's answer had an unexpected form",
	"internal-error": "an internal error of the cache",
	shadow: "shadow mode",
};

function describe(segments: Segment[]): string {
	const total = segments[0]?.totalLines ?? 0;
	const ranges: { start: number; end: number }[] = [];
	for (const { start, end } of segments) {
		const last = ranges.at(-1);
		if (last && last.end + 1 === start) last.end = end;
		else ranges.push({ start, end });
	}
	const [only] = ranges;
	if (ranges.length === 1 && only?.start === 1 && only.end === total) return `all ${total} lines`;
	return `lines ${ranges.map(({ start, end }) => `${start}-${end}`).join(", ")} of ${total}`;
}
