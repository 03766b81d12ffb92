import type { PromptTokens, Ttl } from "../../core/bill.ts";
import type { ModelRequest } from "../model-request.ts";
import type { CacheRules, ModelPrices } from "../rules.ts";
import { createCalibration, RequestAssembly, type SessionBlock } from "./assembly.ts";
import {
	type BilledRequest,
	billedRequests,
	firstPrompt,
	lastPrompt,
	promptSize,
	withoutUnpricedWrites,
	writeBillsOf,
} from "./billed.ts";
import {
	type Conversation,
	changedTool,
	createConversationWalk,
	sharesOfHead,
} from "./conversation.ts";
import {
	type Entry,
	fullName,
	type ModelName,
	type Rounds,
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
	/** For a policy within another: from now on, no result may refer to one that was sent before. */
	sealResults?(): void;
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
	/** If the provider called the model several times; `billed` is the sum. */
	readonly rounds?: Rounds;
	/** Tokens of earlier content that the provider left out of the prompt. */
	readonly cleared?: number;
	/** The provider's own cause of a cache miss, such as `system_changed`. */
	readonly missReason?: string;
	/** A service tier or speed that list prices are not for. */
	readonly tier?: string;
	/** Another session counts it. It fills the simulated cache, and counts in no sum. */
	readonly isCopy?: true;
}

export interface Step extends Bill {
	/** The blocks' tokens add up to the billed prompt. */
	readonly blocks: readonly SessionBlock[];
	readonly settings: NonNullable<ModelRequest["settings"]>;
	readonly ttl: Ttl;
	/** The pause was longer than the lifetime, and the bill shows that the cache was still there. */
	readonly keptAlive: boolean;
	/** How many blocks follow the last cache marker, if the file says so. */
	readonly behindMarker?: number;
	/** Differences from the previous request, apart from growth. */
	readonly changes: ReadonlySet<Change>;
	/** The first tool that changed, if the file names it. */
	readonly changedTool?: string;
	/** If the head changed: which share of its tools and of its system prompt did not, in tokens. */
	readonly sameHead?: ReturnType<typeof sharesOfHead>;
	/** Tokens of the billed prompt that an outer policy has taken out of `blocks`. */
	readonly savedTokens?: number;
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

interface RebuildOptions {
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
	const thinking = session.thinking ?? firstStatedLevel(session.entries);
	const walk = createConversationWalk(session.entries, heads, thinking);
	const writes = writeBillsOf(session.entries);
	const plans: (Omit<BilledRequest, "model"> & Bill & { factor: number })[] = [];
	let warmHead: WarmHead | undefined;
	let work = 0;
	let left = 0;
	for (const request of billedRequests(session.entries, seen)) {
		if (work > maxWork) {
			left++;
			continue;
		}
		const conversation = walk(request.leaf);
		const prompt = firstPrompt(request);
		if (plans.length === 0) assembly.sharedTokens = sharedTokens(conversation, prompt);
		const sources = assembly.sources(conversation);
		work += 1 + sources.length + conversation.visited;
		const known = modelFor(request.model);
		// The bill says nothing about a model that replaces the billed one.
		const isItsBill = fullName(known.name) === fullName(request.model);
		const rules = isItsBill ? writes.applyTo(known.rules, known.name) : known.rules;
		const model = rules === known.rules ? known : { ...known, rules };
		const factor = calibration.learn(
			sources,
			promptSize(prompt),
			conversation.continues !== undefined,
		);
		// Each step then makes all of its blocks again.
		if (factor !== plans.at(-1)?.factor) work += conversation.blocks.length;
		if (plans.length === 0) {
			const sizes = sources.map(({ id, kind }) => ({
				kind,
				tokens: factor * calibration.sizeOf(id),
			}));
			warmHead = { ...warmPart(sizes, prompt.read), head: conversation.head };
		}
		plans.push({
			...request,
			index: plans.length,
			model,
			warmBlocks: isWarm(prompt, assembly.sharedTokens)
				? 1
				: warmBlocksOf(warmHead, conversation.head, prompt),
			billed: withoutUnpricedWrites(model.rules, request.billed),
			factor,
		});
	}

