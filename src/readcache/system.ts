import { Type } from "typebox";
import { pathItems } from "../core/complete-path.ts";
import type { Config } from "../core/config.ts";
import { INVALIDATION_ENTRY, SEEN_FILES_ENTRY } from "../core/entry-types.ts";
import type { Hash } from "../core/hash.ts";
import type { ObjectStore } from "../core/object-store.ts";
import { property } from "../core/property.ts";
import type { Host, PlainRead, ReadCall, SessionView, Spine, System } from "../session/index.ts";
import { checkShorthand, isEditingTool } from "../session/read-path.ts";
import { returnedHash } from "./file-event-log.ts";
import type { Invalidation, OwnEdit } from "./metadata.ts";
import { ReadCache } from "./read-cache.ts";
import { filesInView, type SeenFile, seenNote, unchangedSince } from "./seen-files.ts";
import { formatStatus, statusOf } from "./status.ts";
import { createReadCacheStore } from "./store.ts";
import {
	candidatesOf,
	type Eligibility,
	firstExisting,
	locate,
	readTextFile,
} from "./text-file.ts";

type ToolCall = Parameters<NonNullable<System["onToolCall"]>>[0];
type ToolResult = Parameters<NonNullable<System["onToolResult"]>>[0];

export class ReadCacheSystem implements System {
	readonly name = "read cache";
	readonly returnedHash = returnedHash;
	readonly #host: Host;
	/** Hashes of files before the edits in flight, by call id. */
	readonly #beforeEdits = new Map<string, Hash>();
	/** The files that were in view when the context was last compacted; `isGone` once it was. */
	#seen: { files: readonly SeenFile[]; isGone: boolean } | undefined;
	#open:
		| { cache: ReadCache; store: ObjectStore; settings: Config["readcache"]; cwd: string }
		| undefined;

	constructor({ host, at }: Spine) {
		this.#host = host;
		host.registerTool({
			name: "readcache_refresh",
			label: "readcache_refresh",
			description:
				"Make the next read of a file, or of some of its lines, return the full text even if it is unchanged since an earlier read.",
			parameters: Type.Object({
				path: Type.String({ description: "Path to the file (relative or absolute)" }),
				offset: Type.Optional(Type.Number({ description: "First line to refresh (1-indexed)" })),
				limit: Type.Optional(Type.Number({ description: "Number of lines to refresh" })),
			}),
			execute: async (_toolCallId, params, _signal, _onUpdate, ctx) => {
				const text = await this.#refresh(() => parseRefreshCall(params), at(ctx));
				return { content: [{ type: "text", text }], details: undefined };
			},
		});
		host.registerCommand("readcache-refresh", {
			description: "Read a file in full next time: /readcache-refresh <path> [start-end]",
			getArgumentCompletions: (prefix) => (/\s/.test(prefix) ? null : pathItems("", prefix)),
			handler: async (args, ctx) => {
				const refreshed = this.#refresh(() => parseRefreshCommand(args), at(ctx));
				host.report(ctx, await refreshed.catch((error: Error) => error.message));
			},
		});
		host.registerCommand("readcache-status", {
			description: "Show the files in view, the answers served and the tokens saved",
			handler: async (_args, ctx) => host.report(ctx, await this.#statusText(at(ctx))),
		});
	}

	read(call: ReadCall, session: SessionView, plain: PlainRead) {
		return this.#openFor(session).cache.read(call, session.sessionManager, plain);
	}

	async onRequest<Messages>(messages: Messages): Promise<Messages> {
		this.#beforeEdits.clear(); // drops the hashes of calls that did not run
		return messages;
	}

	onBeforeCompaction(session: SessionView): void {
		const { cache, settings } = this.#openFor(session);
		const isOn = settings.mode === "on" && settings.compactionNote;
		const files = isOn ? filesInView(cache.events, session.sessionManager) : [];
		this.#seen = { files, isGone: false };
	}

	onCompaction(): void {
		if (this.#seen) this.#seen.isGone = true;
	}

	onBranch(): void {
		this.#seen = undefined;
	}

	/** The first prompt after a compaction names the files that need not be read again to know them. */
	async onPrompt(_prompt: string | undefined, session: SessionView) {
		if (!this.#seen?.isGone) return undefined;
		const { files } = this.#seen;
		this.#seen = undefined;
		const { cache, settings: eligibility, cwd } = this.#openFor(session);
		const { sessionManager: source } = session;
		const unchanged = await unchangedSince(files, { events: cache.events, source, eligibility });
		const content = seenNote(unchanged, cwd);
		if (content === undefined) return undefined;
		return { customType: SEEN_FILES_ENTRY, content, display: true, details: undefined };
	}

	async onToolCall({ toolName, toolCallId, input }: ToolCall, session: SessionView) {
		const { settings } = this.#openFor(session);
		if (settings.mode === "off" || !isEditingTool(toolName)) return;
		// If this threw, pi would not run the edit.
		const before = await noteOwnEdit(input, session.cwd, settings).catch(() => undefined);
		if (before) this.#beforeEdits.set(toolCallId, before.servedHash);
	}

	async onToolResult(result: ToolResult, session: SessionView) {
		const { toolName, toolCallId, input, isError, details } = result;
		const { settings } = this.#openFor(session);
		const baseHash = this.#beforeEdits.get(toolCallId);
		this.#beforeEdits.delete(toolCallId);
		if (settings.mode === "off" || isError || !isEditingTool(toolName)) return undefined;
		const note = await noteOwnEdit(input, session.cwd, settings);
		if (!note) return undefined;
		const readcache = { ...note, ...(baseHash && { baseHash }) };
		return { details: { ...(details as object | undefined), readcache } };
	}

	status(session: SessionView) {
		const owner = this.#host.otherReadOwner();
		if (owner) return { on: false, why: `another extension owns the read tool: ${owner}` };
		const { mode } = session.config.readcache;
		if (mode === "off") return { on: false, why: "readcache.mode is off" };
		if (mode === "shadow")
			return { on: true, why: "shadow: counts only, pi's own answers are served" };
		return { on: true, why: "reads of files in view are answered with a marker or a diff" };
	}

	start(session: SessionView): void {
		this.#open = undefined;
		this.#seen = undefined;
		// Not awaited, since failures are returned, not thrown.
		void this.#openFor(session).store.sweep();
	}

	async stop(): Promise<void> {
		await this.#open?.cache.flush();
		this.#open = undefined;
	}

	/** Opens lazily, since an SDK user may call a tool before any event. */
	#openFor({ cwd, config, values, ledger, shown }: SessionView) {
		if (this.#open?.cwd !== cwd) {
			const settings = config.readcache;
			const store = createReadCacheStore(settings, cwd, values);
			const limits = this.#host.readLimits;
			const cache = new ReadCache({ settings, cwd, ledger, store, limits, shown });
			this.#open = { cache, store, settings, cwd };
		}
		return this.#open;
	}

	async #statusText(session: SessionView): Promise<string> {
		const { cache, store, settings } = this.#openFor(session);
		const { ledger, sessionManager: source } = session;
		await cache.flush();
		const shown = { mode: settings.mode, store: await store.stats() };
		return formatStatus(statusOf(cache, source, ledger.log(source), shown));
	}

	async #refresh(parse: () => RefreshTarget, session: SessionView): Promise<string> {
		const request = parse();
		const { settings } = this.#openFor(session);
		const entry = await invalidationFor(request, session.cwd, settings, Date.now());
		this.#host.appendEntry(INVALIDATION_ENTRY, entry);
		const lines =
			entry.scopeKey === "full" ? "" : ` lines ${entry.scopeKey.slice(2).replace(":", "-")}`;
		return `The next read of ${request.path}${lines} returns the full text.`;
	}
}

