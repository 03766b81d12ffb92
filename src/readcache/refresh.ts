import { checkShorthand, parseShorthand, pathCandidates } from "../session/read-path.ts";
import type { Invalidation } from "./metadata.ts";
import { type Eligibility, firstExisting, readTextFile } from "./text-file.ts";

export interface RefreshRequest {
	path: string;
	range?: { start: number; end?: number | undefined };
}

const USAGE = "usage: /readcache-refresh <path> [start-end]";

/** Parses `a.ts`, `a.ts 10-20`, `a.ts 10`, `a.ts:10-20`, `"a b.ts" 10-20`. */
export function parseRefreshCommand(args: string): RefreshRequest {
	const match = /^\s*(?:"([^"]+)"|'([^']+)'|(\S.*?))(?:\s+(\d+)(?:-(\d+))?)?\s*$/.exec(args);
	const path = match?.[1] ?? match?.[2] ?? match?.[3];
	if (!match || !path) throw new Error(USAGE);
	const [start, end = start] = [match[4], match[5]];
	if (start === undefined) return { path };
	const range = { path, start: Number(start), end: Number(end) };
	checkShorthand(range, args.trim());
	return { path, range: { start: range.start, end: range.end } };
}

export function parseRefreshCall(call: {
	path: string;
	offset?: number;
	limit?: number;
}): RefreshRequest {
	const { path, offset, limit } = call;
	for (const [name, value] of Object.entries({ offset, limit })) {
		if (value !== undefined && (!Number.isSafeInteger(value) || value < 1)) {
			throw new Error(`${name} must be a whole number ≥ 1, got ${value}`);
		}
	}
	if (offset === undefined && limit === undefined) return { path };
	const start = offset ?? 1;
	return { path, range: { start, end: limit === undefined ? undefined : start + limit - 1 } };
}

/**
 * Makes the next read of these lines pi's own, even if the file lacks them now: they may return.
 * Throws for a file that is never cached.
 */
export async function invalidationFor(
	request: RefreshRequest,
	cwd: string,
	eligibility: Eligibility,
	now: number,
): Promise<Invalidation> {
	const { path, range, found } = await locate(request, cwd);
	if (!found) throw new Error(`No such file: ${path}`);
	const file = await readTextFile(found, eligibility);
	if ("why" in file && NEVER_CACHED.has(file.why))
		throw new Error(`${path} is not cached (${file.why}): every read of it is fresh already`);
	const totalLines = "why" in file ? undefined : file.lines.count;
	return {
		v: 1,
		kind: "invalidate",
		pathKey: found.pathKey,
		scopeKey: range ? scopeKey(range, totalLines, path) : "full",
		at: now,
	};
}

async function locate(request: RefreshRequest, cwd: string) {
	const found = await firstExisting(pathCandidates(request.path, cwd));
	const shorthand = found || request.range ? undefined : parseShorthand(request.path);
	if (!shorthand) return { ...request, found };
	checkShorthand(shorthand, request.path);
	const { path, start, end } = shorthand;
	return { path, range: { start, end }, found: await firstExisting(pathCandidates(path, cwd)) };
}

/** Other reasons pass: a binary or large file may become the text again that the model saw. */
const NEVER_CACHED: ReadonlySet<string> = new Set(["excluded", "not-a-file"]);

function scopeKey(
	{ start, end }: NonNullable<RefreshRequest["range"]>,
	totalLines: number | undefined,
	path: string,
): string {
	if (totalLines === undefined) return end === undefined ? "full" : `r:${start}:${end}`;
	if (start > totalLines)
		throw new Error(`${path} has only ${totalLines} lines, line ${start} is beyond its end`);
	const isToEnd = end === undefined || end >= totalLines;
	return start === 1 && isToEnd ? "full" : `r:${start}:${end ?? totalLines}`;
}
