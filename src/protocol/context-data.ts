import Type from "typebox";
import { CONTEXT_KINDS } from "../text/kinds.ts";
import { MISS_CAUSES } from "../text/miss-causes.ts";
import { listOf, numberFields, oneOf } from "./field-schemas.ts";

export const ContextKind = oneOf(...CONTEXT_KINDS);

/** Pieces are listed in the order the model sees them. */
export const ContextPiece = Type.Object({
	/** For `get_context_piece`; stable while the piece is unchanged. */
	id: Type.String(),
	kind: ContextKind,
	/** One line for people: a path, a tool call, or the start of a message. */
	label: Type.String(),
	tokens: Type.Number(),
	/** The piece has been unchanged since this time, in ms since 1970. */
	sinceMs: Type.Number(),
	/** Relative to the session's folder. */
	path: Type.Optional(Type.String()),
	entryId: Type.Optional(Type.String()),
	/** For a stub or a shortened read: tokens of the replaced text. */
	replacedTokens: Type.Optional(Type.Number()),
	/** For the result of a tool: its call. `/kota pin`, `/kota drop` and `/kota restore` take it. */
	callId: Type.Optional(Type.String()),
	/** The result is pinned: it will not become a stub. */
	pinned: Type.Optional(Type.Literal(true)),
	/** What the piece is from the next request on, if that differs. */
	pending: Type.Optional(oneOf("stub", "full")),
});

/** Tokens by kind, scaled to the bill of the request; empty kinds may be absent. */
export const ContextMoment = Type.Object({
	/** The number of the request in the session, all branches counted: the same as in `get_cost`. */
	request: Type.Number(),
	atMs: Type.Number(),
	byKind: Type.Partial(Type.Record(ContextKind, Type.Number())),
});

/** The request may have contained less text than the context does now, or different text. */
const LastRequest = Type.Object({
	/** Prompt size counted by the provider. */
	tokens: Type.Number(),
	/** Number of leading pieces that the request contained unchanged. */
	pieces: Type.Number(),
});

export const ContextView = Type.Object({
	/** Size of the model's window in tokens; 0 without a model. */
	window: Type.Number(),
	/** As in `get_context_usage`: the last bill plus an estimate of newer messages. The pieces add up to it. */
	tokens: Type.Number(),
	/** No bill is known yet, so that `tokens` is estimated by length. */
	isEstimated: Type.Boolean(),
	/** Tokens that pi keeps free for the answer. */
	reserve: Type.Number(),
	/** Above this many tokens pi compacts; absent if it does not compact by itself. */
	compactsAt: Type.Optional(Type.Number()),
	/** Size of the prompt prefix that the last request found in the provider's cache. */
	cachedTokens: Type.Optional(Type.Number()),
	lastRequest: Type.Optional(LastRequest),
	pieces: Type.Array(ContextPiece),
	/** One per request, oldest first; thinned out in long sessions. */
	history: Type.Array(ContextMoment),
});

export const ContextPieceText = Type.Object({
	pieceId: Type.String(),
	text: Type.String(),
	/** Where `text` starts, in characters. */
	offset: Type.Number(),
	totalChars: Type.Number(),
	nextOffset: Type.Optional(Type.Number()),
});

/** A cost in plain input tokens, and in dollars if prices are known. */
export const Price = Type.Object({ tokens: Type.Number(), dollars: Type.Optional(Type.Number()) });

export const TOKENS = {
	/** Cache reads. */
	read: Type.Number(),
	/** Cache writes. */
	write: Type.Number(),
	/** Uncached. */
	input: Type.Number(),
	output: Type.Number(),
};

const Prices = {
	/** Cost of the prompt as sent. */
	cost: Price,
	/** Cost of the prompt as pi alone would send it: append-only, nothing replaced. */
	appendOnlyCost: Price,
	/** Cost of the prompt as sent, but without any cache. */
	noCacheCost: Price,
	/** Only if prices are known. */
	outputDollars: Type.Optional(Type.Number()),
};

/** What systems saved against pi alone, estimated; below zero where one cost more. Absent: it did nothing. */
export const SavedBySystem = Type.Object({
	pruning: Type.Optional(Price),
	readCache: Type.Optional(Price),
	birth: Type.Optional(Price),
});

/** Cached tokens that were paid for again. */
export const CacheMiss = Type.Object({
	tokens: Type.Number(),
	cause: Type.String({
		description: Object.keys(MISS_CAUSES)
			.filter((cause) => cause !== "edit")
			.join(", "),
	}),
	/** What the tokens cost beyond a cache hit. */
	cost: Price,
	/** First piece that differs from the previous request. */
	changed: Type.Optional(Type.String()),
});

export const CostRequest = Type.Object({
	atMs: Type.Number(),
	model: Type.String({ description: "provider/id" }),
	...TOKENS,
	...Prices,
	/** Earlier thinking blocks that the provider dropped; absent if none. */
	thinkingDropped: Type.Optional(Type.Number()),
	miss: Type.Optional(CacheMiss),
	saved: Type.Optional(SavedBySystem),
});

/** A message of the user, and the requests until the next one. */
export const CostTurn = Type.Object({
	/** 1 is the session's first message; 0: requests before it. */
	turn: Type.Number(),
	/** The entry of the message; absent for 0. */
	entryId: Type.Optional(Type.String()),
	/** The first line of the message, perhaps cut. */
	prompt: Type.String(),
	/** The number of its first request. */
	firstRequest: Type.Number(),
	requests: Type.Number(),
	...TOKENS,
	/** Prompts and answers; absent if a price is unknown. */
	dollars: Type.Optional(Type.Number()),
	misses: Type.Number(),
	saved: Type.Optional(Price),
});

