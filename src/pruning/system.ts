import { property } from "../core/property.ts";
import { createPerFolder, type Spine, type System } from "../session/index.ts";
import { pruningCommands, type Subcommand } from "./commands.ts";
import type { LivePruning } from "./live.ts";
import { contentOf, pruningStatus } from "./stub.ts";
import type { Touches } from "./survey.ts";

const SWEEP_INTERVAL_MS = 60 * 60 * 1000;

/**
 * Stubs are context edits at the end of a turn, in batches. With a cold cache they go into the
 * request itself, where they cost nothing, and are persisted at the end of its turn.
 */
export function createPruningSystem(
	spine: Spine,
	touches: Touches,
): System & { commands: ReadonlyMap<string, Subcommand> } {
	/** Lazy import: most sessions are too short to be pruned. */
	const perFolder = createPerFolder<LivePruning>({
		open: async (session) => (await import("./live.ts")).openPruning(session, touches),
	});
	let sweptMs = Date.now();

	return {
		name: "pruning",
		commands: pruningCommands(spine, perFolder.get),
		status: ({ config }) =>
			config.prune.enabled
				? { on: true, why: "old tool output becomes a stub when that pays; see /kota pruning" }
				: { on: false, why: "prune.enabled is false" },
		async start() {
			sweptMs = Date.now();
			await perFolder.clear();
		},
		stop: perFolder.clear,
		async onRequest(messages, session) {
			const { config, cache } = session;
			if (!config.prune.enabled || !messages.some(({ role }) => role === "toolResult")) {
				return messages;
			}
			const pruning = await perFolder.get(session);
			if (cache.rules.bindsThinking) await pruning.restore(session);
			if (cache.coldness.cold) await pruning.pruneCold(session);
			return pruning.applyTo(messages, session);
		},
		onPayload(payload, { config, model }) {
			if (!config.prune.enabled || model?.api !== "anthropic-messages") return undefined;
			return perFolder.ready?.withMarker(payload);
		},
		async onAnswer({ message, failed }, session) {
			// Failed requests are not billed.
			if (failed || !session.config.prune.enabled || !perFolder.ready) return;
			(await perFolder.get(session)).noteAnswer(message, session);
		},
		async onTurnEnd({ toolResults, entries }, session) {
			const isIdle = !perFolder.ready && toolResults.length === 0;
			if (!session.config.prune.enabled || isIdle) return [];
			const pruning = await perFolder.get(session);
			const { toPersist, isChange } = await pruning.pruneWarm(session);
			const taken = new Set(entries.map((entry) => property(entry, "targetId")));
			sweepNowAndThen(pruning);
			const { tokens } = pruning.keptOut(session);
			session.ui.setStatus("pruning", pruningStatus(session.getContextUsage(), tokens));
			if (isChange) session.cache.notePruned();
			return toPersist
				.filter(({ entryId }) => !taken.has(entryId))
				.map(({ entryId, stub }) => ({
					type: "context_edit" as const,
					targetId: entryId,
					replacement: { content: contentOf(stub) },
				}));
		},
	};

	function sweepNowAndThen({ blobs }: LivePruning): void {
		if (Date.now() - sweptMs < SWEEP_INTERVAL_MS) return;
		sweptMs = Date.now();
		void blobs.sweep(); // background; failures are returned
	}
}
