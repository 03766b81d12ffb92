import Type from "typebox";
import { TOKENS } from "./context-data.ts";
import { listOf, numberFields } from "./field-schemas.ts";

const Day = Type.String({ description: "in the server's local time: 2026-11-16" });

/** Requests of one day, agent, project and model, by list prices. */
export const UsageRow = Type.Object({
	day: Day,
	agent: Type.String(),
	/** The working folder; empty if unknown. */
	project: Type.String(),
	model: Type.String({ description: "provider/id" }),
	requests: Type.Number(),
	/** Of the requests with a known price; absent if there is none. */
	dollars: Type.Optional(Type.Number()),
	/** Requests without a known price. No sum of dollars includes them. */
	unpriced: Type.Number(),
	...TOKENS,
	misses: Type.Number(),
	/** What the misses cost beyond cache hits; absent if no price is known. */
	missDollars: Type.Optional(Type.Number()),
});

/** The bills in session files, added up as `strata usage` does. */
export const UsageReport = Type.Object({
	/** The latest days first; within a day in order of agent, project and model. */
	rows: Type.Array(UsageRow),
	/** More rows exist; the oldest days are not sent. */
	truncated: Type.Boolean(),
	/** Session files that were looked at, and those that could not be read. */
	...numberFields("files", "failed"),
	unpricedModels: Type.Array(Type.String()),
});

const SavedFields = {
	requests: Type.Number(),
	/** Of prompts and answers, by list prices. */
	dollars: Type.Number(),
	/** Requests without a known price. No sum of dollars includes them. */
	unpriced: Type.Number(),
	/**
	 * By the system's name. `tokens`: kept out of the context. `dollars`: less than pi alone would have paid, estimated; below
	 * zero where the system cost more.
	 */
	saved: Type.Record(Type.String(), Type.Object(numberFields("tokens", "dollars"))),
};

export const SavedSums = Type.Object(SavedFields);

/** What sessions of pi cost and saved, as `/strata` counts them. The demo is left out: its prices are made up. */
export const Saved = Type.Object({
	today: SavedSums,
	all: SavedSums,
	/** Days with requests, the oldest first. */
	days: listOf({ day: Day, ...SavedFields }),
	/** Dollars a day, if the user has set a budget. */
	budget: Type.Optional(Type.Number()),
	/** For people: why nothing is known. */
	problem: Type.Optional(Type.String()),
});
