import { setImmediate } from "node:timers/promises";
import { ABORTED, AbortedError } from "../core/aborted.ts";
import type { Config } from "../core/config.ts";
import { type Hash, hashBytes } from "../core/hash.ts";
import { type Lines, linesOf } from "../core/lines.ts";
import { isNestedCall } from "../core/nested-call.ts";
import type { ObjectStore } from "../core/object-store.ts";
import type { Ledger, PlainRead, ReadAnswer, ReadCall, SessionSource } from "../session/index.ts";
import { checkShorthand } from "../session/read-path.ts";
import { isInView } from "./audit.ts";
import { type Decision, decide, type Request } from "./decide.ts";
import { unifiedDiff } from "./diff/unified.ts";
import { createHistory, type ShownElsewhere } from "./history.ts";
import { knowledgeOf } from "./knowledge.ts";
import {
	changedElsewhereMarker,
	diffHeader,
	type Metadata,
	type Mode,
	scopeKeyOf,
	unchangedMarker,
	unchangedRangeMarker,
} from "./metadata.ts";
import {
	continuationLine,
	type FoundFile,
	locate,
	readTextFile,
	type TextFile,
	type WindowLimits,
	windowOf,
} from "./text-file.ts";

export interface ReadCacheOptions {
	settings: Config["readcache"];
	cwd: string;
	ledger: Ledger;
	store: ObjectStore;
	limits: WindowLimits;
	/** Default: no other system shows files. */
	shownElsewhere?: ShownElsewhere;
}

export type ReadCache = ReturnType<typeof createReadCache>;

