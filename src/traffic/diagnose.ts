import type { PromptTokens } from "../core/bill.ts";
import { CostAccount, type PricedMiss } from "../economy/index.ts";
import { findModel } from "../economy/replay/index.ts";
import { costOf, dollarsOf, type ModelInfo, rulesFor } from "../economy/rules.ts";
import { piecesOf, type SentRequest } from "./sent-request.ts";
import type { Comparison } from "./step.ts";
import { firstChange, type TracedRequest, type TracePiece } from "./trace.ts";

type AnsweredRequest = Parameters<CostAccount["add"]>[0];

/** The cost of a request: in plain input tokens of its model, and in dollars if prices are known. */
export interface Price {
	readonly cost: number;
	readonly dollars?: number;
}

/** Providers of models, by upstream; others are gateways, whose models are found by id. */
const PROVIDERS: Readonly<Record<string, string>> = {
	anthropic: "anthropic",
	openai: "openai",
	chatgpt: "openai",
	gemini: "google",
};

/** The model as economy knows it. `names` are those of request and answer, the better one first. */
export function modelFor(upstream: string, names: readonly string[]): ModelInfo {
	const provider = PROVIDERS[upstream] ?? upstream;
	for (const name of names) {
		for (const id of [name, name.replace(SUFFIX, "")]) {
			const model = findModel(`${provider}/${id}`) ?? findModel(id);
			if (model) return model;
		}
	}
	return { provider, id: names[0] ?? "" };
}

/** The date of a snapshot, and Claude Code's mark of a large window. */
const SUFFIX = /(?:-\d{8}|-\d{4}-\d{2}-\d{2}|\[1m\])+$/;

export function priceOf(tokens: PromptTokens & { output: number }, model: ModelInfo): Price {
	const rules = rulesFor(model);
	const cost = costOf(tokens, rules);
	return model.cost?.input ? { cost, dollars: dollarsOf(tokens, model.cost, rules) } : { cost };
}

/** The cache miss of a request, compared with the request whose cache it should have read, and the first piece that differs. */
export function missOf(
	now: TracedRequest,
	{ before, sharedTokens, step, changed: departed }: Comparison,
	model: ModelInfo,
): PricedMiss | undefined {
	if (!before?.tokens || !now.tokens) return undefined;
	const [piecesBefore, pieces] = [piecesOf(before), [...now.head.pieces, ...now.messages]];
	const tokens = sharedTokens === undefined ? before.tokens : reduced(before.tokens, sharedTokens);
	const account = new CostAccount();
	account.add(answered({ ...before, tokens }, piecesBefore), model);
	const miss = account.add(
		{
			...answered({ ...now, tokens: now.tokens }, pieces),
			gapMs: Math.max(0, now.startedMs - before.usedMs),
			compacted: step === "compaction",
			branched: step === "branch" && sharedTokens !== undefined,
		},
		model,
	);
	if (!miss) return undefined;
	const { changed: _, ...found } = withSettings(miss, before, now);
	const first = step === "edit" ? departed : (firstChange(piecesBefore, pieces) ?? departed);
	const changed = found.cause === "thinking" ? otherSettings(before, now) : first;
	return { ...found, ...(changed && { changed }) };
}

function answered(
	request: Pick<SentRequest, "startedMs" | "model" | "settings" | "misplaced"> & {
		tokens: PromptTokens;
	},
	pieces: readonly TracePiece[],
): AnsweredRequest {
	const { startedMs: atMs, model, settings, misplaced, tokens } = request;
	return {
		...{ atMs, gapMs: 0, model, tokens },
		thinking: `${settings.thinking} ${settings.effort}`,
		pieces: comparedPieces(pieces),
		...(misplaced && { misplaced }),
	};
}

/** Codex sends its tools as the first of its messages: a change there is one of the tools. */
function comparedPieces(pieces: readonly TracePiece[]) {
	const firstOther = pieces.findIndex(({ kind }) => kind !== "tool");
	return pieces.map((piece, at) =>
		at < firstOther ? { ...piece, part: "tools" as const } : piece,
	);
}

/** The tokens of a request of which only a prefix of `cached` tokens was sent again. */
function reduced(tokens: PromptTokens, cached: number): PromptTokens {
	const write = Math.min(tokens.write, cached);
	const writeOneHour = Math.min(tokens.writeOneHour, write);
	return { input: 0, read: cached - write, write, writeOneHour };
}

/** A provider's rules may not list a setting; if nothing else changed, it is still the cause. */
function withSettings(miss: PricedMiss, before: SentRequest, now: TracedRequest): PricedMiss {
	const isOther = miss.cause === "provider" && otherSettings(before, now) !== undefined;
	return isOther ? { ...miss, cause: "thinking" } : miss;
}

/** The settings of reasoning that differ. */
function otherSettings(before: SentRequest, now: TracedRequest): string | undefined {
	const others = ["thinking", "effort"].filter(
		(name) => before.settings[name] !== now.settings[name],
	);
	return others.length > 0 ? `setting ${others.join(", ")}` : undefined;
}
