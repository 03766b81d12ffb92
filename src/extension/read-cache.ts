import {
	DEFAULT_MAX_BYTES,
	DEFAULT_MAX_LINES,
	type ExtensionAPI,
	type ExtensionContext,
} from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import type { Config } from "../core/config.ts";
import { INVALIDATION_ENTRY } from "../core/entry-types.ts";
import type { Hash } from "../core/hash.ts";
import type { ObjectStore } from "../core/object-store.ts";
import {
	createReadCache,
	createReadCacheStore,
	formatStatus,
	invalidationFor,
	isEditingTool,
	noteOwnEdit,
	parseRefreshCall,
	parseRefreshCommand,
	type ReadCache,
	type RefreshRequest,
	returnedHash,
	type ShownElsewhere,
	statusOf,
} from "../readcache/index.ts";
import { createLedger } from "../session/index.ts";
import { guardObjects, type ValuesFor } from "./guarded-stores.ts";
import type { ReadAnswer, ReadLink } from "./read-tool.ts";
import type { Report } from "./report.ts";
import type { ConfigFor, System } from "./system.ts";

/** What the read cache needs of the composition root. */
export interface ReadCacheSystemOptions {
	pi: ExtensionAPI;
	report: Report;
	configFor: ConfigFor;
	/** What must not be stored. */
	valuesFor: ValuesFor;
	/** Who owns `read`, when it is somebody else. */
	otherReadOwner(): string | undefined;
	/** What the working set shows of files. */
	shownElsewhere: ShownElsewhere;
}

/** Puts the read cache into pi: its link of the `read` tool, its refresh tool, and two commands. */
export function createReadCacheSystem({
	pi,
	report,
	configFor,
	valuesFor,
	otherReadOwner,
	shownElsewhere,
}: ReadCacheSystemOptions): System & { read: ReadLink } {
	const ledger = createLedger({ returnedHash });
	/** What files were before the model's edits that are under way, by call. */
	const beforeEdits = new Map<string, Hash>();
	let open:
		| { cache: ReadCache; store: ObjectStore; settings: Config["readcache"]; cwd: string }
		| undefined;

	pi.on("context_with_system", (event, ctx) => {
		ledger.observe(ctx.sessionManager, event.messages);
		beforeEdits.clear(); // of calls that were never made
	});

	// While the model's answer streams in: by then all other extensions are through with the request.
	pi.on("message_start", (event, ctx) => {
		if (event.message.role !== "assistant" || openFor(ctx).settings.mode === "off") return;
		ledger.prepare(ctx.sessionManager);
	});

	pi.on("tool_call", async (event, ctx) => {
		const { settings } = openFor(ctx);
		if (settings.mode === "off" || !isEditingTool(event.toolName)) return;
		// Whatever throws here would stop the edit itself.
		const before = await noteOwnEdit(event.input, ctx.cwd, settings).catch(() => undefined);
		if (before) beforeEdits.set(event.toolCallId, before.servedHash);
	});

	pi.on("tool_result", async (event, ctx) => {
		const { settings } = openFor(ctx);
		const baseHash = beforeEdits.get(event.toolCallId);
		beforeEdits.delete(event.toolCallId);
		if (settings.mode === "off" || event.isError || !isEditingTool(event.toolName)) return;
		const note = await noteOwnEdit(event.input, ctx.cwd, settings);
		if (!note) return;
		const readcache = { ...note, ...(baseHash && { baseHash }) };
		return { details: { ...(event.details as object | undefined), readcache } };
	});

	pi.registerTool({
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
			const text = await refresh(() => parseRefreshCall(params), ctx);
			return { content: [{ type: "text", text }], details: undefined };
		},
	});

	pi.registerCommand("readcache-refresh", {
		description: "Read a file afresh next time: /readcache-refresh <path> [start-end]",
		handler: async (args, ctx) => {
			const text = await refresh(() => parseRefreshCommand(args), ctx).catch(
				(error: Error) => error.message,
			);
			report(ctx, text);
		},
	});

	pi.registerCommand("readcache-status", {
		description: "Show what the read cache knows, served and saved in this context",
		handler: async (_args, ctx) => {
			const { cache, store, settings } = openFor(ctx);
			await cache.settle();
			const source = ctx.sessionManager;
			const shown = { mode: settings.mode, store: await store.stats() };
			report(ctx, formatStatus(statusOf(cache, source, ledger.log(source), shown)));
		},
	});

	return {
		name: "read cache",
		read: ({ call, ctx, plain }) =>
			openFor(ctx).cache.read(call, ctx.sessionManager, plain) as Promise<ReadAnswer>,
		status() {
			const owner = otherReadOwner();
			if (owner) return { on: false, why: `stepped back: the read tool belongs to ${owner}` };
			const mode = open?.settings.mode ?? "on";
			if (mode === "off") return { on: false, why: "readcache.mode is off" };
			if (mode === "shadow")
				return { on: true, why: "shadow: counts only, pi's own answers are served" };
			return { on: true, why: "files in view are answered with a marker or a diff" };
		},
		start({ ctx }) {
			open = undefined;
			// In the background: nobody waits for old versions to be deleted. Failures come back as results.
			void openFor(ctx).store.sweep();
		},
		async stop() {
			await open?.cache.settle();
			open = undefined;
		},
	};

	/** The cache of the session; made on first use, since an SDK user may call a tool before any event. */
	function openFor(ctx: ExtensionContext) {
		if (open?.cwd !== ctx.cwd) {
			const settings = configFor(ctx).config.readcache;
			const store = guardObjects(createReadCacheStore(settings, ctx.cwd), valuesFor(ctx));
			const limits = { maxLines: DEFAULT_MAX_LINES, maxBytes: DEFAULT_MAX_BYTES };
			const cache = createReadCache({
				settings,
				cwd: ctx.cwd,
				ledger,
				store,
				limits,
				shownElsewhere,
			});
			open = { cache, store, settings, cwd: ctx.cwd };
		}
		return open;
	}

	async function refresh(parse: () => RefreshRequest, ctx: ExtensionContext): Promise<string> {
		const request = parse();
		const entry = await invalidationFor(request, ctx.cwd, openFor(ctx).settings, Date.now());
		pi.appendEntry(INVALIDATION_ENTRY, entry);
		const lines =
			entry.scopeKey === "full" ? "" : ` lines ${entry.scopeKey.slice(2).replace(":", "-")}`;
		return `The next read of ${request.path}${lines} returns the full text.`;
	}
}