/** `totals` covers all requests, `requests` and `turns` only the latest. */
export const Cost = Type.Object({
	requests: Type.Array(CostRequest),
	/** Absent from servers before they were counted. */
	turns: Type.Optional(Type.Array(CostTurn)),
	totals: Type.Object({
		requests: Type.Number(),
		...TOKENS,
		...Prices,
		/** Number of append-only prompts above pi's compaction limit, priced without compaction. Absent if 0. */
		appendOnlyOverLimit: Type.Optional(Type.Number()),
		...numberFields("misses", "missedTokens"),
		missCost: Price,
		/** Absent from servers before it was counted. */
		saved: Type.Optional(SavedBySystem),
	}),
});

const UseCounts = {
	times: Type.Number(),
	/** Tokens that were not sent, or not sent again. */
	tokens: Type.Number(),
	/** How many of `times` have unknown savings, which `tokens` leaves out. Absent if none. */
	unmeasured: Type.Optional(Type.Number()),
};

export const SystemSavings = Type.Object({
	enabled: Type.Boolean(),
	...UseCounts,
	dollars: Type.Optional(Type.Number()),
	/** Savings by reason or file: a few, the largest first. */
	details: listOf({ label: Type.String(), ...UseCounts }),
});

export const Savings = Type.Object({
	readCache: SystemSavings,
	/** Absent from servers before it was counted. */
	birth: Type.Optional(SystemSavings),
	paging: SystemSavings,
	kota: SystemSavings,
	pruning: SystemSavings,
	tiers: SystemSavings,
	economy: SystemSavings,
	total: Type.Object({ tokens: Type.Number(), dollars: Type.Optional(Type.Number()) }),
});

export const TierFile = Type.Object({
	path: Type.String(),
	tier: oneOf("L0", "L1", "L2", "L3", "active"),
	/** Number of answers for which the file has stayed unchanged. */
	n: Type.Number(),
	tokens: Type.Number(),
	/** 0 if no change was seen. */
	lastChangeMs: Type.Number(),
	hits: Type.Number(),
});

export const Tiers = Type.Object({
	/** `off`: the working set is empty or the system is disabled. */
	layout: oneOf("log", "tiers", "off"),
	files: Type.Array(TierFile),
	picture: Type.String(),
});

const PromptTokens = Type.Object(numberFields("input", "read", "write", "writeOneHour"));

const SESSION_LABEL = {
	/** The agent's own id of the session. */
	session: Type.Optional(Type.String()),
	/** Set for a sub-agent: its id. */
	subagent: Type.Optional(Type.String()),
};

/** Cost under each policy, in plain input tokens. */
export const ReplayReport = Type.Object({
	/** File name, or `content` if the command contained the text. */
	file: Type.String(),
	...SESSION_LABEL,
	requests: Type.Number(),
	/** Requests that another session counts. */
	copies: Type.Optional(Type.Number()),
	/** Requests without a known price. No sum of dollars includes them. */
	unpriced: Type.Optional(Type.Number()),
	models: listOf({
		name: Type.String(),
		...numberFields("requests", "readRatio", "writeRatio"),
		because: Type.String(),
	}),
	policies: listOf({
		name: Type.String(),
		description: Type.String(),
		cost: Type.Number(),
		/** Cost relative to append-only. */
		ratio: Type.Number(),
		dollars: Type.Optional(Type.Number()),
		...numberFields("read", "write", "input", "maxContext"),
	}),
	misses: listOf({
		...numberFields("request", "atMs", "tokens", "cost"),
		cause: Type.String({ description: Object.keys(MISS_CAUSES).join(", ") }),
		changed: Type.Optional(Type.String()),
		/** The provider's own cause, if it states one. */
		providerReason: Type.Optional(Type.String()),
		/** If the file has several sessions: each numbers its own requests. */
		...SESSION_LABEL,
	}),
	duplicateReads: listOf({ path: Type.String(), ...numberFields("times", "tokens", "cost") }),
	/** How well the replay reproduces the bill. */
	check: Type.Object({
		...numberFields("simulated", "billed", "deviation"),
		/** What the difference consists of, the largest part first. `cost`: simulated minus billed. */
		differences: listOf({ reason: Type.String(), ...numberFields("cost", "requests") }),
		/** Causes of a large deviation, for people. */
		reasons: Type.Optional(Type.Array(Type.String())),
	}),
	/** Savings made while the session ran: short reads, context edits. */
	savedAlready: Type.Object(numberFields("shortReads", "edits")),
	/** Number of unusable lines in the file. */
	skipped: Type.Number(),
	/** `relinked` entries have no parent in the file; `surplus` and `requests` are beyond a limit. */
	skippedBy: Type.Object(numberFields("damaged", "tooLong", "relinked", "surplus", "requests")),
	/** The prompts of the session; of the first, if there are several. Long ones are thinned out. */
	chart: listOf({ name: Type.String(), points: Type.Array(PromptTokens) }),
	/** The sessions of a file with more than one, such as sub-agents. */
	sessions: Type.Optional(
		listOf({
			...SESSION_LABEL,
			...numberFields("requests", "cost", "misses"),
		}),
	),
});
