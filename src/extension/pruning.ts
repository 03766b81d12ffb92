import type {
	ContextUsage,
	ExtensionAPI,
	ExtensionContext,
	TurnEndEvent,
} from "@earendil-works/pi-coding-agent";
import { createLedger, type Ledger } from "../context/index.ts";
import { type BlobStore, createBlobStore } from "../core/blob-store.ts";
import type { Config } from "../core/config.ts";
import { property } from "../core/property.ts";
import type * as Economy from "../economy/index.ts";
import type * as Pruning from "../pruning/index.ts";
import { type ColdWatch, createColdWatch, type SentWith } from "./cold-watch.ts";
import type { KotaSubcommand } from "./kota-command.ts";
import { pruningCommands } from "./pruning-commands.ts";
import { pruningStatus } from "./pruning-report.ts";
import type { System } from "./system.ts";

/** What pruning needs of the composition root. */
export interface PruningSurroundings {
	pi: ExtensionAPI;
	/** The configuration in force for a session. */
	configFor(ctx: ExtensionContext): Config;
	/** Default: the clock of the machine. */
	now?: () => number;
}

/** What is known about the pruning of one session. The code behind it is loaded with the first tool result. */
export interface OpenPruning {
	readonly ledger: Ledger;
	readonly blobs: BlobStore;
	readonly pruning: typeof Pruning;
	readonly economy: typeof Economy;
	readonly pruner: Pruning.Pruner;
	readonly pending: Pruning.PendingStubs;
	readonly history: Pruning.PruningHistory;
	/** Why nothing could be pruned the last time, in words. */
	trouble: string | undefined;
	/** The call before whose result a cache marker stands. */
	frontier: string | undefined;
}

/** How often the blob folder is cleaned in a long session. */
const SWEEP_INTERVAL_MS = 60 * 60 * 1000;

/**
 * Puts pruning into pi. Old results become stubs by context edits at the end of a turn, in batches. While the
 * provider's cache is cold that costs nothing; but no turn ends just before such a request, so the stubs are put into
 * the request itself and persisted at the end of its turn. It must see requests before the read cache's ledger does.
 */
