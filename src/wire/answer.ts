import type { WireAnswer } from "./format.ts";
import { nameOf } from "./piece.ts";

/** What an answer said, as found: absent parts are `undefined`, names are not yet printable. */
type Found = {
	readonly [Key in keyof Omit<WireAnswer, "end" | Names>]: WireAnswer[Key] | undefined;
} & {
	readonly [Key in Names]?: unknown;
} & {
	/** Whether the provider said that the answer is complete, and all of it has arrived. */
	readonly isDone: boolean;
};

type Names = "id" | "model" | "tier";

export function answerOf({ isDone, id, model, tier, ...found }: Found): WireAnswer {
	const end = found.error ? "error" : isDone ? "complete" : "cut";
	const names = { id: nameOf(id), model: nameOf(model), tier: nameOf(tier) };
	const parts = Object.entries({ ...names, ...found });
	return { end, ...Object.fromEntries(parts.filter(([, value]) => value !== undefined)) };
}
