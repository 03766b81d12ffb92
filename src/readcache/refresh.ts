import type { Invalidation } from "./invalidation.ts";
import { type LineRange, scopeKeyOf } from "./metadata.ts";
import { checkShorthand, parseShorthand, pathCandidates } from "./read-path.ts";
import { type Eligibility, firstExisting, readTextFile } from "./text-file.ts";

/** What somebody wants to have afresh: a file, or some lines of it. */
export interface RefreshRequest {
	path: string;
	range?: { start: number; end?: number | undefined };
}

const USAGE = "usage: /readcache-refresh <path> [start-end]";

/** Reads the words after the command: `a.ts`, `a.ts 10-20`, `a.ts 10`, `a.ts:10-20`, `"a b.ts" 10-20`. */
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

/** The lines that a call of the `readcache_refresh` tool names. */
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

/** The entry to leave in the session so that the next read of these lines is pi's own. Throws for what is not a file. */
export async function invalidationFor(
	request: RefreshRequest,
	cwd: string,
	eligibility: Eligibility,
	now: number,
): Promise<Invalidation> {
	const { path, range, found } = await locate(request, cwd);
	if (!found) throw new Error(`No such file: ${path}`);
	const file = await readTextFile(found, eligibility);
	if ("why" in file)
		throw new Error(`${path} is not cached (${file.why}): every read of it is fresh already`);
	return {
		v: 1,
		kind: "invalidate",
		pathKey: file.pathKey,
		scopeKey: range ? scopeKey(range, file.lines.count, path) : "full",
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

function scopeKey(
	asked: NonNullable<RefreshRequest["range"]>,
	totalLines: number,
	path: string,
): string {
	if (asked.start > totalLines)
		throw new Error(`${path} has only ${totalLines} lines, line ${asked.start} is beyond its end`);
	const range: LineRange = {
		start: asked.start,
		end: Math.min(asked.end ?? totalLines, totalLines),
	};
	return scopeKeyOf(range, totalLines);
}