export function createPruningSystem(surroundings: PruningSurroundings): System & {
	/** Subcommands of `/kota`. */
	commands: ReadonlyMap<string, KotaSubcommand>;
} {
	const { pi, configFor, now = Date.now } = surroundings;
	let open: { cwd: string; opening: Promise<OpenPruning>; ready?: OpenPruning } | undefined;
	let watch: ColdWatch = createColdWatch();
	let startedBy: string | undefined;
	let ttl: Economy.Ttl = "5m";
	let sweptMs = now();
	let enabled = true;

	pi.on("session_start", (event) => {
		startedBy = event.reason;
	});
	pi.on("session_compact", () => watch.note("compacted"));
	pi.on("session_tree", () => {
		watch.note("branched");
		open?.ready?.pending.clear(); // they belong to the branch that was left
	});

	pi.on("context_with_system", async (event, ctx) => {
		if (!enabled || !event.messages.some(({ role }) => role === "toolResult")) return;
		const session = await opened(ctx);
		const next = sentWith(event.messages, ctx);
		const { economy, pending } = session;
		const rules = rulesOf(ctx, session);
		if (economy.isCold(watch.since(next, rules, ttl)).cold) await pruneCold(session, ctx);
		watch.noteSent(next);
		const messages = pending.applyTo(event.messages);
		return messages && { messages: messages as typeof event.messages };
	});

	pi.on("before_provider_request", (event, ctx) => {
		watch.noteUse(now());
		const session = open?.ready;
		if (!enabled || !session?.frontier || ctx.model?.api !== "anthropic-messages") return;
		return session.pruning.withFrontierMarker(event.payload, session.frontier);
	});

	pi.on("message_end", async (event, ctx) => {
		if (!enabled || event.message.role !== "assistant" || !open) return;
		noteAnswer(await opened(ctx), event.message, ctx);
	});

	pi.on("turn_end", async (event, ctx) => {
		if (!enabled || (!open && event.toolResults.length === 0)) return;
		const session = await opened(ctx);
		await pruneWarm(session, event, ctx);
		sweepNowAndThen(session);
		const { results } = await survey(session, ctx);
		const taken = new Set(event.entries.map((entry) => property(entry, "targetId")));
		const drafts = session.pending
			.toPersist(results)
			.filter(({ entryId }) => !taken.has(entryId))
			.map((pruned) => ({
				type: "context_edit" as const,
				targetId: pruned.entryId,
				replacement: { content: session.pruning.contentOf(pruned) },
			}));
		showStatus(session, ctx);
		// What others have drafted stays: pi takes the list of the last handler.
		return drafts.length > 0 ? { entries: [...event.entries, ...drafts] } : undefined;
	});

	return {
		name: "pruning",
		commands: pruningCommands({ pi, configFor, opened, survey, prunable, isEnabled: () => enabled }),
		status: () =>
			enabled
				? { on: true, why: "old tool output becomes a stub when that pays; see /kota pruning" }
				: { on: false, why: "prune.enabled is false" },
		start({ ctx }) {
			enabled = configFor(ctx).prune.enabled;
			open = undefined;
			ttl = "5m";
			sweptMs = now();
			watch = createColdWatch(lastAnswerMs(ctx));
			if (startedBy === "resume" || startedBy === "startup") watch.note("resumed");
			if (startedBy === "fork") watch.note("branched");
		},
		stop() {
			open = undefined;
		},
	};

	/** Made on first use: most sessions are too short to be pruned. */
	async function opened(ctx: ExtensionContext): Promise<OpenPruning> {
		if (open?.cwd === ctx.cwd) return await open.opening;
		const opening = openFor(ctx);
		const entry: typeof open = { cwd: ctx.cwd, opening };
		open = entry;
		entry.ready = await opening;
		return entry.ready;
	}

	async function openFor(ctx: ExtensionContext): Promise<OpenPruning> {
		const { prune, blobs } = configFor(ctx);
		const [pruning, economy] = await Promise.all([
			import("../pruning/index.ts"),
			import("../economy/index.ts"),
		]);
		return {
			ledger: createLedger(),
			blobs: createBlobStore(blobs),
			pruning,
			economy,
			pruner: pruning.createPruner(prune),
			pending: pruning.createPendingStubs(),
			history: pruning.createPruningHistory(),
			trouble: undefined,
			frontier: undefined,
		};
	}

	async function survey({ ledger }: OpenPruning, ctx: ExtensionContext) {
		const { surveyOf } = await import("./prunable-session.ts");
		return surveyOf(ctx.sessionManager, ledger, { settings: configFor(ctx), cwd: ctx.cwd });
	}

	/** What the pruner decides on. */
	async function prunable(
		session: OpenPruning,
		ctx: ExtensionContext,
		cold: boolean,
	): Promise<Pruning.PrunableSession> {
		const { messages, results, facts } = await survey(session, ctx);
		const usage: ContextUsage | undefined = ctx.getContextUsage();
		const estimated = messages.reduce((sum, { tokens }) => sum + tokens, 0);
		return {
			messages,
			results,
			facts,
			cold,
			rules: rulesOf(ctx, session),
			contextTokens: usage?.tokens ?? estimated,
			contextWindow: usage?.contextWindow || Number.MAX_SAFE_INTEGER,
			ttl,
		};
	}

	/** Everything is about to be sent anew: whatever may go, goes into this very request as a stub. */
	async function pruneCold(session: OpenPruning, ctx: ExtensionContext): Promise<void> {
		const state = await prunable(session, ctx, true);
		noteSettled(session, state.results);
		const { candidates, plan } = session.pruner.preview(state);
		// In a request results are known by their calls, and some providers use an id more than once.
		const calls = [...state.results.values()].map(({ toolCallId }) => toolCallId);
		const isUnique = (id: string) => calls.indexOf(id) === calls.lastIndexOf(id);
		const chosen = candidates.filter(({ item }) => isUnique(item.toolCallId));
		if (chosen.length > 0) await makeStubs(session, chosen, plan);
		const left = new Map(
			[...state.results].filter(([entryId]) => !session.pending.has(entryId)),
		);
		session.frontier = frontierIn(session, { ...state, results: left });
	}

	/** At the end of a turn: a batch if it pays. At the end of a run only if pi is about to compact. */
	async function pruneWarm(
		session: OpenPruning,
		event: TurnEndEvent,
		ctx: ExtensionContext,
	): Promise<void> {
		const state = await prunable(session, ctx, false);
		noteSettled(session, state.results);
		const { candidates, plan } = session.pruner.decide(state);
		// As it is before this batch: what the provider has cached ends here, and is read once more.
		session.frontier = frontierIn(session, state);
		const goesOn = event.toolResults.length > 0 || event.context.pendingMessages.length > 0;
		const fresh = candidates.filter(({ item }) => !session.pending.has(item.entryId));
		if (plan.prune && fresh.length > 0 && (goesOn || plan.why === "near-limit")) {
			await makeStubs(session, fresh, plan);
		}
	}

	async function makeStubs(
		session: OpenPruning,
		candidates: readonly Pruning.Candidate[],
		plan: Pruning.Plan,
	): Promise<void> {
		const { pruned, why } = await session.pruning.prune(candidates, session.blobs);
		session.trouble = why;
		session.pending.add(pruned, plan);
	}

	function frontierIn(session: OpenPruning, state: Pruning.PrunableSession): string | undefined {
		const { messages, results, facts } = state;
		return session.pruning.frontierOf(messages, results, facts)?.toolCallId;
	}

	/** A batch counts once the session shows it. */
	function noteSettled(
		{ pending, history }: OpenPruning,
		results: Pruning.PrunableSession["results"],
	): number {
		let rewriteCost = 0;
		for (const settled of pending.settle(results)) {
			history.noteAction({ ...settled, atMs: now() });
			rewriteCost += settled.rewriteCost;
		}
		return rewriteCost;
	}

	/** What the request cost, and what it would have cost with the full texts in it. */
	function noteAnswer(session: OpenPruning, message: unknown, ctx: ExtensionContext): void {
		const { pruner, history, economy } = session;
		const tokens = promptTokens(property(message, "usage"));
		if (tokens.write > 0) ttl = tokens.writeOneHour > 0 ? "1h" : "5m";
		const rules = rulesOf(ctx, session);
		const results = resultsOf(session, ctx);
		const rewriteCost = noteSettled(session, results);
		const saved = standingIn(results, session) * rules.readRatio;
		history.noteSaved(saved);
		const cost = economy.costOf(tokens, rules);
		pruner.noteRequest(cost, cost + saved - rewriteCost);
	}

	function sweepNowAndThen({ blobs }: OpenPruning): void {
		if (now() - sweptMs < SWEEP_INTERVAL_MS) return;
		sweptMs = now();
		void blobs.sweep(); // nobody waits for it, and failures come back as results
	}

	function showStatus(session: OpenPruning, ctx: ExtensionContext): void {
		const freed = standingIn(resultsOf(session, ctx), session);
		ctx.ui.setStatus("pruning", pruningStatus(ctx.getContextUsage(), freed));
	}

	function sentWith(messages: readonly unknown[], { model }: ExtensionContext): SentWith {
		const isSystem = (message: unknown) => property(message, "role") === "system";
		const systems = messages.filter(isSystem);
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

function rulesOf({ model }: ExtensionContext, { economy }: OpenPruning): Economy.CacheRules {
	return economy.rulesFor(model ?? { provider: "unknown", id: "unknown" });
}

function resultsOf({ ledger }: OpenPruning, ctx: ExtensionContext) {
	const { items } = ledger.log(ctx.sessionManager);
	const results = items.filter((item) => item.kind === "toolResult");
	return new Map(results.map((item) => [item.entryId, item]));
}

/** The tokens that stubs keep out of the context as it is now. */
export function standingIn(
	results: Pruning.PrunableSession["results"],
	{ pruning }: Pick<OpenPruning, "pruning">,
): number {
	let freed = 0;
	for (const { text, returned, tokens } of results.values()) {
		if (text === returned || !pruning.isStub(text)) continue;
		freed += Math.max(0, Math.ceil((returned?.length ?? 0) / 4) - tokens);
	}
	return freed;
}

/** When the session was last answered; `undefined` if it never was. */
function lastAnswerMs({ sessionManager }: ExtensionContext): number | undefined {
	const answer = sessionManager
		.getBranch()
		.findLast((entry) => entry.type === "message" && entry.message.role === "assistant");
	return answer && (Date.parse(answer.timestamp) || undefined);
}

function promptTokens(usage: unknown): Economy.PromptTokens {
	const count = (name: string) => {
		const value = property(usage, name);
		return typeof value === "number" && value > 0 ? value : 0;
	};
	return {
		input: count("input"),
		read: count("cacheRead"),
		write: count("cacheWrite"),
		writeOneHour: Math.min(count("cacheWrite"), count("cacheWrite1h")),
	};
}
