import { randomUUID } from "node:crypto";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { LoadedConfig } from "../core/config.ts";
import { describeError } from "../core/errno.ts";
import { property } from "../core/property.ts";
import type { ShownElsewhere } from "../readcache/index.ts";
import type * as Tiers from "../tiers/index.ts";
import { type ColdWatch, createColdWatch } from "./cold-watch.ts";
import type { Report } from "./report.ts";
import { watchSession } from "./session-watch.ts";
import type { System } from "./system.ts";
import { type Session, type TiersView, tiersView } from "./tiers-report.ts";
import { registerWorksetCommands } from "./workset-commands.ts";
import { pendingEdits, planNow, rulesNow } from "./workset-plan.ts";
import { withMarkers, withWorkset } from "./workset-request.ts";
import {
	countRequest,
	type MapEntry,
	noteAnswered,
	noteEdit,
	type OpenWorkset,
	openWorkset,
	refreshFiles,
	symbolMapOf,
	wantsMap,
} from "./workset-session.ts";

/** What the working set needs of the composition root. */
export interface TiersSurroundings {
	pi: ExtensionAPI;
	report: Report;
	/** The configuration in force for a session, and where it comes from. */
	loadedFor(ctx: ExtensionContext): LoadedConfig;
	/** A map of the project's symbols; rejects when there is no index, and none may be made. */
	symbolMap(
		ctx: ExtensionContext,
		query: { budgetTokens: number; exclude: readonly string[] },
	): Promise<{ readonly blocks: readonly MapEntry[] }>;
}

/**
 * Puts the working set into pi. Between two requests pi lets an extension change the session at the end of a turn, and
 * when a prompt comes in: there files that changed are appended. What cannot be done there, or changed since, stands in
 * the request itself, at its end. Without a working set, requests are pi's own to the last byte.
 */
