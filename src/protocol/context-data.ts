import Type from "typebox";
import { contextKinds } from "../text/kinds.ts";
import { oneOf } from "./field-schemas.ts";

export const ContextKind = oneOf(...contextKinds);

/** One piece of what the model sees, in the order in which it sees them. */
export const ContextPiece = Type.Object({
	/** For `get_context_piece`; stays the same while the piece does. */
	id: Type.String(),
	kind: ContextKind,
	/** One line for people, such as a path, a tool with its arguments, or the beginning of a message. */
	label: Type.String(),
	tokens: Type.Number(),
	/** Since when the model has seen it unchanged (ms since 1970). */
	sinceMs: Type.Number(),
	/** Relative to the session's folder. */
	path: Type.Optional(Type.String()),
	/** The entry of the session it comes from. */
	entryId: Type.Optional(Type.String()),
	/** Of a stub: the tokens of what it stands for. */
	replacedTokens: Type.Optional(Type.Number()),
});

/** How much of each kind a request held; kinds that it held nothing of may be absent. */
export const ContextMoment = Type.Object({
	/** 1 is the first request of the branch. */
	request: Type.Number(),
	atMs: Type.Number(),
	byKind: Type.Partial(Type.Record(ContextKind, Type.Number())),
});

/** The last request of the branch, which may have held less than the window does now, and other text. */
const LastRequest = Type.Object({
	/** Its prompt, counted by the provider. */
	tokens: Type.Number(),
	/** So many pieces, from the first on, were in it as they are now. */
	pieces: Type.Number(),
});

/** What is in the model's window now, and what was. */
export const ContextView = Type.Object({
	/** The window's size in tokens; 0 without a model. */
	window: Type.Number(),
	/** What the pieces add up to. */
	tokens: Type.Number(),
	/** Tokens from the start that the last request found in the provider's cache; absent before the first. */
	cachedTokens: Type.Optional(Type.Number()),
	lastRequest: Type.Optional(LastRequest),
	pieces: Type.Array(ContextPiece),
	/** One for each request, oldest first; long sessions are thinned out. */
	history: Type.Array(ContextMoment),
});

/** A stretch of a piece's text. */
export const ContextPieceText = Type.Object({
	pieceId: Type.String(),
	text: Type.String(),
	/** Where the stretch begins, in characters. */
	offset: Type.Number(),
	/** The length of the whole piece. */
	totalChars: Type.Number(),
	/** Where the next stretch begins; absent at the end. */
	nextOffset: Type.Optional(Type.Number()),
});

/** A price: always in plain input tokens of the model, and in dollars where its prices are known. */
export const Price = Type.Object({ tokens: Type.Number(), dollars: Type.Optional(Type.Number()) });

const Tokens = {
	/** Taken from the cache. */
	read: Type.Number(),
	/** Put into the cache. */
	write: Type.Number(),
	/** Neither. */
	input: Type.Number(),
	/** The answer. */
	output: Type.Number(),
};

const Prices = {
	/** The prompt as it was sent. */
	cost: Price,
	/** The prompt as pi alone would have sent it: append-only, with what our systems replaced still in it. */
	appendOnlyCost: Price,
	/** The prompt as it was sent, without any cache. */
	noCacheCost: Price,
	/** The answer, where the model's prices are known. */
	outputDollars: Type.Optional(Type.Number()),
};

/** Cached tokens that had to be paid for again. */
export const CacheMiss = Type.Object({
	tokens: Type.Number(),
	cause: Type.String({
		description:
			"compaction, pruning, model, thinking, expired, tools, system, branch, messages, dropped, provider or unknown",
	}),
	/** What it cost beyond a hit. */
	cost: Price,
	/** The first piece that differs from the request before, in words. */
	changed: Type.Optional(Type.String()),
});

/** One request to the provider with its bill. */
export const CostRequest = Type.Object({
	atMs: Type.Number(),
	model: Type.String({ description: "provider/id" }),
	...Tokens,
	...Prices,
	/** Thinking blocks of earlier answers that the provider left out; absent if none. */
	thinkingDropped: Type.Optional(Type.Number()),
	miss: Type.Optional(CacheMiss),
});

/** What a session has cost. Totals cover all its requests, the list the latest. */
export const Cost = Type.Object({
	requests: Type.Array(CostRequest),
	totals: Type.Object({
		requests: Type.Number(),
		...Tokens,
		...Prices,
		/** Prompts of `appendOnlyCost` beyond the size at which pi compacts, which is not counted in it; absent if none. */
		appendOnlyOverLimit: Type.Optional(Type.Number()),
		misses: Type.Number(),
		missedTokens: Type.Number(),
		missCost: Price,
	}),
});

const Uses = {
	/** How often it did something. */
	times: Type.Number(),
	/** Tokens that did not have to be sent, or not again. */
	tokens: Type.Number(),
	/** Of `times`, those that nobody can measure the savings of; `tokens` leaves them out. Absent if none. */
	unmeasured: Type.Optional(Type.Number()),
};

/** What one of our systems did for a session. */
export const SystemSavings = Type.Object({
	enabled: Type.Boolean(),
	...Uses,
	dollars: Type.Optional(Type.Number()),
	/** The same by reason or by file, largest first, a few. */
	details: Type.Array(Type.Object({ label: Type.String(), ...Uses })),
});

/** What our systems saved in a session, by system. */
export const Savings = Type.Object({
	readCache: SystemSavings,
	paging: SystemSavings,
	kota: SystemSavings,
	pruning: SystemSavings,
	tiers: SystemSavings,
	economy: SystemSavings,
	total: Type.Object({ tokens: Type.Number(), dollars: Type.Optional(Type.Number()) }),
});

/** A file of the working set and how stable it is. */
export const TierFile = Type.Object({
	path: Type.String(),
	tier: oneOf("L0", "L1", "L2", "L3", "active"),
	/** For how many answers it has stayed unchanged. */
	n: Type.Number(),
	tokens: Type.Number(),
	/** 0 where nobody saw it change. */
	lastChangeMs: Type.Number(),
	/** Requests that found it in the cache. */
	hits: Type.Number(),
});

/** The working set and where it lies in the prompt. */
export const Tiers = Type.Object({
	/** `off`: the working set is empty or the system is disabled. */
	layout: oneOf("log", "tiers", "off"),
	files: Type.Array(TierFile),
	/** The prompt from first to last, drawn in lines of text. */
	picture: Type.String(),
});