/** Answers reads from what the model provably sees. One per session. */
export function createReadCache(options: ReadCacheOptions) {
	const { settings, cwd, ledger, store, limits, shownElsewhere } = options;
	const history = createHistory(ledger, cwd, shownElsewhere);
	/** Since the session started. */
	const tally = {
		/** By reason. */
		plain: new Map<string, number>(),
		/** Would-be answers in shadow mode; `unsound` ones would have been wrong. */
		shadow: { served: new Map<Mode, number>(), savedBytes: 0, unsound: 0 },
	};
	const versions = createVersions(store, settings.storeMaxBytes);

	return { read, history, tally, settle: versions.settle };

	async function read(
		call: ReadCall,
		source: SessionSource,
		plain: PlainRead,
	): Promise<ReadAnswer> {
		// Nested: a script would take a marker for the file's content.
		if (settings.mode === "off" || isNestedCall(call.toolCallId)) return plain(call);
		const target = await resolved(call, cwd);
		const asked = await examine(target, source).catch((error) => ({ why: reasonOf(error) }));
		if ("why" in asked) {
			count(tally.plain, asked.why);
			const result = await plain(target.call);
			const { found } = target;
			if (!found || asked.why === "internal-error") return result;
			// Only with views to drop or text to exclude: else the answer stays exactly pi's.
			const isOfUse = asked.why === "excluded" || history.hasViews(source, found.pathKey);
			return isOfUse ? untracked(result, found) : result;
		}
		const servePlain = async ({ mode, base, why }: PlainDecision): Promise<ReadAnswer> => {
			count(tally.plain, why);
			const result = await plain(target.call, asked.lines.bytes);
			const shown = shownLines(asked, result);
			if (!shown) {
				count(tally.plain, "unknown-output");
				return result;
			}
			versions.keep(asked.file);
			return noted(result, metadata(asked, mode, { ...(base && { baseHash: base }), ...shown }));
		};
		const decision = await decide(asked, dependenciesFor(asked, target.call)).catch(
			(error): PlainDecision => ({ kind: "plain", mode: "full", why: reasonOf(error) }),
		);
		throwIfAborted(call.signal);
		if (decision.kind === "plain") return servePlain(decision);
		if (decision.base !== asked.hash) versions.keep(asked.file);
		if (settings.mode === "on") return answer(asked, decision, limits);
		noteShadow(asked, decision, source);
		return servePlain({ kind: "plain", mode: "full", why: "shadow" });
	}

	async function examine(
		{ call, found }: Awaited<ReturnType<typeof resolved>>,
		source: SessionSource,
	): Promise<Asked | { why: string }> {
		if (!isLineNumber(call.offset) || !isLineNumber(call.limit)) return { why: "odd-range" };
		if (!found) return { why: "not-found" };
		const file = await readTextFile(found, settings);
		throwIfAborted(call.signal);
		if ("why" in file) return file;
		const { lines, hash } = file;
		const start = call.offset ?? 1;
		if (start > lines.count) return { why: "beyond-end" };
		const end =
			call.limit === undefined ? lines.count : Math.min(lines.count, start + call.limit - 1);
		const range = { start, end };
		const window = windowOf(lines, range, limits);
		if (window.kind === "nothing") return { why: "line-too-long" };
		const knowledge = knowledgeOf(history.eventsOf(source, file.pathKey));
		return { file, lines, hash, range, window, knowledge };
	}

	function dependenciesFor({ file, window }: Asked, call: ReadCall) {
		const maxBytes = Math.floor(Math.min(window.bytes, limits.maxBytes) * settings.maxDiffRatio);
		return {
			load: versions.load,
			maxChain: settings.maxDiffChain,
			diff: async (base: Lines) => {
				if ([base, file.lines].some(isTooLargeToDiff)) return { why: "too-large-to-diff" };
				const diff = await unifiedDiff({
					path: call.path,
					base: base.bytes.toString("utf8"),
					current: file.lines.bytes.toString("utf8"),
					maxBytes: maxBytes - diffHeader(file.lines.count, file.lines.count).length - 1,
					signal: call.signal,
				});
				if (diff.kind === "not_useful") return { why: `diff-${diff.reason.replaceAll("_", "-")}` };
				if (linesOf(Buffer.from(diff.text)).count >= limits.maxLines)
					return { why: "diff-too-large" };
				return { text: diff.text, changedLines: diff.changedLines };
			},
		};
	}

	function isTooLargeToDiff({ bytes, count }: Lines): boolean {
		const lines = bytes.at(-1) === 10 ? count - 1 : count; // people do not count the line after the last newline
		return bytes.length > settings.maxDiffBytes || lines > settings.maxDiffLines;
	}

	function noteShadow(asked: Asked, decision: Served, source: SessionSource): void {
		const range = decision.kind === "unchanged_range" ? decision.range : asked.range;
		count<Mode>(tally.shadow.served, decision.kind);
		const { text } = answerText(asked, decision, limits);
		tally.shadow.savedBytes += asked.window.bytes - Buffer.byteLength(text);
		const views = history.visibleViews(source, asked.file.pathKey);
		// A diff is sound if applying it to the visible text gives the file.
		const diff = { meta: metadata(asked, "diff", {}), text };
		const shown = decision.kind === "diff" ? [...views, diff] : views;
		if (!isInView(shown, asked.lines.bytes.toString("utf8"), range)) tally.shadow.unsound += 1;
	}
}

type Asked = Request & { file: TextFile };
type Served = Exclude<Decision, { kind: "plain" }>;
type PlainDecision = Extract<Decision, { kind: "plain" }>;

/** The call without shorthand. */
async function resolved(call: ReadCall, cwd: string) {
	const hasRange = call.offset !== undefined || call.limit !== undefined;
	const { shorthand, found } = await locate(call.path, cwd, hasRange);
	if (!shorthand || !found) return { call, found };
	checkShorthand(shorthand, call.path);
	const { path, start, end } = shorthand;
	return { call: { ...call, path, offset: start, limit: end - start + 1 }, found };
}

/** An untracked answer ends knowledge of the file. Behind a link it names the file: links move. */
function untracked(result: ReadAnswer, { path, pathKey }: FoundFile): ReadAnswer {
	if (path === pathKey) return result;
	const readcache = { v: 1, mode: "untracked", pathKey };
	return noted(result, readcache);
}

function noted(result: ReadAnswer, readcache: object): ReadAnswer {
	return { ...result, details: { ...(result.details as object | undefined), readcache } };
}

function answer(asked: Asked, decision: Served, limits: WindowLimits): ReadAnswer {
	const { text, textHash } = answerText(asked, decision, limits);
	const meta = metadata(asked, decision.kind, {
		baseHash: decision.base,
		plainBytes: asked.window.bytes,
		...(textHash && { textHash }),
	});
	return { content: [{ type: "text", text }], details: { readcache: meta } };
}

