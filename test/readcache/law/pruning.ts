/** Pruning as our own extension does it: by its policy, into the session or into a request first. */
import type { SessionManager } from "@earendil-works/pi-coding-agent";
import { createBlobStore } from "../../../src/core/blob-store.ts";
import type { Config } from "../../../src/core/config.ts";
import { rulesFor } from "../../../src/economy/rules.ts";
import { prune, withUniqueCallId } from "../../../src/pruning/live.ts";
import { Pruner } from "../../../src/pruning/pruner.ts";
import { contentOf } from "../../../src/pruning/stub.ts";
import { createSurveyor } from "../../../src/pruning/survey.ts";
import { fileTouchOf, touchesExcluded } from "../../../src/readcache/index.ts";
import { lastBoundAnswer } from "../../../src/session/cache-clock.ts";
import { Ledger } from "../../../src/session/index.ts";
import { PendingEdits } from "../../../src/session/pending-edits.ts";
import type { Slot } from "./oracle.ts";
import type { Random } from "./random.ts";

/** What prunes a session of the game. One for each life of pi. */
export interface GamePruning {
	/** The edits of all systems that requests show before the session has them. */
	readonly edits: PendingEdits;
	/** Makes stubs of what may go: the next request has them, and the end of its turn persists them. */
	begin(manager: SessionManager): Promise<number>;
	/** The request as our handler leaves it for those behind it. */
	apply(request: Slot[]): Slot[];
	/** The end of a turn. Returns what was persisted. */
	persist(manager: SessionManager): string[];
	/** The user went elsewhere in the tree. */
	forget(): void;
}

export interface GamePruningOptions {
	cwd: string;
	settings: Config;
	random: Random;
	/** The model's thinking is bound to what was sent before it. */
	binds: boolean;
	appendEntry(customType: string, data: unknown): void;
}

const OWNER = "pruning";

export function createGamePruning(options: GamePruningOptions): GamePruning {
	const { cwd, settings, random, binds } = options;
	const ledger = new Ledger();
	const pending = new PendingEdits(ledger, { appendEntry: options.appendEntry });
	const blobs = createBlobStore(settings.blobs);
	const touches = { fileTouchOf, touchesExcluded };
	const surveyor = createSurveyor({ settings, cwd, touches });
	const survey = (sessionManager: SessionManager) => surveyor({ ledger, sessionManager });

	return {
		edits: pending,
		async begin(manager) {
			const seen = survey(manager);
			const bound = lastBoundAnswer(manager, () => binds);
			// The sessions of the game are short: with the usual two turns hardly anything would be old.
			const prunes = { ...settings.prune, keepRecentTurns: random.pick([0, 0, 1]) };
			const { candidates } = new Pruner(prunes).preview({
				...seen,
				editableFrom: seen.messages.findLastIndex(({ entryId }) => entryId === bound) + 1,
				rules: rulesFor({ provider: "anthropic", id: "claude-opus-4-5" }),
				cold: true,
				contextTokens: 0,
				contextWindow: 200_000,
				ttl: "5m",
			});
			const chosen = withUniqueCallId(candidates, seen.results).filter(() => random.chance(0.7));
			const batch = await prune(chosen, blobs, seen.results.values());
			if (batch.why !== undefined) throw new Error(`originals could not be kept: ${batch.why}`);
			for (const pruned of batch.pruned) {
				const { entryId, toolCallId: sentAs, original } = pruned;
				pending.add({ owner: OWNER, entryId, sentAs, original, content: contentOf(pruned.stub) });
			}
			return batch.pruned.length;
		},
		apply(request) {
			const messages = request.map(({ message }) => message);
			const sent = pending.applyTo(messages, OWNER);
			if (sent === messages) return request;
			return request.map(({ entryId }, at) => ({ entryId, message: sent[at] as Slot["message"] }));
		},
		persist(manager) {
			pending.settle(OWNER, manager);
			const drafts = pending.unsettled(OWNER, manager);
			for (const { entryId, content } of drafts) {
				manager.appendContextEdit(entryId, { content: content ?? [] });
			}
			return drafts.map(({ entryId }) => entryId);
		},
		forget: () => pending.clear(),
	};
}
