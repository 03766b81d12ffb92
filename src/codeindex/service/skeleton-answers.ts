import type { AnswerOf, Coverage, QueryOf, QuestionName, Uncovered } from "../answers.ts";
import type { CallOptions } from "../code-index.ts";
import type { Indexer } from "../indexer.ts";
import type { IndexStore } from "../store/index-store.ts";

/** The files that must be read whole before an answer holds. */
type Needed = "none" | "all" | readonly string[];

type Needs<Name extends QuestionName> = (
	answer: Uncovered<AnswerOf<Name>>,
	query: QueryOf<Name>,
) => Needed;

/** Questions that are not listed need references, so they wait for all files. */
const needs: { readonly [Name in QuestionName]?: Needs<Name> } = {
	// Skeletons have all declarations, but not the texts. Only texts can prove that a name is nowhere.
	search({ hits, inexact }, { query }) {
		const [name, ...more] = query.trim().split(/\s+/);
		const symbols = hits.flatMap((hit) => hit.symbols);
		if (inexact || symbols.length === 0) return "all";
		const isDeclared = symbols.some((one) => name === one.name || name?.endsWith(`.${one.name}`));
		return more.length > 0 || isDeclared ? "none" : "all";
	},
	dependencies: () => "none",
	taskContext: () => "none",
	// Several definitions are ordered by use.
	outline: ({ outlines }) => (outlines.length > 1 ? "all" : "none"),
	// The names that a source refers to are its references.
	symbol: ({ definitions }) =>
		definitions.length > 1 ? "all" : definitions.map(({ path }) => path),
};

/** Whether the question can be put to skeletons at all. */
export function mayAskSkeletons(name: QuestionName): boolean {
	return name in needs;
}

export function neededFor<Name extends QuestionName>(
	name: Name,
	answer: Uncovered<AnswerOf<Name>>,
	query: QueryOf<Name>,
): Needed {
	const needed: Needs<Name> | undefined = needs[name];
	return needed?.(answer, query) ?? "all";
}

/** Files whose texts are not read yet may match a search, too. */
export function asPartial<Answer extends object>(name: QuestionName, answer: Answer): Answer {
	return name === "search" ? { ...answer, atLeast: true } : answer;
}

/** A file may change between refresh and reading. Once is rare, so a few rounds are enough. */
const MAX_ROUNDS = 3;

/** Reads what skeletons lack. */
export async function completeAll(
	{ store, indexer }: { readonly store: IndexStore; readonly indexer: Indexer },
	call: CallOptions,
): Promise<void> {
	for (let round = 0; store.files.skeletons.size > 0 && round < MAX_ROUNDS; round++) {
		if (round > 0) await indexer.refresh({ ...call, mayBuild: false });
		await indexer.complete(call);
	}
}

export function pendingIn({ files }: IndexStore): Pick<Coverage, "pending"> {
	return files.skeletons.size > 0 ? { pending: files.skeletons.size } : {};
}
