import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { property } from "../core/property.ts";
import { type ColdWatch, createColdWatch, type SentWith } from "./cold-watch.ts";
import { createValuesFor, type ValuesFor } from "./guarded-stores.ts";
import type { KotaSubcommand } from "./kota-command.ts";
import { createPerFolder } from "./per-folder.ts";
import { pruningCommands } from "./pruning-commands.ts";
import { pruningStatus } from "./pruning-report.ts";
import {
	keepShown,
	keptOutNow,
	noteAnswer,
	type OpenPruning,
	openPruning,
	pruneCold,
	pruneWarm,
	rulesOf,
	shownNext,
} from "./pruning-session.ts";
import { watchSession } from "./session-watch.ts";
import { recordShown } from "./shown-edits.ts";
import type { ConfigFor, System } from "./system.ts";

/** What pruning needs of the composition root. */
export interface PruningSystemOptions {
	pi: ExtensionAPI;
	configFor: ConfigFor;
	/** What must be neither stored nor pruned. Default: what the project's excluded files hold. */
	valuesFor?: ValuesFor;
	/** Told when the next request has stubs that no request has had; of a request that is cold anyway, nobody is. */
	onPruned?(): void;
}

/** How often the blob folder is cleaned in a long session. */
const SWEEP_INTERVAL_MS = 60 * 60 * 1000;

/**
 * Puts pruning into pi. Old results become stubs by context edits at the end of a turn, in batches. While the
 * provider's cache is cold that costs nothing; but no turn ends just before such a request, so the stubs are put into
 * the request itself and persisted at the end of its turn. It must see requests before the read cache's ledger does.
 */
export function createPruningSystem({
	pi,
	configFor,
	valuesFor = createValuesFor(configFor),
	onPruned,
}: PruningSystemOptions): System & {
	/** Subcommands of `/kota`. */
	commands: ReadonlyMap<string, KotaSubcommand>;
} {
	const now = () => Date.now();
	/** Most sessions are too short to be pruned. */
	const perFolder = createPerFolder({
		open: (ctx) =>
			openPruning(configFor(ctx).config, { cwd: ctx.cwd, now, values: valuesFor(ctx) }),
	});
	let watch: ColdWatch = createColdWatch();
	let sweptMs = now();
	let enabled = true;
	/** The stubs that the branch has on record are pending; looked up for the first request to a model that binds. */
	let hasShown = false;

	pi.on("session_compact", () => watch.noteCompaction());
	pi.on("session_tree", () => {
		perFolder.ready?.pending.clear(); // they belong to the branch that was left
		hasShown = false;
	});

	pi.on("context_with_system", async (event, ctx) => {
		if (!enabled) return;
		const next = sentWith(event.messages, ctx);
		if (!event.messages.some(({ role }) => role === "toolResult")) return watch.noteSent(next);
		const open = await perFolder.get(ctx);
		const rules = rulesOf(open, ctx);
		const since = watch.since(next, rules, open.ttl);
		watch.noteSent(next);
		if (rules.bindsThinking && !hasShown) {
			hasShown = true;
			await keepShown(open, ctx);
		}
		if (open.economy.isCold(since).cold) await pruneCold(open, ctx);
		const messages = open.pending.applyTo(event.messages);
		if (messages && rules.bindsThinking) recordShown(pi, ctx, shownNext(open, ctx));
		return messages && { messages: messages as typeof event.messages };
	});

	pi.on("before_provider_request", (event, ctx) => {
		watch.noteUse(now());
		const open = perFolder.ready;
		if (!enabled || !open?.frontier || ctx.model?.api !== "anthropic-messages") return;
		return open.pruning.withMarkerBeforeResult(event.payload, open.frontier);
	});

	pi.on("message_end", async ({ message }, ctx) => {
		if (!enabled || !perFolder.ready || message.role !== "assistant") return;
		// Requests that failed are not billed.
		if (message.stopReason === "error" || message.stopReason === "aborted") return;
		noteAnswer(await perFolder.get(ctx), message, ctx);
	});

	return {
		name: "pruning",
		commands: pruningCommands({ pi, configFor, openFor: perFolder.get, isEnabled: () => enabled }),
		status: () =>
			enabled
				? { on: true, why: "old tool output becomes a stub when that pays; see /kota pruning" }
				: { on: false, why: "prune.enabled is false" },
		async draftsAt(turnEnd, ctx) {
			if (!enabled || (!perFolder.ready && turnEnd.toolResults.length === 0)) return [];
			const open = await perFolder.get(ctx);
			const { toPersist, isChange } = await pruneWarm(open, ctx);
			const taken = new Set(turnEnd.entries.map((entry) => property(entry, "targetId")));
			const drafts = toPersist
				.filter(({ entryId }) => !taken.has(entryId))
				.map((one) => ({
					type: "context_edit" as const,
					targetId: one.entryId,
					replacement: { content: open.pruning.contentOf(one) },
				}));
			sweepNowAndThen(open);
			const status = pruningStatus(ctx.getContextUsage(), keptOutNow(open, ctx).tokens);
			ctx.ui.setStatus("pruning", status);
			if (isChange) onPruned?.();
			return drafts;
		},
		async start(session) {
			enabled = configFor(session.ctx).config.prune.enabled;
			sweptMs = now();
			watch = watchSession(session);
			hasShown = false;
			await perFolder.clear();
		},
		stop: perFolder.clear,
	};

	function sweepNowAndThen({ blobs }: OpenPruning): void {
		if (now() - sweptMs < SWEEP_INTERVAL_MS) return;
		sweptMs = now();
		void blobs.sweep(); // nobody waits for it, and failures come back as results
	}

	function sentWith(messages: readonly unknown[], { model }: ExtensionContext): SentWith {
		const systems = messages.filter((message) => property(message, "role") === "system");
		// Where a model takes changes of the system prompt in mid-conversation, what stands before them stays cached.
		const takesChanges = property(model?.compat, "supportsMidConvoSystemMessages") === true;
		return {
			atMs: now(),
			model: `${model?.provider}/${model?.id}`,
			thinking: pi.getThinkingLevel(),
			head: JSON.stringify(takesChanges ? systems.slice(0, 1) : systems),
		};
	}
}
