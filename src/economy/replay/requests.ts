import type { PromptTokens, Ttl } from "../../core/bill.ts";
import type { ModelRequest } from "../model-request.ts";
import type { CacheRules, ModelPrices } from "../rules.ts";
import { createCalibration, RequestAssembly, type SessionBlock } from "./assembly.ts";
import {
	type BilledRequest,
	billedRequests,
	promptSize,
	withoutUnpricedWrites,
	writeBillsOf,
} from "./billed.ts";
import { type Conversation, createConversationWalk } from "./conversation.ts";
import {
	type Entry,
	fullName,
	type ModelName,
	type SessionEntries,
	type SkippedLines,
} from "./entry.ts";

export interface ReplaySession {
	readonly file: string;
	readonly skipped: Skipped;
	/** Savings that the session's bill already includes. */
	readonly savedAlready: { readonly shortReads: number; readonly edits: number };
	/** In request order. */
	readonly bills: readonly Bill[];
	/** In the order of `bills`. Rebuilt on each call, so that only one step is in memory. */
	steps(): Iterable<Step>;
}

export interface Skipped extends SkippedLines {
	/** Requests beyond the work limit, at the end of a large session. */
	readonly requests: number;
}

export interface Bill {
	readonly index: number;
	readonly atMs: number;
	readonly model: ReplayModel;
	readonly billed: PromptTokens;
	/** How many leading blocks other sessions kept in the cache, as far as the bill shows it. */
	readonly warmBlocks: number;
	/** The pause was longer than the lifetime, and the bill shows that the cache was still there. */
	readonly keptAlive: boolean;
	/** The provider's own cause of a cache miss, such as `system_changed`. */
	readonly missReason?: string;
	/** Another session counts it. It fills the simulated cache, and counts in no sum. */
	readonly isCopy?: true;
}

export interface Step extends Bill {
	/** The blocks' tokens add up to the billed prompt. */
	readonly blocks: readonly SessionBlock[];
	readonly settings: NonNullable<ModelRequest["settings"]>;
	readonly ttl: Ttl;
	/** Differences from the previous request, apart from growth. */
	readonly changes: ReadonlySet<Change>;
}

export type Change = "compaction" | "edit" | "branch" | "model" | "thinking" | "tools" | "system";

export interface ReplayModel {
	readonly name: ModelName;
	readonly rules: CacheRules;
	readonly prices: ModelPrices | undefined;
	/** In tokens; `undefined` if unknown. */
	readonly contextWindow: number | undefined;
}

/** Maximum number of visited blocks and entries. Each compaction, edit or branch visits all of them. */
const MAX_WORK = 12_000_000;

export interface RebuildOptions {
	/** Ids of the requests that earlier sessions counted; gets those of this session. */
	readonly seen?: Set<string>;
	readonly maxWork?: number;
}

export function rebuildRequests(
	session: SessionEntries,
	modelFor: (name: ModelName) => ReplayModel,
	{ seen, maxWork = MAX_WORK }: RebuildOptions = {},
): ReplaySession {
	const calibration = createCalibration();
	const assembly = new RequestAssembly(calibration.sizeOf);
	const heads = new Map<number, Conversation["head"]>();
	const walk = createConversationWalk(session.entries, heads);
	const writes = writeBillsOf(session.entries);
	const plans: (Omit<BilledRequest, "model"> & Bill & { factor: number })[] = [];
	let work = 0;
	let left = 0;
	for (const request of billedRequests(session.entries, seen)) {
		if (work > maxWork) {
			left++;
			continue;
		}
		const conversation = walk(request.leaf);
		if (plans.length === 0) assembly.sharedTokens = sharedTokens(conversation, request.billed);
		const sources = assembly.sources(conversation);
		work += 1 + sources.length + conversation.visited;
		const known = modelFor(request.model);
		// The bill says nothing about a model that replaces the billed one.
		const isItsBill = fullName(known.name) === fullName(request.model);
		const rules = isItsBill ? writes.applyTo(known.rules, known.name) : known.rules;
		const model = rules === known.rules ? known : { ...known, rules };
		plans.push({
			...request,
			index: plans.length,
			model,
			warmBlocks: isWarm(request.billed, assembly.sharedTokens) ? 1 : 0,
			keptAlive: isKeptAlive(plans.at(-1), request, model.rules),
			billed: withoutUnpricedWrites(model.rules, request.billed),
			factor: calibration.learn(
				sources,
				promptSize(request.billed),
				conversation.continues !== undefined,
			),
		});
	}

	return {
		file: session.file,
		skipped: { ...session.skipped, requests: left },
		savedAlready: savedIn(session.entries),
		bills: plans,
		*steps() {
			const again = createConversationWalk(session.entries, heads);
			const blocksOf = assembly.walk();
			let before: State | undefined;
			for (const { leaf, factor, ...plan } of plans) {
				const conversation = again(leaf);
				const { head, thinking } = conversation;
				const settings = { model: fullName(plan.model.name), thinking };
				const state: State = { ...settings, tools: head?.tools.hash, system: head?.system.hash };
				const changes = new Set<Change>(conversation.changes);
				for (const key of STATE) if (before && before[key] !== state[key]) changes.add(key);
				yield { ...plan, settings, changes, blocks: blocksOf(conversation, factor) };
				before = state;
			}
		},
	};
}

/** Smaller starts are not worth telling apart. */
const LEAST_SHARED = 1024;

/** Tokens that the first request read from the cache, as far as an unseen head can hold them. */
function sharedTokens({ head, blocks }: Conversation, billed: PromptTokens): number {
	if (head) return 0;
	const sent = blocks.reduce((sum, { estimate }) => sum + estimate, 0);
	const shared = Math.min(billed.read, promptSize(billed) - sent);
	return shared >= LEAST_SHARED ? shared : 0;
}

function isWarm({ read }: PromptTokens, shared: number): boolean {
	return shared > 0 && read >= shared;
}

/** Providers promise a lifetime at least; a request that reads this share was not late. */
const KEPT_SHARE = 0.9;

function isKeptAlive(
	before: Pick<BilledRequest, "atMs" | "billed" | "ttl"> | undefined,
	{ atMs, billed }: Pick<BilledRequest, "atMs" | "billed">,
	{ ttlMs }: CacheRules,
): boolean {
	if (!before || atMs - before.atMs < ttlMs[before.ttl]) return false;
	const cached = before.billed.read + before.billed.write;
	return billed.read > 0 && billed.read >= KEPT_SHARE * cached;
}

/** The bills that count in sums. */
export function countedBills({ bills }: Pick<ReplaySession, "bills">): readonly Bill[] {
	return bills.filter(({ isCopy }) => !isCopy);
}

function savedIn(entries: readonly Entry[]): ReplaySession["savedAlready"] {
	const isShortRead = (entry: Entry) =>
		entry.type === "message" && entry.blocks.some(({ result }) => result?.isShort);
	return {
		shortReads: entries.filter(isShortRead).length,
		edits: entries.filter(({ type }) => type === "edit").length,
	};
}

const STATE = ["model", "thinking", "tools", "system"] as const;
type State = Record<(typeof STATE)[number], string | undefined>;
