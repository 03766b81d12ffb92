import type { SQLOutputValue } from "node:sqlite";
import type { PromptTokens, Ttl } from "../core/bill.ts";
import type { PricedMiss } from "../economy/index.ts";
import type { Exchange, SavingsNote } from "../wire/exchange.ts";
import type { Speaker, WireAnswer, WireRequest } from "../wire/index.ts";
import type { Place } from "./conversations.ts";
import type { Price } from "./diagnose.ts";
import { packPieces, unpackPieces } from "./packed-pieces.ts";
import type { Step } from "./step.ts";
import type { SettingHashes, TracedRequest, TracePiece } from "./trace.ts";

/** One request, as it is written into the book. */
export interface BookEntry {
	readonly exchange: Omit<Exchange, "requestBody" | "answerBody" | "frames">;
	readonly request: TracedRequest;
	readonly answer: WireAnswer;
	readonly place: Place;
	readonly price?: Price;
	readonly miss?: PricedMiss;
	/** The names of the stored bodies. */
	readonly texts?: { readonly request?: string; readonly answer?: string };
}

export interface BookedConversation {
	readonly id: number;
	readonly startedMs: number;
	readonly usedMs: number;
	readonly format: WireRequest["format"];
	readonly upstream: string;
	readonly speaker: Speaker;
	readonly cacheKey?: string;
	readonly parent?: number;
}

/** One request, as the book has it. Tokens are absent without a bill. */
export interface BookedRequest {
	readonly id: number;
	readonly conversation: number;
	readonly startedMs: number;
	readonly firstByteMs?: number;
	readonly endedMs: number;
	readonly model: string;
	readonly status?: number;
	readonly ended: string;
	readonly error?: string;
	readonly step: Step;
	/** The first piece that differs from the request that it departs from. */
	readonly changed?: string;
	readonly head: string;
	readonly base?: number;
	readonly shared: number;
	readonly pieces: readonly TracePiece[];
	readonly settings: SettingHashes;
	readonly tokens?: PromptTokens & { readonly output: number; readonly reasoning: number };
	/** The last prompt, if the provider called the model several times; `tokens` are the sum. */
	readonly lastPrompt?: PromptTokens;
	readonly ttl?: Ttl;
	/** Tokens that the provider cleared from the prompt. */
	readonly cleared?: number;
	readonly cost?: number;
	readonly dollars?: number;
	readonly miss?: PricedMiss;
	/** Tokens that shortening saved, and those that it would have saved, by estimate. */
	readonly savedTokens?: number;
	readonly savedInShadow?: number;
	/** Why results stayed as they are. */
	readonly kept?: string;
	/** The provider's own reason of a miss. */
	readonly provider?: { readonly type: string; readonly tokens?: number };
}

/** A request without what it contained. */
export type BookedStep = Omit<BookedRequest, "pieces" | "settings">;

export type Row = Record<string, SQLOutputValue>;

/** The latest `count` requests of a conversation with the pieces of all their messages. */
export function latestRequests(requests: readonly BookedRequest[], count: number) {
	const lastUse = new Map(requests.map(({ base }, at) => [base, at]));
	const known = new Map<number, readonly TracePiece[]>();
	const latest: { request: BookedRequest; messages: readonly TracePiece[] }[] = [];
	for (const [at, request] of requests.entries()) {
		const { id, base, shared, pieces } = request;
		const before = base === undefined ? [] : (known.get(base) ?? []);
		const messages = [...before.slice(0, shared), ...pieces];
		if (base !== undefined && lastUse.get(base) === at) known.delete(base);
		if (lastUse.has(id)) known.set(id, messages);
		if (at >= requests.length - count) latest.push({ request, messages });
	}
	return latest;
}

/** The columns of `request`. */
export function requestRow(entry: BookEntry, conversation: number) {
	const { exchange, request, answer, place, price, miss, texts } = entry;
	const { tokens } = request;
	const usage = tokens && answer.usage;
	return nulled({
		conversation,
		...{ startedMs: exchange.startedMs, firstByteMs: exchange.firstByteMs },
		...{ endedMs: exchange.endedMs, model: request.model, status: exchange.status },
		ended: exchange.end === "complete" ? answer.end : exchange.end,
		...{ error: answer.error, step: place.step, changed: place.changed },
		...{ head: request.head.hash, base: place.base?.id, shared: place.shared },
		pieces: packPieces(request.messages.slice(place.shared)),
		settings: JSON.stringify(request.settings),
		...{ input: usage?.input, read: usage?.read, write: usage?.write },
		...{ writeOneHour: usage?.writeOneHour, output: usage?.output, reasoning: usage?.reasoning },
		...{ cost: price?.cost, dollars: price?.dollars },
		...{ missTokens: miss?.tokens, missCause: miss?.cause, missChanged: miss?.changed },
		...{ missCost: miss?.cost, missDollars: miss?.dollars },
		...{ providerReason: answer.missReason?.type, providerTokens: answer.missReason?.tokens },
		...{ requestText: texts?.request, answerText: texts?.answer },
		...{ ttl: request.ttl, cleared: request.cleared },
		lastPrompt: request.lastPrompt && JSON.stringify(request.lastPrompt),
		...savingsRow(exchange.savings),
	});
}