function answerText(
	{ lines, window }: Asked,
	decision: Served,
	limits: WindowLimits,
): { text: string; textHash?: Hash } {
	switch (decision.kind) {
		case "unchanged":
			return { text: unchangedMarker(lines.count) };
		case "unchanged_range": {
			const { range, elsewhere, cut } = decision;
			const marker = elsewhere
				? changedElsewhereMarker(range)
				: unchangedRangeMarker(range, lines.count);
			if (!cut || !window.cutBy) return { text: marker };
			return { text: `${marker}\n\n${continuationLine(range, lines.count, window.cutBy, limits)}` };
		}
		case "diff": {
			const text = `${diffHeader(decision.changedLines, lines.count)}\n${decision.text}`;
			return { text, textHash: hashBytes(text) };
		}
	}
}

function metadata(
	{ file, lines, hash, range }: Asked,
	mode: Mode,
	more: Partial<Metadata>,
): Metadata {
	return {
		v: 1,
		pathKey: file.pathKey,
		scopeKey: scopeKeyOf(range, lines.count),
		servedHash: hash,
		mode,
		totalLines: lines.count,
		rangeStart: range.start,
		rangeEnd: range.end,
		bytes: lines.bytes.length,
		...more,
	};
}

/** Compared with the file itself; `undefined` when the text is not what we expect of pi. */
function shownLines(
	{ lines, range, window }: Asked,
	{ content }: ReadAnswer,
): Pick<Metadata, "shown" | "textHash"> | undefined {
	const [block, ...more] = content;
	if (block?.type !== "text" || block.text === undefined || more.length > 0) return undefined;
	const shown = lines.slice(range.start, window.end).toString("utf8");
	const rest = block.text.startsWith(shown) ? block.text.slice(shown.length) : undefined;
	if (rest === undefined || (rest !== "" && !rest.startsWith("\n\n["))) return undefined;
	const isWholeFile = rest === "" && lines.bytes.length === lines.size(range.start, window.end);
	return {
		shown: [range.start, window.end],
		// The text of a whole file has the file's own hash.
		...(!isWholeFile && { textHash: hashBytes(block.text) }),
	};
}

/** Earlier versions, stored or pending. */
function createVersions(store: ObjectStore, maxBytes: number) {
	let storedSinceSweep = 0;
	const pending = new Map<Hash, { bytes: Buffer; write: Promise<unknown> }>();
	return {
		/** Background write. A failure only costs a later diff. */
		keep({ lines: { bytes }, hash }: TextFile): void {
			if (pending.has(hash)) return;
			// The answer goes out first.
			const write = setImmediate()
				.then(() => store.put(bytes, hash))
				.then((put) => (put.kind === "stored" ? sweepAfter(bytes.length) : undefined))
				.finally(() => pending.delete(hash));
			pending.set(hash, { bytes, write });
		},
		async load(hash: Hash): Promise<Lines | undefined> {
			const unwritten = pending.get(hash);
			if (unwritten) return linesOf(unwritten.bytes);
			const stored = await store.get(hash);
			return stored.kind === "found" ? linesOf(stored.bytes) : undefined;
		},
		/** Drains pending writes to the store. */
		async settle(): Promise<void> {
			await Promise.allSettled(Array.from(pending.values(), ({ write }) => write));
		},
	};

	/** Enforces the cap during the session too, which can last weeks. */
	async function sweepAfter(stored: number): Promise<void> {
		storedSinceSweep += stored;
		if (storedSinceSweep <= maxBytes / 4) return;
		storedSinceSweep = 0;
		await store.sweep();
	}
}

function isLineNumber(value: number | undefined): boolean {
	return value === undefined || (Number.isSafeInteger(value) && value >= 1);
}

function count<Key extends string>(counts: Map<Key, number>, key: Key): void {
	counts.set(key, (counts.get(key) ?? 0) + 1);
}

function throwIfAborted(signal: AbortSignal | undefined): void {
	if (signal?.aborted) throw new AbortedError();
}

/** Our failures fall back to pi's own answer. Only an abort is rethrown. */
function reasonOf(error: unknown): string {
	if (error instanceof Error && error.message === ABORTED) throw error;
	return "internal-error";
}