export function createTiersSystem(surroundings: TiersSurroundings): System &
	Required<ShownElsewhere> & {
		/** The working set of a session, if it has one. */
		view(session: Session): TiersView | undefined;
	} {
	const { pi, report, loadedFor, symbolMap } = surroundings;
	let open: { cwd: string; opening: Promise<OpenWorkset>; ready?: OpenWorkset } | undefined;
	let saving: Promise<unknown> = Promise.resolve();
	/** Why the state could not be saved. Told with the next turn: a session may be gone when its saving ends. */
	let unsaved: string | undefined;
	let watch: ColdWatch = createColdWatch();
	let enabled = true;
	/** Whether this branch has or had a working set; `undefined` until somebody looks. */
	let used: boolean | undefined;

	pi.on("session_compact", () => watch.note("compacted"));
	pi.on("session_tree", () => {
		watch.note("branched");
		used = undefined;
		if (!open?.ready) return;
		// Both belong to the branch that was left.
		open.ready.pending.clear();
		open.ready.beside = [];
	});

	pi.on("before_agent_start", async (_event, ctx) => {
		const session = await inUse(ctx);
		if (!session) return;
		await refreshFiles(session, ctx);
		const cold = isCold(session, ctx);
		if (wantsMap(session, ctx)) {
			if (cold || !session.map) await refreshMap(session, ctx);
		} else {
			session.map = undefined;
			session.noMap = undefined;
		}
		const messages = planNow(session, ctx, cold).map(worksetMessage);
		// Before the first prompt the system prompt is not in the session yet, and must stay its beginning.
		if (messages[0] && !hasSystemPrompt(ctx)) return { message: messages[0] };
		for (const message of messages) pi.sendMessage(message, { triggerTurn: false });
	});

	pi.on("context_with_system", async (event, ctx) => {
		watch.noteSent(sentNow(ctx));
		const session = await inUse(ctx);
		if (!session) return;
		await refreshFiles(session, ctx);
		countRequest(session);
		const messages = withWorkset(session, event.messages, ctx);
		return messages && { messages };
	});

	pi.on("before_provider_request", (event, ctx) => {
		watch.noteUse(Date.now());
		const session = open?.ready;
		if (!enabled || !session || ctx.model?.api !== "anthropic-messages") return;
		return withMarkers(session, event.payload);
	});

	pi.on("tool_result", (event) => {
		if (enabled && open?.ready) noteEdit(open.ready, event);
	});

	pi.on("message_end", async ({ message }, ctx) => {
		if (message.role !== "assistant") return;
		// Requests that failed were not seen.
		if (message.stopReason === "error" || message.stopReason === "aborted") return;
		const session = await inUse(ctx);
		if (session) noteAnswered(session, message, ctx);
	});

	registerWorksetCommands({
		pi,
		report,
		opened,
		isEnabled: () => enabled,
		onSelected: () => (used = true),
	});

	return {
		name: "tiers",
		view(session) {
			const workset = open?.ready;
			return workset && workset.files.length > 0 ? tiersView(workset, session) : undefined;
		},
		shownBy({ customType, texts }) {
			if (customType !== TYPE) return [];
			// Before the code is loaded nobody can tell: then all files count as possibly shown.
			return open?.ready?.tiers.filesIn(texts);
		},
		shownBeside: () => open?.ready?.beside ?? [],
		status() {
			if (!enabled) return { on: false, why: "tiers.enabled is false" };
			const files = open?.ready?.files.length ?? 0;
			if (files > 0) return { on: true, why: `${files} working files` };
			const isUnread = used === true && !open?.ready;
			return {
				on: true,
				why: isUnread
					? "what was kept from before is read with the next prompt"
					: "no working files yet: /workset add <path>",
			};
		},
		async draftsAt({ toolResults }, ctx) {
			const session = await inUse(ctx);
			if (!session) return [];
			if (unsaved !== undefined) ctx.ui.notify(`pi-strata: ${unsaved}`, "warning");
			unsaved = undefined;
			saving = session.stateFile.save(session.controller.toJSON()).then((why) => {
				unsaved ??= why;
			});
			// The end of a run: before the next request a prompt will come in, and until then files may change again.
			const isLast = toolResults.length === 0;
			if (!isLast) await refreshFiles(session, ctx);
			const append = isLast ? [] : planNow(session, ctx, isCold(session, ctx));
			return [
				...Array.from(pendingEdits(session, ctx), ([targetId, { content }]) => ({
					type: "context_edit" as const,
					targetId,
					replacement: content && { content },
				})),
				...append.map((content) => ({
					type: "custom_message" as const,
					...worksetMessage(content),
				})),
			];
		},
		start(session) {
			enabled = loadedFor(session.ctx).config.tiers.enabled;
			open = undefined;
			used = enabled && isUsed(session.ctx);
			unsaved = undefined;
			watch = watchSession(session);
		},
		async stop() {
			await saving;
			open = undefined;
		},
	};

	/** The working set, if this branch has or had one; otherwise nothing is loaded and nothing looked at. */
	async function inUse(ctx: ExtensionContext): Promise<OpenWorkset | undefined> {
		if (!enabled) return undefined;
		used ??= isUsed(ctx);
		return used ? await opened(ctx) : undefined;
	}

	async function opened(ctx: ExtensionContext): Promise<OpenWorkset> {
		if (open?.cwd === ctx.cwd) return await open.opening;
		const entry: typeof open = {
			cwd: ctx.cwd,
			opening: openWorkset(loadedFor(ctx), ctx),
		};
		open = entry;
		entry.ready = await entry.opening;
		return entry.ready;
	}

	function isUsed(ctx: ExtensionContext): boolean {
		const branch = ctx.sessionManager.getBranch();
		return (
			loadedFor(ctx).config.tiers.map ||
			branch.some((entry) => property(entry, "customType") === TYPE)
		);
	}

	async function refreshMap(session: OpenWorkset, ctx: ExtensionContext): Promise<void> {
		const exclude = session.files.map(({ path }) => path);
		const budgetTokens = session.settings.tiers.mapTokens;
		const before = session.map;
		const toldBefore = session.noMap;
		try {
			const { blocks } = await symbolMap(ctx, { budgetTokens, exclude });
			session.map = symbolMapOf(blocks);
			session.noMap = session.map ? undefined : "the code index has no symbols of other files";
		} catch (error) {
			// Without an index there is no map, and the session goes on without one.
			session.map = undefined;
			session.noMap = describeError(error);
		}
		if (session.noMap !== undefined && session.noMap !== toldBefore) {
			ctx.ui.notify(`pi-strata: no symbol map: ${session.noMap}`, "warning");
		}
		if (session.map && session.map.hash !== before?.hash) {
			const changedMs = before ? Date.now() : 0;
			session.standing.set(session.map.path, { changedMs, hits: 0 });
		}
		session.controller.seed({
			refs: (session.map?.entries ?? []).map(({ path, text, tokens, references }) => ({
				key: session.tiers.symbolKey(path),
				refs: references,
				tokens,
				hash: session.tiers.symbolHash(text),
			})),
			exclude: exclude.map(session.tiers.symbolKey),
		});
	}

	function isCold(session: OpenWorkset, ctx: ExtensionContext): boolean {
		const since = watch.since(sentNow(ctx), rulesNow(session, ctx), session.ttl);
		return session.economy.isCold(since).cold;
	}

	/** What counts as another request; changes of system prompt and tools are seen too late to be of use here. */
	function sentNow({ model }: ExtensionContext) {
		return {
			atMs: Date.now(),
			model: `${model?.provider}/${model?.id}`,
			thinking: pi.getThinkingLevel(),
			head: "",
		};
	}
}

/** As in `tiers/`, which is loaded only when there is a working set. */
const TYPE = "strata-workset";

function worksetMessage(content: Tiers.TextBlock[]) {
	return { customType: TYPE, content, display: false, details: { v: 1, id: randomUUID() } };
}

function hasSystemPrompt({ sessionManager }: ExtensionContext): boolean {
	return sessionManager
		.getBranch()
		.some((entry) => entry.type === "message" && (entry.message.role as string) === "system");
}
