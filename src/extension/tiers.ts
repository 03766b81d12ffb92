import type { ExtensionAPI, ExtensionContext, TurnEndEvent } from "@earendil-works/pi-coding-agent";
import { WORKSET_ENTRY } from "../core/entry-types.ts";
import { counted } from "../core/figures.ts";
import { property } from "../core/property.ts";
import type { ShownElsewhere } from "../readcache/index.ts";
import { type ColdWatch, createColdWatch } from "./cold-watch.ts";
import { createPerFolder } from "./per-folder.ts";
import type { Report } from "./report.ts";
import { watchSession } from "./session-watch.ts";
import { recordShown } from "./shown-edits.ts";
import type { ConfigFor, System } from "./system.ts";
import { type TiersView, tiersView } from "./tiers-report.ts";
import { registerWorksetCommands } from "./workset-commands.ts";
import { holdBackShown, inOneMessage, planNow, rulesNow, turnEndDrafts } from "./workset-plan.ts";
import { withMarkers, withWorkset } from "./workset-request.ts";
import {
	countRequest,
	type MapAnswer,
	type MapQuery,
	noteAnswered,
	noteEdit,
	type OpenWorkset,
	openWorkset,
	refreshFiles,
	refreshMap,
	type SessionHolder,
	wantsMap,
} from "./workset-session.ts";

/** What the working set needs of the composition root. */
export interface TiersSystemOptions {
	pi: ExtensionAPI;
	report: Report;
	configFor: ConfigFor;
	/** A map of the project's symbols; rejects when there is no index, and none may be made. */
	symbolMap(ctx: ExtensionContext, query: MapQuery): Promise<MapAnswer>;
}

/**
 * Puts the working set into pi. Between two requests pi lets an extension change the session at the end of a turn, and
 * when a prompt comes in: there files that changed are appended. What cannot be done there, or changed since, stands in
 * the request itself, at its end. Without a working set, requests are pi's own to the last byte.
 */
