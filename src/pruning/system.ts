import { property } from "../core/property.ts";
import {
	createPerFolder,
	type SessionView,
	type Spine,
	type System,
	type TurnEnd,
} from "../session/index.ts";
import { pruningCommands, type SavedByPruning, type Subcommand } from "./commands.ts";
import type { LivePruning } from "./live.ts";
import { contentOf, pruningStatus } from "./stub.ts";
import type { Touches } from "./survey.ts";

const SWEEP_INTERVAL_MS = 60 * 60 * 1000;

/**
 * Adds stubs as context edits at the end of a turn, in batches. If the cache is cold, stubs go into the
 * request itself, where they cost nothing, and are persisted at the end of the turn.
 */
export class PruningSystem implements System {
	readonly name = "pruning";
	readonly commands: ReadonlyMap<string, Subcommand>;
	readonly #perFolder: ReturnType<typeof createPerFolder<LivePruning>>;
	#sweptMs = Date.now();
	#skipsNext = false;

	constructor(
		spine: Spine,
		touches: Touches,
		savedBy: (session: SessionView) => Promise<SavedByPruning | undefined>,
	) {
		// Imported lazily, since most sessions are too short to be pruned.
		this.#perFolder = createPerFolder({
			open: async (session) => new (await import("./live.ts")).LivePruning(session, touches),
		});
		this.commands = pruningCommands(spine, (session) => this.#perFolder.get(session), savedBy);
	}

	status({ config }: SessionView) {
		return config.prune.enabled
			? { on: true, why: "old tool output becomes a stub when that pays; see /kota pruning" }
			: { on: false, why: "prune.enabled is false" };
	}

	async start(session: SessionView): Promise<void> {
		this.#sweptMs = Date.now();
		this.#skipsNext = false;
		await this.#perFolder.clear();
		const isEdited = session.sessionManager
			.getEntries()
			.some(({ type }) => type === "context_edit");
		if (isEdited) await (await import("./stubbed-texts.ts")).storeMissingTexts(session);
	}

	async stop(): Promise<void> {
		await this.#perFolder.clear();
	}

	/** What pruning takes out of the request after the next prompt, if the cache is cold. */
	async preview(session: SessionView): Promise<{ freedTokens: number; bound: number }> {
		if (!session.config.prune.enabled) return { freedTokens: 0, bound: 0 };
		const pruning = await this.#perFolder.get(session);
		await session.values.refresh();
		const now = pruning.prunable(session, true);
		const turn = (now.messages.at(-1)?.turn ?? 0) + 1;
		const prompt = { entryId: "", role: "user", turn, tokens: 0, toolTokens: 0 };
		const next = { ...now, messages: [...now.messages, prompt] };
		const { plan, bound } = pruning.pruner.preview(next);
		return { freedTokens: plan.freedTokens, bound };
	}

	/** The next request is not pruned, even if the cache is cold: the user wants all of it sent. */
	skipNext(): void {
		this.#skipsNext = true;
	}

	async onRequest(messages: readonly { readonly role: string }[], session: SessionView) {
		const skips = this.#skipsNext;
		this.#skipsNext = false;
		const { config, cache } = session;
		if (!config.prune.enabled || !messages.some(({ role }) => role === "toolResult")) {
			return messages;
		}
		const pruning = await this.#perFolder.get(session);
		if (cache.rules.bindsThinking) await pruning.restore(session);
		if (cache.coldness.cold && !skips) await pruning.pruneCold(session);
		return pruning.applyTo(messages, session);
	}

	onPayload(payload: unknown, { config, model }: SessionView): object | undefined {
		if (!config.prune.enabled || model?.api !== "anthropic-messages") return undefined;
		return this.#perFolder.ready?.withBreakpoint(payload);
	}

	async onAnswer(answer: { message: unknown; failed: boolean }, session: SessionView) {
		// Failed requests are not billed.
		if (answer.failed || !session.config.prune.enabled || !this.#perFolder.ready) return;
		(await this.#perFolder.get(session)).recordAnswer(answer.message, session);
	}

	async onTurnEnd({ toolResults, entries }: TurnEnd, session: SessionView) {
		const isIdle = !this.#perFolder.ready && toolResults.length === 0;
		if (!session.config.prune.enabled || isIdle) return [];
		const pruning = await this.#perFolder.get(session);
		const { toPersist, freedTokens } = await pruning.pruneWarm(session);
		const taken = new Set(entries.map((entry) => property(entry, "targetId")));
		this.#sweepNowAndThen(pruning);
		const { tokens } = pruning.stubTotals(session);
		session.ui.setStatus("pruning", pruningStatus(session.getContextUsage(), tokens));
		if (freedTokens > 0) session.cache.notePruned(freedTokens);
		const edits = [
			...toPersist.map(({ entryId, stub }) => ({ entryId, content: contentOf(stub) })),
			...pruning.restoredNow(session),
		];
		return edits
			.filter(({ entryId }) => !taken.has(entryId))
			.map(({ entryId, content }) => ({
				type: "context_edit" as const,
				targetId: entryId,
				replacement: { content },
			}));
	}

	#sweepNowAndThen({ blobs }: LivePruning): void {
		if (Date.now() - this.#sweptMs < SWEEP_INTERVAL_MS) return;
		this.#sweptMs = Date.now();
		void blobs.sweep(); // runs in the background; failures are returned, not thrown
	}
}
