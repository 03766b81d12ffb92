import type { PromptTokens, Ttl } from "../../core/bill.ts";
import type { ModelRequest } from "../model-request.ts";
import type { CacheRules, ModelPrices } from "../rules.ts";
import { createCalibration, RequestAssembly, type SessionBlock } from "./assembly.ts";
import {
	type BilledRequest,
	billedRequests,
	modelsWithoutWrites,
	promptSize,
	withoutUnpricedWrites,
} from "./billed.ts";
import { type Conversation, createConversationWalk } from "./conversation.ts";
import { type Entry, fullName, type ModelName } from "./entry.ts";
import type { SessionFile, SkippedLines } from "./session-file.ts";

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

export function rebuildRequests(
	session: SessionFile,
	modelFor: (name: ModelName) => ReplayModel,
	maxWork = MAX_WORK,
): ReplaySession {
	const calibration = createCalibration();
	const assembly = new RequestAssembly(calibration.sizeOf);
	const heads = new Map<number, Conversation["head"]>();
	const walk = createConversationWalk(session.entries, heads);
	const withoutWrites = modelsWithoutWrites(session.entries);
	const plans: (Omit<BilledRequest, "model"> & Bill & { factor: number })[] = [];
	let work = 0;
	let left = 0;
	for (const request of billedRequests(session.entries)) {
		if (work > maxWork) {
			left++;
			continue;
		}
		const conversation = walk(request.leaf);
		const sources = assembly.sources(conversation);
		work += 1 + sources.length + conversation.visited;
		const known = modelFor(request.model);
		// The bill says nothing about a model that replaces the billed one.
		const isItsBill = fullName(known.name) === fullName(request.model);
		const isFree = isItsBill && withoutWrites.has(fullName(known.name));
		const model = isFree ? withFreeWrites(known) : known;
		plans.push({
			...request,
			index: plans.length,
			model,
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

/** Without documented rules, the bill overrides the cautious write price. */
function withFreeWrites(model: ReplayModel): ReplayModel {
	const { rules } = model;
	if (rules.source !== "default") return model;
	const because = `${rules.because} Its bills have reads and no writes, so writes count as plain input.`;
	return { ...model, rules: { ...rules, writeRatio: 1, writeOneHourRatio: 1, because } };
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
