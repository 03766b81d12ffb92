import Type from "typebox";

const PromptTokens = Type.Object({
	input: Type.Number(),
	read: Type.Number(),
	write: Type.Number(),
	writeOneHour: Type.Number(),
});

/** Cost under each policy, in plain input tokens. */
export const ReplayReport = Type.Object({
	/** File name, or `content` for text sent along. */
	file: Type.String(),
	requests: Type.Number(),
	models: Type.Array(
		Type.Object({
			name: Type.String(),
			requests: Type.Number(),
			readRatio: Type.Number(),
			writeRatio: Type.Number(),
			because: Type.String(),
		}),
	),
	policies: Type.Array(
		Type.Object({
			name: Type.String(),
			description: Type.String(),
			cost: Type.Number(),
			/** Relative to append-only. */
			ratio: Type.Number(),
			dollars: Type.Optional(Type.Number()),
			read: Type.Number(),
			write: Type.Number(),
			input: Type.Number(),
			maxContext: Type.Number(),
		}),
	),
	misses: Type.Array(
		Type.Object({
			request: Type.Number(),
			atMs: Type.Number(),
			tokens: Type.Number(),
			cost: Type.Number(),
			cause: Type.String(),
			changed: Type.Optional(Type.String()),
		}),
	),
	duplicateReads: Type.Array(
		Type.Object({
			path: Type.String(),
			times: Type.Number(),
			tokens: Type.Number(),
			cost: Type.Number(),
		}),
	),
	/** How well the replay reproduces the bill. */
	check: Type.Object({
		simulated: Type.Number(),
		billed: Type.Number(),
		deviation: Type.Number(),
	}),
	/** Savings made while the session ran: short reads, context edits. */
	savedAlready: Type.Object({ shortReads: Type.Number(), edits: Type.Number() }),
	/** Unusable lines of the file. */
	skipped: Type.Number(),
	chart: Type.Array(Type.Object({ name: Type.String(), points: Type.Array(PromptTokens) })),
});
