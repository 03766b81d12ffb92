import type { PromptTokens, Request, Ttl } from "../request.ts";
import type { CacheRules, ModelPrices } from "../rules.ts";
import { createAssembly, createCalibration, type SessionBlock } from "./assembly.ts";
import {
	type BilledRequest,
	billedBy,
	billedRequests,
	modelsWithoutWrites,
	promptOf,
} from "./billed.ts";
import { type Conversation, createConversationWalk } from "./conversation.ts";
import { type Entry, fullName, type ModelName } from "./entry.ts";
import type { SessionFile, SkippedLines } from "./session-file.ts";

/** A session as the requests that were made in it. */
export interface ReplaySession {
	readonly file: string;
	/** Format of the session file, 1 to 3. */
	readonly version: number;
	readonly skipped: Skipped;
	readonly savedAlready: SavedAlready;
	/** What each request was billed, in the order in which they were made. */
	readonly bills: readonly Bill[];
	/** The requests in full, in the same order. Rebuilt on each call, so that only one is in memory. */
	steps(): Iterable<Step>;
}

/** What of a session is not in its replay. */
export interface Skipped extends SkippedLines {
	/** Requests at the end of a session too large to be replayed in full. */
	readonly requests: number;
}

/** What was done in a session to make its requests smaller: its bill is the lower for it. */
export interface SavedAlready {
	/** Reads that were answered with a marker or a diff. */
	readonly shortReads: number;
	/** Contents that a context edit replaced or took out, as pruning does. */
	readonly edits: number;
}

/** The bill of one request. */
export interface Bill {
	readonly index: number;
	readonly atMs: number;
	readonly model: ReplayModel;
	readonly billed: PromptTokens;
}

/** A request that was billed, as it was sent. */
export interface Step extends Bill {
	/** Their tokens add up to what was billed. */
	readonly blocks: readonly SessionBlock[];
	readonly settings: NonNullable<Request["settings"]>;
	/** How long the provider was asked to keep what it cached. */
	readonly ttl: Ttl;
	/** What is different from the request before, other than that the conversation grew. */
	readonly changes: ReadonlySet<Change>;
}

/** Something that makes a request differ from the one before. */
export type Change = "compaction" | "edit" | "branch" | "model" | "thinking" | "tools" | "system";

/** A model with the rules its requests are billed by. */
export interface ReplayModel {
	readonly name: ModelName;
	readonly rules: CacheRules;
	readonly prices: ModelPrices | undefined;
	/** Tokens that a request may have at most; `undefined` where nobody knows. */
	readonly contextWindow: number | undefined;
}

/**
 * Blocks and entries that one session may make us look at. A session that grows has as many as its file; one that is
 * rearranged over and over has that many each time.
 */
const MAX_WORK = 12_000_000;

/** Rebuilds the requests of a session. `modelFor` knows the rules of the models that the file names. */
export function rebuildRequests(
	session: SessionFile,
	modelFor: (name: ModelName) => ReplayModel,
	maxWork = MAX_WORK,
): ReplaySession {
	const calibration = createCalibration();
	const assembly = createAssembly(calibration.sizeOf);
	const heads = new Map<number, Conversation["head"]>();
	const walk = createConversationWalk(session.entries, heads);
	const withoutWrites = modelsWithoutWrites(session.entries);
	const plans: (Omit<BilledRequest, "model"> & Bill & { factor: number })[] = [];
	let before: (Pick<Conversation, "head" | "blocks"> & { taken: number }) | undefined;
	let work = 0;
	let left = 0;
	for (const request of billedRequests(session.entries)) {
		if (work > maxWork) {
			left++;
			continue;
		}
		const conversation = walk.at(request.leaf);
		const { head, blocks } = conversation;
		const grows = before?.blocks === blocks && before.head === head;
		const sources = before && grows ? blocks.slice(before.taken) : assembly.sources(conversation);
		before = { head, blocks, taken: blocks.length };
		work += 1 + sources.length + conversation.visited;
		const known = modelFor(request.model);
		// The bill says nothing about a model that is asked about in place of the billed one.
		const isItsBill = fullName(known.name) === fullName(request.model);
		const isFree = isItsBill && withoutWrites.has(fullName(known.name));
		const model = isFree ? withFreeWrites(known) : known;
		plans.push({
			...request,
			index: plans.length,
			model,
			billed: billedBy(model.rules, request.billed),
			factor: calibration.learn(sources, promptOf(request.billed), grows),
		});
	}

	return {
		file: session.file,
		version: session.version,
		skipped: { ...session.skipped, requests: left },
		savedAlready: savedIn(session.entries),
		bills: plans,
		*steps() {
			const again = createConversationWalk(session.entries, heads);
			const blocksOf = assembly.walk();
			let before: State | undefined;
			for (const { leaf, factor, ...plan } of plans) {
				const conversation = again.at(leaf);
				const state = stateOf(conversation, plan.model.name);
				const changes = new Set<Change>(conversation.changes);
				for (const key of STATE) if (before && before[key] !== state[key]) changes.add(key);
				const settings = { model: state.model, thinking: state.thinking };
				yield { ...plan, settings, changes, blocks: blocksOf(conversation, factor) };
				before = state;
			}
		},
	};
}

/** Where no rules are documented, the bill takes the place of the cautious price of a write. */
function withFreeWrites(model: ReplayModel): ReplayModel {
	const { rules } = model;
	if (rules.source !== "default") return model;
	const because = `${rules.because} Its bills have reads and no writes, so writes count as plain input.`;
	return { ...model, rules: { ...rules, writeRatio: 1, writeOneHourRatio: 1, because } };
}

function savedIn(entries: readonly Entry[]): SavedAlready {
	const isShortRead = (entry: Entry) =>
		entry.type === "message" && entry.blocks.some(({ result }) => result?.isShort);
	return {
		shortReads: entries.filter(isShortRead).length,
		edits: entries.filter(({ type }) => type === "edit").length,
	};
}

const STATE = ["model", "thinking", "tools", "system"] as const;
type State = Record<(typeof STATE)[number], string>;

function stateOf({ head, thinking }: Conversation, model: ModelName): State {
	return {
		model: fullName(model),
		thinking,
		tools: head?.tools.hash ?? "",
		system: head?.system.hash ?? "",
	};
}
