import { isAbsolute, sep } from "node:path";
import type {
	AnswerOf,
	CallOptions,
	CodeIndex,
	Definition,
	OutlineSymbol,
	QueryOf,
	Usage,
} from "../../codeindex/index.ts";
import { AbortedError } from "../../core/aborted.ts";
import { describeError } from "../../core/errno.ts";
import { realOrGiven } from "../../core/places.ts";
import { isTestPath } from "../../core/project-path.ts";
import { findReferences, type Place } from "./language-server.ts";

export interface TypeCheckerOptions {
	/** Absolute path of TypeScript 7's `tsc`, from the user's own configuration. */
	readonly command: string;
	/** Default: `--lsp --stdio`. */
	readonly args?: readonly string[];
	/** Default: 3 s, then the index alone answers. */
	readonly timeoutMs?: number;
	/** Default: 10 minutes without a question after a failure. */
	readonly pauseMs?: number;
}

const ARGS = ["--lsp", "--stdio"];
const TIMEOUT_MS = 3000;
const PAUSE_MS = 10 * 60_000;
/** Questions about more definitions, such as all members `render`, are answered by the index alone. */
const MAX_MEMBERS = 5;
/** In more files, new usages are not grouped by the symbol around them. */
const MAX_GROUPED_FILES = 30;

/**
 * Adds to the usages of TypeScript members those that a type checker finds. An index follows only written types. Every usage
 * that the index is certain of stays: the checker sees only files that a tsconfig includes.
 */
export function withTypeChecker(index: CodeIndex, options: TypeCheckerOptions): CodeIndex {
	const { args = ARGS, timeoutMs = TIMEOUT_MS, pauseMs = PAUSE_MS } = options;
	let pausedUntil = 0;

	async function usages(
		query: QueryOf<"usages">,
		call: CallOptions = {},
	): Promise<AnswerOf<"usages">> {
		const answer = await index.usages(query, call);
		const members = answer.definitions.filter(isTypeScriptMember);
		if (members.length === 0 || members.length > MAX_MEMBERS) return answer;
		const refused = refusal(options.command, index.root);
		if (refused !== undefined) return { ...answer, checker: { problem: refused } };
		if (performance.now() < pausedUntil) return { ...answer, checker: { problem: PAUSED } };
		const inTime = AbortSignal.timeout(timeoutMs);
		const signal = call.signal ? AbortSignal.any([call.signal, inTime]) : inTime;
		try {
			const { command } = options;
			const found = await findReferences(members, { command, args, root: index.root, signal });
			const around = await enclosing(index, found.flat(), call);
			const byMember = new Map(members.map((member, at) => [member, found[at] ?? []]));
			const definitions = answer.definitions.map((one) => {
				const places = byMember.get(one);
				return places ? merged(one, places, around, query.includeTests ?? true) : one;
			});
			return { ...answer, definitions, checker: {} };
		} catch (error) {
			if (call.signal?.aborted) throw new AbortedError(call.signal.reason);
			pausedUntil = performance.now() + pauseMs;
			const problem = inTime.aborted
				? `it did not answer in ${timeoutMs / 1000} s`
				: describeError(error);
			return { ...answer, checker: { problem } };
		}
	}

	return new Proxy(index, {
		get(target, name) {
			if (name === "usages") return usages;
			const value: unknown = Reflect.get(target, name, target);
			return typeof value === "function" ? value.bind(target) : value;
		},
	});
}

const PAUSED = "it failed in the last ten minutes";

/** A program of the project could be anyone's. A name would be looked up in folders that may be the project's. */
function refusal(command: string, root: string): string | undefined {
	if (!isAbsolute(command)) return `kota.typeChecker is no absolute path: ${command}`;
	if (realOrGiven(command).startsWith(root + sep)) {
		return `kota.typeChecker is inside of the project, and programs of a project are not run: ${command}`;
	}
	return undefined;
}

function isTypeScriptMember({ path, owner, byName }: Definition): boolean {
	return owner !== undefined && !byName && /\.[cm]?[jt]sx?$/.test(path);
}

type Enclosing = (place: Place) => string | undefined;

function merged(
	definition: Definition,
	places: readonly Place[],
	around: Enclosing,
	includeTests: boolean,
): Definition {
	const keyOf = ({ path, line, column }: Place) => `${path}:${line}:${column}`;
	const known = new Set([keyOf(definition), ...definition.usages.map(keyOf)]);
	const added = places.flatMap((place): Usage[] => {
		const isTest = isTestPath(place.path);
		if (known.has(keyOf(place)) || (isTest && !includeTests)) return [];
		known.add(keyOf(place));
		const within = around(place);
		return [{ ...place, kind: "read", isTest, ...(within !== undefined && { within }) }];
	});
	const { possible, ...rest } = definition;
	const usages = [...definition.usages, ...added].sort(byPlace);
	const undecided = possible && withoutFiles(possible, new Set(places.map(({ path }) => path)));
	return { ...rest, usages, ...(undecided && { possible: undecided }) };
}

/** The checker has decided all accesses in a file in which it finds a reference. It may not know the others. */
function withoutFiles(
	{ count, files, counts = [] }: NonNullable<Definition["possible"]>,
	decided: ReadonlySet<string>,
): Definition["possible"] {
	const open = files.flatMap((path, at) => (decided.has(path) ? [] : [{ path, at }]));
	if (open.length === 0) return undefined;
	const gone = counts.filter((_, at) => decided.has(files[at] ?? ""));
	return {
		count: gone.reduce((rest, times) => rest - times, count),
		files: open.map(({ path }) => path),
		counts: open.map(({ at }) => counts[at] ?? 0),
	};
}

function byPlace(one: Usage, other: Usage): number {
	if (one.path !== other.path) return one.path < other.path ? -1 : 1;
	return one.line - other.line || one.column - other.column;
}

async function enclosing(
	index: CodeIndex,
	places: readonly Place[],
	call: CallOptions,
): Promise<Enclosing> {
	const paths = [...new Set(places.map(({ path }) => path))];
	const spans = new Map<string, readonly { name: string; line: number; endLine: number }[]>();
	for (const path of paths.length > MAX_GROUPED_FILES ? [] : paths) {
		// A file that only the checker knows has no outline.
		const outline = await index.outline({ file: path }, call).catch(() => undefined);
		spans.set(path, outline?.outlines.flatMap(({ symbols }) => [...spansOf(symbols, [])]) ?? []);
	}
	return ({ path, line }) => {
		return spans.get(path)?.findLast((one) => one.line <= line && line <= one.endLine)?.name;
	};
}

function* spansOf(
	symbols: readonly OutlineSymbol[],
	owners: readonly string[],
): Generator<{ name: string; line: number; endLine: number }> {
	for (const { name, line, endLine, members = [] } of symbols) {
		yield { name: [...owners, name].join("."), line, endLine };
		yield* spansOf(members, [...owners, name]);
	}
}
