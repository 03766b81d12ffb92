import type { AnswerOf, QueryOf, QuestionName, Uncovered } from "../answers.ts";
import type { IndexReader, ReadText } from "../reader.ts";

export type Query<Name extends QuestionName> = (
	reader: IndexReader,
	query: QueryOf<Name>,
	readText: ReadText,
) => Uncovered<AnswerOf<Name>>;

/** Loaded on first use. */
export const queries: { readonly [Name in QuestionName]: () => Promise<Query<Name>> } = {
	search: async () => (await import("./search.ts")).search,
	dependencies: async () => (await import("./dependencies.ts")).dependencies,
	usages: async () => (await import("./usages.ts")).usages,
	impact: async () => (await import("./impact.ts")).impact,
	taskContext: async () => (await import("./dependencies.ts")).taskContext,
	symbolMap: async () => (await import("./symbol-map.ts")).symbolMap,
};
