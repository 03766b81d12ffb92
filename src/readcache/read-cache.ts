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
import { type Decision, type Dependencies, decide, type ReadToDecide } from "./decide.ts";
import { unifiedDiff } from "./diff/unified.ts";
import { FileEventLog, type ShownFiles } from "./file-event-log.ts";
import { knowledgeOf } from "./knowledge.ts";
import {
	changedOutsideMarker,
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

interface ReadCacheOptions {
	readonly settings: Config["readcache"];
	readonly cwd: string;
	readonly ledger: Ledger;
	readonly store: ObjectStore;
	readonly limits: WindowLimits;
	/** Default: no other system shows files. */
	readonly shown?: ShownFiles;
}

/** Answers reads from the lines that are provably in view. One per session. */
export class ReadCache {
	readonly events: FileEventLog;
	/** Counts since the session started. */
	readonly tally = {
		/** Pi's own answers, by reason. */
		plain: new Map<string, number>(),
		/** Answers that shadow mode did not send. `unsound` counts those that would have been wrong. */
		shadow: { served: new Map<Mode, number>(), savedBytes: 0, unsound: 0 },
	};
	readonly #options: ReadCacheOptions;
	readonly #versions: FileVersions;

	constructor(options: ReadCacheOptions) {
		const { ledger, cwd, shown, store, settings } = options;
		this.#options = options;
		this.events = new FileEventLog(ledger, cwd, shown);
		this.#versions = new FileVersions(store, settings.storeMaxBytes);
	}

	async read(call: ReadCall, source: SessionSource, plain: PlainRead): Promise<ReadAnswer> {
		const { settings, cwd, limits } = this.#options;
		// A script that makes a nested call would mistake a marker for the file's content.
		if (settings.mode === "off" || isNestedCall(call.toolCallId)) return plain(call);
		const target = await resolved(call, cwd);
		const examined = await this.#examine(target, source).catch(reasonOf);
		if ("why" in examined) {
			count(this.tally.plain, examined.why);
			const result = await plain(target.call);
			const { found } = target;
			if (!found || examined.why === "internal-error") return result;
			// A note helps only if there are views to drop or text to exclude. Otherwise the answer stays pi's.
			const isOfUse = examined.why === "excluded" || this.events.hasViews(source, found.pathKey);
			return isOfUse ? withUntrackedFile(result, found) : result;
		}
		const servePlain = async (decision: PlainDecision) => {
			count(this.tally.plain, decision.why);
			return this.#noteShown(examined, decision, await plain(target.call, examined.lines.bytes));
		};
		const decision = await decide(examined, this.#dependenciesFor(examined, target.call)).catch(
			(error): PlainDecision => ({ kind: "plain", mode: "full", ...reasonOf(error) }),
		);
		throwIfAborted(call.signal);
		if (decision.kind === "plain") return servePlain(decision);
		if (decision.base !== examined.hash) this.#versions.keep(examined.file);
		if (settings.mode === "on") return answer(examined, decision, limits);
		this.#noteShadow(examined, decision, source);
		return servePlain({ kind: "plain", mode: "full", why: "shadow" });
	}

	/** Waits for writes to the store that are in flight. */
	async flush(): Promise<void> {
		await this.#versions.flush();
	}

	async #examine(
		{ call, found }: Awaited<ReturnType<typeof resolved>>,
		source: SessionSource,
	): Promise<ExaminedRead | { why: string }> {
		if (!isLineNumber(call.offset) || !isLineNumber(call.limit)) return { why: "odd-range" };
		if (!found) return { why: "not-found" };
		const { settings, limits } = this.#options;
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
		const knowledge = knowledgeOf(this.events.eventsOf(source, file.pathKey));
		return { file, lines, hash, range, window, knowledge };
	}

	/** Adds metadata about the lines in pi's own answer. */
	#noteShown(examined: ExaminedRead, { mode, base }: PlainDecision, result: ReadAnswer) {
		const shown = shownLines(examined, result);
		if (!shown) {
			count(this.tally.plain, "unknown-output");
			return result;
		}
		this.#versions.keep(examined.file);
		const meta = metadata(examined, mode, { ...(base && { baseHash: base }), ...shown });
		return withDetails(result, meta);
	}

	#dependenciesFor({ file, window }: ExaminedRead, call: ReadCall): Dependencies {
		const { settings, limits } = this.#options;
		const maxBytes = Math.floor(Math.min(window.bytes, limits.maxBytes) * settings.maxDiffRatio);
		const isTooLarge = ({ bytes, count }: Lines) => {
			const lines = bytes.at(-1) === 10 ? count - 1 : count; // users do not count the empty line after the last newline
			return bytes.length > settings.maxDiffBytes || lines > settings.maxDiffLines;
		};
		return {
			load: (version) => this.#versions.load(version),
			maxChain: settings.maxDiffChain,
			diff: async (base) => {
				if ([base, file.lines].some(isTooLarge)) return { why: "too-large-to-diff" };
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

	#noteShadow(examined: ExaminedRead, decision: Served, source: SessionSource): void {
		const { shadow } = this.tally;
		const range = decision.kind === "unchanged_range" ? decision.range : examined.range;
		count<Mode>(shadow.served, decision.kind);
		const { text } = answerText(examined, decision, this.#options.limits);
		shadow.savedBytes += examined.window.bytes - Buffer.byteLength(text);
		const views = this.events.visibleViews(source, examined.file.pathKey);
		// A diff is sound if applying it to the visible text results in the file.
		const diff = { meta: metadata(examined, "diff", {}), text };
		const shown = decision.kind === "diff" ? [...views, diff] : views;
		if (!isInView(shown, examined.lines.bytes.toString("utf8"), range)) shadow.unsound += 1;
	}
}

type ExaminedRead = ReadToDecide & { file: TextFile };
type Served = Exclude<Decision, { kind: "plain" }>;
type PlainDecision = Extract<Decision, { kind: "plain" }>;

/** Returns the call with shorthand expanded, and its file. */
async function resolved(call: ReadCall, cwd: string) {
	const hasRange = call.offset !== undefined || call.limit !== undefined;
	const { shorthand, found } = await locate(call.path, cwd, hasRange);
	if (!shorthand || !found) return { call, found };
	checkShorthand(shorthand, call.path);
	const { path, start, end } = shorthand;
	return { call: { ...call, path, offset: start, limit: end - start + 1 }, found };
}

/** An untracked answer ends the knowledge of its file. The details record a link's target, since the link may change. */
function withUntrackedFile(result: ReadAnswer, { path, pathKey }: FoundFile): ReadAnswer {
	return path === pathKey ? result : withDetails(result, { v: 1, mode: "untracked", pathKey });
}

function withDetails(result: ReadAnswer, readcache: object): ReadAnswer {
	return { ...result, details: { ...(result.details as object | undefined), readcache } };
}

function answer(examined: ExaminedRead, decision: Served, limits: WindowLimits): ReadAnswer {
	const { text, textHash } = answerText(examined, decision, limits);
	const meta = metadata(examined, decision.kind, {
		baseHash: decision.base,
		plainBytes: examined.window.bytes,
		...(textHash && { textHash }),
	});
	return { content: [{ type: "text", text }], details: { readcache: meta } };
}

function answerText(
	{ lines, window }: ExaminedRead,
	decision: Served,
	limits: WindowLimits,
): { text: string; textHash?: Hash } {
	switch (decision.kind) {
		case "unchanged":
			return { text: unchangedMarker(lines.count) };
		case "unchanged_range": {
			const { range, changedOutside, cut } = decision;
			const marker = changedOutside
				? changedOutsideMarker(range)
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
	{ file, lines, hash, range }: ExaminedRead,
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

/** The lines of the file that pi's text contains; `undefined` for unexpected text. */
function shownLines(
	{ lines, range, window }: ExaminedRead,
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

/** Earlier versions of files, stored or in flight to the store. */
class FileVersions {
	readonly #store: ObjectStore;
	readonly #maxBytes: number;
	readonly #inFlight = new Map<Hash, { bytes: Buffer; write: Promise<unknown> }>();
	#storedSinceSweep = 0;

	constructor(store: ObjectStore, maxBytes: number) {
		this.#store = store;
		this.#maxBytes = maxBytes;
	}

	/** Writes in the background. If that fails, only a later diff is lost. */
	keep({ lines: { bytes }, hash }: TextFile): void {
		if (this.#inFlight.has(hash)) return;
		// Deferred, so that the answer is returned first.
		const write = setImmediate()
			.then(() => this.#store.put(bytes, hash))
			.then((put) => (put.kind === "stored" ? this.#sweepAfter(bytes.length) : undefined))
			.finally(() => this.#inFlight.delete(hash));
		this.#inFlight.set(hash, { bytes, write });
	}

	async load(hash: Hash): Promise<Lines | undefined> {
		const unwritten = this.#inFlight.get(hash);
		if (unwritten) return linesOf(unwritten.bytes);
		const stored = await this.#store.get(hash);
		return stored.kind === "found" ? linesOf(stored.bytes) : undefined;
	}

	async flush(): Promise<void> {
		await Promise.allSettled(Array.from(this.#inFlight.values(), ({ write }) => write));
	}

	/** Also enforces the cap during a session, since a session can last weeks. */
	async #sweepAfter(stored: number): Promise<void> {
		this.#storedSinceSweep += stored;
		if (this.#storedSinceSweep <= this.#maxBytes / 4) return;
		this.#storedSinceSweep = 0;
		await this.#store.sweep();
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

/** After our own failures, pi's own answer is served. Only an abort is rethrown. */
function reasonOf(error: unknown) {
	if (error instanceof Error && error.message === ABORTED) throw error;
	return { why: "internal-error" };
}
