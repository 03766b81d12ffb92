import Type from "typebox";
import { CacheMiss, Price, TOKENS } from "./context-data.ts";
import { listOf, numberFields } from "./field-schemas.ts";

/** One request that went through the proxy. Its counts are 0 without a bill. */
export const TrafficRequest = Type.Object({
	id: Type.Number(),
	atMs: Type.Number(),
	model: Type.String(),
	...TOKENS,
	/** Absent without a bill. */
	cost: Type.Optional(Price),
	step: Type.String({ description: "start, next, branch, edit, compaction or partial" }),
	/** First piece that differs from the request it departs from. */
	changed: Type.Optional(Type.String()),
	miss: Type.Optional(CacheMiss),
	/** The provider's own reason of a miss. */
	providerReason: Type.Optional(Type.String()),
	/** Why the answer is not complete. */
	problem: Type.Optional(Type.String()),
});

/** A conversation of an agent, with sums over all its requests. */
export const TrafficConversation = Type.Object({
	id: Type.Number(),
	agent: Type.String(),
	isSubagent: Type.Boolean(),
	/** Of the latest request. */
	model: Type.String(),
	...numberFields("startedMs", "usedMs", "requests"),
	/** Tokens of the latest prompt. */
	context: Type.Number(),
	...TOKENS,
	/** Dollars of the requests whose prices are known; absent if there is none. */
	cost: Price,
	/** Number of billed requests without a known price. */
	unpriced: Type.Number(),
	...numberFields("misses", "missDollars"),
	lastMiss: Type.Optional(CacheMiss),
	/** Prompt tokens that shorter results saved, and those that they would have saved, by estimate. */
	savedTokens: Type.Optional(Type.Number()),
	savedInShadow: Type.Optional(Type.Number()),
});

export const ListedConversation = Type.Object({
	...TrafficConversation.properties,
	/** The main conversation of its session, if that is listed; absent on a main one. */
	parent: Type.Optional(Type.Number()),
});

const Shares = Type.Object({
	/** The largest first. */
	parts: listOf({ name: Type.String(), ...numberFields("share", "tokens") }),
	/** Number of smaller parts that are not listed. */
	more: Type.Number(),
});

/** A conversation with its latest requests, the oldest first, and what fills its latest prompt. */
export const TrafficReport = Type.Object({
	conversation: TrafficConversation,
	requests: Type.Array(TrafficRequest),
	/** Shares are measured in bytes; tokens are the same share of the billed prompt. */
	window: Type.Object({ byTool: Shares, byFile: Shares }),
});
