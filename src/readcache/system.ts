import { Type } from "typebox";
import type { Config } from "../core/config.ts";
import { INVALIDATION_ENTRY } from "../core/entry-types.ts";
import { guardObjects } from "../core/excluded-values.ts";
import type { Hash } from "../core/hash.ts";
import type { ObjectStore } from "../core/object-store.ts";
import type { SessionView, Spine, System } from "../session/index.ts";
import { isEditingTool } from "../session/read-path.ts";
import { returnedHash } from "./history.ts";
import { noteOwnEdit } from "./own-edit.ts";
import { createReadCache, type ReadCache } from "./read-cache.ts";
import {
	invalidationFor,
	parseRefreshCall,
	parseRefreshCommand,
	type RefreshRequest,
} from "./refresh.ts";
import { formatStatus, statusOf } from "./status.ts";
import { createReadCacheStore } from "./store.ts";

export function createReadCacheSystem({ host, at }: Spine): System {
	/** Hashes by call id, for edits in flight. */
	const beforeEdits = new Map<string, Hash>();
	let open:
		| { cache: ReadCache; store: ObjectStore; settings: Config["readcache"]; cwd: string }
		| undefined;

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
			const text = await refresh(() => parseRefreshCall(params), at(ctx));
			return { content: [{ type: "text", text }], details: undefined };
		},
	});

	host.registerCommand("readcache-refresh", {
		description: "Read a file afresh next time: /readcache-refresh <path> [start-end]",
		handler: async (args, ctx) => {
			const text = await refresh(() => parseRefreshCommand(args), at(ctx)).catch(
				(error: Error) => error.message,
			);
			host.report(ctx, text);
		},
	});

	host.registerCommand("readcache-status", {
		description: "Show what the read cache knows, served and saved in this context",
		handler: async (_args, ctx) => {
			const session = at(ctx);
			const { cache, store, settings } = openFor(session);
			const { ledger, sessionManager: source } = session;
			await cache.settle();
			const shown = { mode: settings.mode, store: await store.stats() };
			host.report(ctx, formatStatus(statusOf(cache, source, ledger.log(source), shown)));
		},
	});

	return {
		name: "read cache",
		returnedHash,
		read: (call, session, plain) =>
			openFor(session).cache.read(call, session.sessionManager, plain) as ReturnType<typeof plain>,
		async onRequest(messages) {
			beforeEdits.clear(); // of calls that were never made
			return messages;
		},
		async onToolCall({ toolName, toolCallId, input }, session) {
			const { settings } = openFor(session);
			if (settings.mode === "off" || !isEditingTool(toolName)) return;
			// An error here would stop the edit itself.
			const before = await noteOwnEdit(input, session.cwd, settings).catch(() => undefined);
			if (before) beforeEdits.set(toolCallId, before.servedHash);
		},
		async onToolResult({ toolName, toolCallId, input, isError, details }, session) {
			const { settings } = openFor(session);
			const baseHash = beforeEdits.get(toolCallId);
			beforeEdits.delete(toolCallId);
			if (settings.mode === "off" || isError || !isEditingTool(toolName)) return undefined;
			const note = await noteOwnEdit(input, session.cwd, settings);
			if (!note) return undefined;
			const readcache = { ...note, ...(baseHash && { baseHash }) };
			return { details: { ...(details as object | undefined), readcache } };
		},
		status(session) {
			const owner = host.otherReadOwner();
			if (owner) return { on: false, why: `stepped back: the read tool belongs to ${owner}` };
			const { mode } = session.config.readcache;
			if (mode === "off") return { on: false, why: "readcache.mode is off" };
			if (mode === "shadow")
				return { on: true, why: "shadow: counts only, pi's own answers are served" };
			return { on: true, why: "files in view are answered with a marker or a diff" };
		},
		start(session) {
			open = undefined;
			// Background: failures are returned, not thrown.
			void openFor(session).store.sweep();
		},
		async stop() {
			await open?.cache.settle();
			open = undefined;
		},
	};

	/** Lazy, since an SDK user may call a tool before any event. */
	function openFor({ cwd, config, values, ledger, shown }: SessionView) {
		if (open?.cwd !== cwd) {
			const settings = config.readcache;
			const store = guardObjects(createReadCacheStore(settings, cwd), values);
			const cache = createReadCache({
				settings,
				cwd,
				ledger,
				store,
				limits: host.readLimits,
				shownElsewhere: shown,
			});
			open = { cache, store, settings, cwd };
		}
		return open;
	}

	async function refresh(parse: () => RefreshRequest, session: SessionView): Promise<string> {
		const request = parse();
		const { settings } = openFor(session);
		const entry = await invalidationFor(request, session.cwd, settings, Date.now());
		host.appendEntry(INVALIDATION_ENTRY, entry);
		const lines =
			entry.scopeKey === "full" ? "" : ` lines ${entry.scopeKey.slice(2).replace(":", "-")}`;
		return `The next read of ${request.path}${lines} returns the full text.`;
	}
}