	return {
		file: session.file,
		skipped: { ...session.skipped, requests: left },
		savedAlready: savedIn(session.entries),
		bills: plans,
		*steps() {
			const again = createConversationWalk(session.entries, heads, thinking);
			const blocksOf = assembly.walk();
			let before: State | undefined;
			let headBefore: Conversation["head"];
			for (const [at, { leaf, factor, ...plan }] of plans.entries()) {
				const conversation = again(leaf);
				const { head } = conversation;
				const settings = { model: fullName(plan.model.name), thinking: conversation.thinking };
				const state: State = { ...settings, tools: head?.tools.hash, system: head?.system.hash };
				const changes = new Set<Change>(conversation.changes);
				for (const key of STATE) if (before && before[key] !== state[key]) changes.add(key);
				const isOtherHead = changes.has("tools") || changes.has("system");
				const tool = changes.has("tools") ? changedTool(headBefore, head) : undefined;
				const blocks = blocksOf(conversation, factor);
				const keptAlive = isKeptAlive(plans[at - 1], plan, blocks);
				yield {
					...{ ...plan, settings, changes, blocks, keptAlive },
					...(tool !== undefined && { changedTool: tool }),
					...(isOtherHead && { sameHead: sharesOfHead(headBefore, head) }),
				};
				before = state;
				headBefore = head;
			}
		},
	};
}

function firstStatedLevel(entries: readonly Entry[]): string | undefined {
	for (const entry of entries) if (entry.type === "thinking") return entry.level;
	return undefined;
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

/** The start of a known head that the first request already read: other sessions cached it. */
interface WarmHead {
	readonly head: Conversation["head"];
	readonly blocks: number;
	readonly tokens: number;
}

/** Sizes of tools and system prompt are estimates of the prompt's parts: this share must have been read. */
const READ_SHARE = 0.9;

function warmPart(
	sizes: readonly { readonly kind: string; readonly tokens: number }[],
	read: number,
): Omit<WarmHead, "head"> {
	let [blocks, total] = [0, 0];
	for (const { kind, tokens } of sizes) {
		const isHead = kind === "tools" || kind === "system";
		if (!isHead || (total + tokens) * READ_SHARE > read) break;
		total += tokens;
		blocks++;
	}
	return { blocks, tokens: total };
}

function warmBlocksOf(
	warm: WarmHead | undefined,
	head: Conversation["head"],
	{ read }: PromptTokens,
): number {
	if (!warm?.head || !head || warm.blocks === 0) return 0;
	const isSame =
		warm.head.tools.hash === head.tools.hash && warm.head.system.hash === head.system.hash;
	return isSame && read >= warm.tokens * READ_SHARE ? warm.blocks : 0;
}

/** Providers promise a lifetime at least; a request that reads this share was not too late. */
const KEPT_SHARE = 0.9;

/** Other sessions may have used the same head, but only this one can have kept its messages in the cache. */
function isKeptAlive(
	before: Pick<BilledRequest, "atMs" | "billed" | "rounds" | "ttl"> | undefined,
	now: Bill,
	blocks: readonly SessionBlock[],
): boolean {
	const { read } = firstPrompt(now);
	if (!before || now.atMs - before.atMs < now.model.rules.ttlMs[before.ttl] || read === 0) {
		return false;
	}
	const last = lastPrompt(before);
	const cached = last.read + last.write;
	return read >= KEPT_SHARE * cached || read > headTokens(blocks) + LEAST_SHARED;
}

function headTokens(blocks: readonly SessionBlock[]): number {
	let tokens = 0;
	for (const block of blocks) {
		if (block.part === "messages") break;
		tokens += block.tokens;
	}
	return tokens;
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