function savingsRow(note: SavingsNote | undefined) {
	if (!note) return {};
	const { tokens, isShadow, kept } = note;
	return { [isShadow ? "savedInShadow" : "savedTokens"]: tokens, kept };
}

function nulled(row: Readonly<Record<string, string | number | undefined>>) {
	const entries = Object.entries(row).map(([name, value]) => [name, value ?? null]);
	return Object.fromEntries(entries) as Record<string, string | number | null>;
}

export function conversationOf(row: Row): BookedConversation {
	return {
		...{ id: Number(row.id), startedMs: Number(row.startedMs), usedMs: Number(row.usedMs) },
		format: String(row.format) as WireRequest["format"],
		upstream: String(row.upstream),
		speaker: JSON.parse(String(row.speaker)),
		...(row.cacheKey !== null && { cacheKey: String(row.cacheKey) }),
		...(row.parent !== null && { parent: Number(row.parent) }),
	};
}

/** The columns that {@link stepOf} reads. Pieces may take megabytes. */
export const STEP_COLUMNS = `id, conversation, startedMs, firstByteMs, endedMs, model, status, ended, error,
	step, changed, head, base, shared, input, read, write, writeOneHour, output, reasoning, cost, dollars,
	missTokens, missCause, missChanged, missCost, missDollars, providerReason, providerTokens, ttl, cleared,
	lastPrompt, savedTokens, savedInShadow, kept`;

export function requestOf(row: Row): BookedRequest {
	return {
		...stepOf(row),
		pieces: unpackPieces(String(row.pieces)),
		settings: JSON.parse(String(row.settings)),
	};
}

export function stepOf(row: Row): BookedStep {
	const number = <Name extends string>(name: Name) =>
		(row[name] === null ? {} : { [name]: Number(row[name]) }) as { [N in Name]?: number };
	const text = <Name extends string>(name: Name) =>
		(row[name] === null ? {} : { [name]: String(row[name]) }) as { [N in Name]?: string };
	const miss = missIn(row);
	return {
		...{ id: Number(row.id), conversation: Number(row.conversation) },
		...{ startedMs: Number(row.startedMs), endedMs: Number(row.endedMs) },
		...number("firstByteMs"),
		...{ model: String(row.model), ended: String(row.ended), step: String(row.step) as Step },
		...{ ...number("status"), ...text("error"), ...text("changed") },
		...{ head: String(row.head), ...number("base"), shared: Number(row.shared) },
		...(row.input !== null && {
			tokens: {
				...{ input: Number(row.input), read: Number(row.read), write: Number(row.write) },
				writeOneHour: Number(row.writeOneHour),
				...{ output: Number(row.output), reasoning: Number(row.reasoning) },
			},
		}),
		...(row.lastPrompt !== null && { lastPrompt: JSON.parse(String(row.lastPrompt)) }),
		...(row.ttl !== null && { ttl: String(row.ttl) as Ttl }),
		...{ ...number("cleared"), ...number("cost"), ...number("dollars") },
		...{ ...number("savedTokens"), ...number("savedInShadow"), ...text("kept") },
		...(miss && { miss }),
		...(row.providerReason !== null && {
			provider: {
				type: String(row.providerReason),
				...(row.providerTokens !== null && { tokens: Number(row.providerTokens) }),
			},
		}),
	};
}

export function missIn(row: Row): PricedMiss | undefined {
	if (row.missCause === null) return undefined;
	return {
		atMs: Number(row.startedMs),
		tokens: Number(row.missTokens),
		cause: String(row.missCause) as PricedMiss["cause"],
		cost: Number(row.missCost),
		...(row.missChanged !== null && { changed: String(row.missChanged) }),
		...(row.missDollars !== null && { dollars: Number(row.missDollars) }),
	};
}
