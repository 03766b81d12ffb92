import type { PromptTokens } from "../core/bill.ts";
import { getOrAdd } from "../core/get-or-add.ts";
import {
	type Entry,
	findMisses,
	fullName,
	knownModel,
	type ReplayMissCause,
	type ReplayModel,
	rebuildRequests,
	type SourceBlock,
} from "../economy/replay/index.ts";
import type { AgentName, ImportedSession } from "../importers/index.ts";

/** What one file says about its requests, as plain data without texts. The cache stores it. */
export interface FileUsage {
	readonly sessions: readonly SessionUsage[];
	/** Lines that could not be used. */
	readonly skipped: number;
}

interface SessionUsage {
	readonly agent: AgentName;
	/** The working folder; empty if the file does not name it. */
	readonly project: string;
	readonly isSubagent?: true;
	readonly requests: readonly RequestUsage[];
}

export interface RequestUsage {
	/** Equal in all files that hold a copy of the request. */
	readonly id?: string;
	readonly atMs: number;
	/** `provider/id` */
	readonly model: string;
	readonly tokens: UsageTokens;
	/** A service tier or speed that list prices are not for, such as `fast`. */
	readonly tier?: string;
	readonly isFirst?: true;
	readonly miss?: RequestMiss;
	/** The provider's own cause of a cache miss, in its words. */
	readonly providerReason?: string;
}

export interface UsageTokens extends PromptTokens {
	readonly output: number;
}

interface RequestMiss {
	readonly cause: ReplayMissCause;
	readonly tokens: number;
	/** Extra cost over a cache read, in plain input tokens. */
	readonly cost: number;
}

export function usageOf(sessions: readonly ImportedSession[]): FileUsage {
	const skipped = sessions[0]?.skipped;
	return {
		sessions: sessions.map(sessionUsage).filter(({ requests }) => requests.length > 0),
		skipped: skipped ? skipped.damaged + skipped.tooLong + skipped.surplus : 0,
	};
}

function sessionUsage(session: ImportedSession): SessionUsage {
	const { agent, cwd = "", subagent } = session;
	const misses = missesOf(session);
	const requests: RequestUsage[] = [];
	let prompts = 0;
	for (const entry of session.entries) {
		const request = billOf(entry);
		if (!request) continue;
		const { input, read, write } = request.tokens;
		const isPrompt = input + read + write > 0;
		const miss = isPrompt ? misses.get(++prompts) : undefined;
		const isFirst = isPrompt && prompts === 1;
		requests.push({ ...request, ...(isFirst && { isFirst }), ...(miss && { miss }) });
	}
	return { agent, project: cwd, ...(subagent !== undefined && { isSubagent: true }), requests };
}

/** By the number of the request with a prompt, from 1. */
function missesOf(session: ImportedSession): Map<number, RequestMiss> {
	const models = new Map<string, ReplayModel>();
	const modelFor = (name: ReplayModel["name"]) =>
		getOrAdd(models, fullName(name), () => knownModel(name));
	const entries = session.entries.map(withOneBlock);
	const replay = rebuildRequests({ ...session, entries }, modelFor);
	// Misses are numbered without copies.
	const places = replay.bills.flatMap(({ isCopy }, index) => (isCopy ? [] : [index + 1]));
	return new Map(
		findMisses(replay).map(({ request, cause, tokens, cost }) => [
			places[request - 1] ?? request,
			{ cause, tokens, cost },
		]),
	);
}

/** Any change is an entry or a branch, so causes need one block of each entry. More make long sessions slow. */
function withOneBlock(entry: Entry, id: number): Entry {
	if (!("blocks" in entry) || entry.blocks.length === 0) return entry;
	const [first] = entry.blocks as [SourceBlock, ...SourceBlock[]];
	const estimate = entry.blocks.reduce((sum, block) => sum + block.estimate, 0);
	const { kind, label, counted } = first;
	return { ...entry, blocks: [{ id, hash: String(id), kind, label, counted, estimate }] };
}

/** `undefined` if no tokens were billed. */
function billOf(entry: Entry): RequestUsage | undefined {
	if (entry.type !== "assistant" && entry.type !== "warming") return undefined;
	const answer = entry.type === "assistant" ? entry : undefined;
	const tokens = { ...entry.billed, output: answer?.output ?? 0 };
	if (tokens.input + tokens.read + tokens.write + tokens.output === 0) return undefined;
	return {
		...(entry.requestId && { id: entry.requestId }),
		atMs: answer?.sentMs ?? entry.atMs,
		model: fullName(entry.model),
		tokens,
		...(answer?.tier !== undefined && { tier: answer.tier }),
		...(answer?.missReason && { providerReason: answer.missReason }),
	};
}