export function createTiersSystem({
	pi,
	report,
	configFor,
	symbolMap,
}: TiersSystemOptions): System &
	Required<ShownElsewhere> & {
		/** The working set of a session, if it has one. */
		view(session: SessionHolder): TiersView | undefined;
	} {
	const perFolder = createPerFolder({ open: (ctx) => openWorkset(configFor(ctx), ctx) });
	let saving: Promise<unknown> = Promise.resolve();
	/** Why the state could not be saved. Told with the next turn: a session may be gone when its saving ends. */
	let unsaved: string | undefined;
	let watch: ColdWatch = createColdWatch();
	let enabled = true;
	/** The run that starts has had its prompt. */
	let prompted = false;
	/** Between the start and the end of pi's loop, which takes in what is steered before its next request. */
	let isLooping = false;
	/** Whether this branch has or had a working set; `undefined` until somebody looks. */
	let used: boolean | undefined;
	/** The edits that the branch has on record are pending; looked up once the model in use binds. */
	let hasShown = false;

	pi.on("session_compact", async (_event, ctx) => {
		watch.noteCompaction();
		// Outside of the loop a prompt or another start of it comes before the next request.
		if (isLooping) await appendBeforeRequest(ctx);
	});
	pi.on("agent_start", async (_event, ctx) => {
		isLooping = true;
		// A retry, which no prompt precedes: files may have changed while it waited.
		if (!prompted) await appendBeforeRequest(ctx);
		prompted = false;
	});
	pi.on("agent_end", () => {
		isLooping = false;
	});
	pi.on("session_tree", () => {
		used = undefined;
		hasShown = false;
		const workset = perFolder.ready;
		if (!workset) return;
		// Both belong to the branch that was left.
		workset.pending.clear();
		workset.beside = [];
	});

	pi.on("before_agent_start", async (_event, ctx) => {
		prompted = true;
		const workset = await inUse(ctx);
		if (!workset) return;
		await refreshFiles(workset, ctx);
		const cold = isCold(workset, ctx);
		if (wantsMap(workset, ctx)) {
			if (cold || !workset.map) await refreshMap(workset, ctx, (query) => symbolMap(ctx, query));
		} else {
			workset.map = undefined;
			workset.noMap = undefined;
		}
		const messages = planNow(workset, ctx, cold);
		// Before the first prompt the system prompt is not in the session yet, and must stay its beginning.
		if (!hasSystemPrompt(ctx)) {
			const message = inOneMessage(messages);
			return message && { message };
		}
		for (const message of messages) pi.sendMessage(message, { triggerTurn: false });
	});

	pi.on("context_with_system", async (event, ctx) => {
		watch.noteSent(sentNow(ctx));
		const workset = await inUse(ctx);
		if (!workset) return;
		await refreshFiles(workset, ctx);
		countRequest(workset);
		const messages = withWorkset(workset, event.messages, ctx);
		if (messages && rulesNow(workset, ctx).bindsThinking) {
			const edits = Array.from(workset.pending, ([id, { content }]) => [id, content] as const);
			recordShown(pi, ctx, new Map(edits));
		}
		return messages && { messages };
	});

	pi.on("before_provider_request", (event, ctx) => {
		watch.noteUse(Date.now());
		const workset = perFolder.ready;
		if (!enabled || !workset || ctx.model?.api !== "anthropic-messages") return;
		return withMarkers(workset, event.payload);
	});

	pi.on("tool_result", (event) => {
		if (enabled && perFolder.ready) noteEdit(perFolder.ready, event);
	});

	pi.on("message_end", async ({ message }, ctx) => {
		if (message.role !== "assistant") return;
		// Requests that failed were not seen.
		if (message.stopReason === "error" || message.stopReason === "aborted") return;
		const workset = await inUse(ctx);
		if (workset) noteAnswered(workset, message, ctx);
	});

	registerWorksetCommands({
		pi,
		report,
		openFor: perFolder.get,
		isEnabled: () => enabled,
		onSelected: () => (used = true),
	});

	return {
		name: "tiers",
		view(session) {
			const workset = perFolder.ready;
			return workset && workset.files.length > 0 ? tiersView(workset, session) : undefined;
		},
		shownBy({ customType, texts }) {
			if (customType !== WORKSET_ENTRY) return [];
			// Before the code is loaded nobody can tell: then all files count as possibly shown.
			return perFolder.ready?.tiers.filesIn(texts);
		},
		shownBeside: () => perFolder.ready?.beside ?? [],
		status() {
			if (!enabled) return { on: false, why: "tiers.enabled is false" };
			const files = perFolder.ready?.files.length ?? 0;
			if (files > 0) return { on: true, why: counted(files, "working file") };
			const isUnread = used === true && !perFolder.ready;
			return {
				on: true,
				why: isUnread
					? "what was kept from before is read with the next prompt"
					: "no working files yet: /workset add <path>",
			};
		},
		async draftsAt(turnEnd, ctx) {
			const workset = await inUse(ctx);
			if (!workset) return [];
			if (unsaved !== undefined) ctx.ui.notify(`pi-strata: ${unsaved}`, "warning");
			unsaved = undefined;
			saving = workset.stateFile.save(workset.controller.toJSON()).then((why) => {
				unsaved ??= why;
			});
			const isLast = isLastOfRun(turnEnd);
			return await turnEndDrafts(workset, ctx, { isLast, isCold: () => isCold(workset, ctx) });
		},
		async start(session) {
			enabled = configFor(session.ctx).config.tiers.enabled;
			used = enabled && isUsed(session.ctx);
			unsaved = undefined;
			hasShown = false;
			watch = watchSession(session);
			await perFolder.clear();
		},
		async stop() {
			await saving;
			await perFolder.clear();
		},
	};

	/**
	 * In the middle of a run, where no turn ends and no prompt comes in before the next request. Only for models that get
	 * no tail. Pi takes in one steered message at a time: behind the user's, ours would wait, and then make pi ask again.
	 */
	async function appendBeforeRequest(ctx: ExtensionContext): Promise<void> {
		const workset = await inUse(ctx);
		if (!workset || !rulesNow(workset, ctx).bindsThinking) return;
		await refreshFiles(workset, ctx);
		if (ctx.hasPendingMessages()) return;
		const message = inOneMessage(planNow(workset, ctx, isCold(workset, ctx)));
		if (message) pi.sendMessage(message, { deliverAs: "steer" });
	}

	/** The working set, if this branch has or had one; otherwise nothing is loaded and nothing looked at. */
	async function inUse(ctx: ExtensionContext): Promise<OpenWorkset | undefined> {
		if (!enabled) return undefined;
		used ??= isUsed(ctx);
		if (!used) return undefined;
		const workset = await perFolder.get(ctx);
		if (!hasShown && rulesNow(workset, ctx).bindsThinking) {
			hasShown = true;
			holdBackShown(workset, ctx);
		}
		return workset;
	}

	function isUsed(ctx: ExtensionContext): boolean {
		const branch = ctx.sessionManager.getBranch();
		return (
			configFor(ctx).config.tiers.map ||
			branch.some((entry) => property(entry, "customType") === WORKSET_ENTRY)
		);
	}

	function isCold(workset: OpenWorkset, ctx: ExtensionContext): boolean {
		const since = watch.since(sentNow(ctx), rulesNow(workset, ctx), workset.ttl);
		return workset.economy.isCold(since).cold;
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

/** Whether a prompt comes in before the next request, as far as can be known at the end of a turn. */
function isLastOfRun({ toolResults, context, continue: goesOn }: TurnEndEvent): boolean {
	return toolResults.length === 0 && context.pendingMessages.length === 0 && !goesOn;
}

function hasSystemPrompt({ sessionManager }: ExtensionContext): boolean {
	return sessionManager
		.getBranch()
		.some((entry) => entry.type === "message" && (entry.message.role as string) === "system");
}
