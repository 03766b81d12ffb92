import type { PromptTokens } from "../core/bill.ts";
import { sentAgain } from "../core/sent-again.ts";
import { CostAccount, type PricedMiss } from "../economy/index.ts";
import { findModel } from "../economy/replay/index.ts";
import { type CacheRules, costOf, dollarsOf, type ModelInfo, rulesFor } from "../economy/rules.ts";
import { leftBy, piecesOf, promptOf, type SentRequest } from "./sent-request.ts";
import type { Comparison } from "./step.ts";
import { bytesIn, firstChange, type TracedRequest, type TracePiece } from "./trace.ts";

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
	const left = before && leftBy(before);
	if (!left || !now.tokens) return undefined;
	const [piecesBefore, pieces] = [piecesOf(before), [...now.head.pieces, ...now.messages]];
	const isReplaced = step === "compaction" || step === "edit";
	const again = isReplaced ? tokensSentAgain(piecesBefore, pieces, now.tokens) : undefined;
	const shared = sharedTokens ?? again;
	const tokens = shared === undefined ? left : reduced(left, shared);
	const account = new CostAccount();
	account.add(answered({ ...before, tokens }, piecesBefore), model);
	const miss = account.add(
		{
			...answered({ ...now, tokens: now.tokens }, pieces),
			gapMs: Math.max(0, now.startedMs - before.usedMs),
			compacted: step === "compaction" || now.isCompacted === true,
			branched: step === "branch" && sharedTokens !== undefined,
		},
		model,
	);
	if (!miss) return undefined;
	const { changed: _, ...found } = miss;
	const { cause, others } = causeOf(miss, before, now, rulesFor(model));
	const first = step === "edit" ? departed : (firstChange(piecesBefore, pieces) ?? departed);
	const changed = others ? `setting ${others.map(wordsOf).join(", ")}` : first;
	return { ...found, cause, ...(changed && { changed }) };
}

function answered(
	request: Pick<SentRequest, "startedMs" | "model" | "settings" | "misplaced" | "ttl"> &
		Partial<Pick<SentRequest, "isCaching">> & { tokens: PromptTokens },
	pieces: readonly TracePiece[],
): AnsweredRequest {
	const { startedMs: atMs, model, settings, misplaced, ttl, tokens, isCaching } = request;
	return {
		...{ atMs, gapMs: 0, model, tokens },
		thinking: `${settings.thinking} ${settings.effort}`,
		pieces: comparedPieces(pieces),
		...(misplaced && { misplaced }),
		...(ttl && { ttl }),
		...(isCaching && { isCaching }),
	};
}

/** Codex sends its tools as the first of its messages: a change there is one of the tools. */
function comparedPieces(pieces: readonly TracePiece[]) {
	const firstOther = pieces.findIndex(({ kind }) => kind !== "tool");
	return pieces.map((piece, at) =>
		at < firstOther ? { ...piece, part: "tools" as const } : piece,
	);
}

/** By their bytes, the tokens of the pieces that were sent before, too; absent if all were. */
function tokensSentAgain(
	before: readonly TracePiece[],
	pieces: readonly TracePiece[],
	tokens: PromptTokens,
): number | undefined {
	const again = sentAgain(before, pieces);
	if (again.length === before.length) return undefined;
	const share = bytesIn(again) / Math.max(1, bytesIn(pieces));
	const all = Math.floor(promptOf(tokens) * share);
	// A summary may have twice the tokens of as many bytes of a head, and the head may be all that was read.
	const isHead = again.every(({ part }) => part !== "messages");
	return isHead && all < 2 * tokens.read ? 0 : all;
}

/** The tokens of a request of which only `cached` tokens were sent again. */
function reduced(tokens: PromptTokens, cached: number): PromptTokens {
	const beyond = cached - tokens.read - tokens.write;
	if (beyond >= 0) return { ...tokens, input: Math.min(tokens.input, beyond) };
	const write = Math.min(tokens.write, cached);
	const writeOneHour = Math.min(tokens.writeOneHour, write);
	return { input: 0, read: cached - write, write, writeOneHour };
}

const REASONING = ["thinking", "effort"];

/** The cause of a miss, given all settings, and the settings that are it. */
function causeOf(
	{ cause }: PricedMiss,
	before: SentRequest,
	now: TracedRequest,
	{ invalidates }: CacheRules,
): { cause: PricedMiss["cause"]; others?: readonly string[] } {
	const others = otherSettings(before, now);
	const reasoning = others.filter((name) => REASONING.includes(name));
	if (cause === "thinking") return { cause, others: reasoning };
	// Another upstream has another cache, whatever else is different.
	if (others.includes("upstream") && cause !== "compaction") {
		return { cause: "setting", others: ["upstream"] };
	}
	// These lose all messages, those before the changed one too.
	const listed = others.filter((name) => invalidates[name as keyof typeof invalidates]);
	if (cause === "messages" && listed.length > 0) return { cause: "setting", others: listed };
	if (cause !== "provider") return { cause };
	if ((now.cleared ?? 0) > (before.cleared ?? 0)) return { cause: "cleared" };
	// A provider's rules may not list a setting; if nothing else changed, it is still the cause.
	if (reasoning.length > 0) return { cause: "thinking", others: reasoning };
	return others.length > 0 ? { cause: "setting", others } : { cause };
}

function otherSettings(before: SentRequest, now: TracedRequest): string[] {
	const names = new Set([...Object.keys(before.settings), ...Object.keys(now.settings)]);
	return [...names].filter((name) => before.settings[name] !== now.settings[name]);
}

/** `toolChoice` as `tool choice`. */
function wordsOf(name: string): string {
	return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