/** `undefined` for files that are not cacheable. */
export async function noteOwnEdit(
	input: unknown,
	cwd: string,
	eligibility: Eligibility,
): Promise<OwnEdit | undefined> {
	const path = property(input, "path");
	const found = await firstExisting(typeof path === "string" ? candidatesOf(path, cwd) : []);
	const file = found && (await readTextFile(found, eligibility));
	if (!file || "why" in file) return undefined;
	return { v: 1, mode: "own_edit", pathKey: file.pathKey, servedHash: file.hash };
}

export interface RefreshTarget {
	readonly path: string;
	readonly range?: { start: number; end?: number | undefined };
}

const USAGE = "usage: /readcache-refresh <path> [start-end]";

/** Parses `a.ts`, `a.ts 10-20`, `a.ts 10`, `a.ts:10-20`, `"a b.ts" 10-20`. */
export function parseRefreshCommand(args: string): RefreshTarget {
	const match = /^\s*(?:"([^"]+)"|'([^']+)'|(\S.*?))(?:\s+(\d+)(?:-(\d+))?)?\s*$/.exec(args);
	const path = match?.[1] ?? match?.[2] ?? match?.[3];
	if (!match || !path) throw new Error(USAGE);
	const [start, end = start] = [match[4], match[5]];
	if (start === undefined) return { path };
	const range = { path, start: Number(start), end: Number(end) };
	checkShorthand(range, args.trim());
	return { path, range: { start: range.start, end: range.end } };
}

export function parseRefreshCall(call: Omit<ReadCall, "toolCallId">): RefreshTarget {
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

/** The lines need not exist now, since they may return. Throws if the file is never cached. */
export async function invalidationFor(
	request: RefreshTarget,
	cwd: string,
	eligibility: Eligibility,
	now: number,
): Promise<Invalidation> {
	const { shorthand, found } = await locate(request.path, cwd, request.range !== undefined);
	if (shorthand) checkShorthand(shorthand, request.path);
	const { path, range } = shorthand ? { path: shorthand.path, range: shorthand } : request;
	if (!found) throw new Error(`No such file: ${path}`);
	const file = await readTextFile(found, eligibility);
	// Other reasons are allowed: a binary or large file may again become the text that the model saw.
	if ("why" in file && (file.why === "excluded" || file.why === "not-a-file"))
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

function scopeKey(
	{ start, end }: NonNullable<RefreshTarget["range"]>,
	totalLines: number | undefined,
	path: string,
): string {
	if (totalLines === undefined) return end === undefined ? "full" : `r:${start}:${end}`;
	if (start > totalLines)
		throw new Error(`${path} has only ${totalLines} lines, line ${start} is beyond its end`);
	const isToEnd = end === undefined || end >= totalLines;
	return start === 1 && isToEnd ? "full" : `r:${start}:${end ?? totalLines}`;
}
