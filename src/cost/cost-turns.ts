import { property } from "../core/property.ts";
import type { Data } from "../protocol/index.ts";
import { textOf } from "../session/index.ts";
import { billIn, type SessionEntry } from "./entries.ts";

/** Where a billed answer is in its session. */
export interface RequestPlace {
	readonly entryId: string;
	/** 1 is the first message of the user; 0 before it. */
	readonly turn: number;
	/** The first line of that message. */
	readonly prompt: string;
	readonly promptId?: string;
}

/** One for each billed answer, of all branches, in the order of the cost view. */
export function requestPlaces(entries: readonly SessionEntry[]): RequestPlace[] {
	let own: Omit<RequestPlace, "entryId"> = { turn: 0, prompt: "" };
	return entries.flatMap((entry) => {
		if (entry.type !== "message") return [];
		if (entry.message.role === "user") {
			own = { turn: own.turn + 1, prompt: firstLine(entry.message.content), promptId: entry.id };
		}
		return billIn(entry) ? [{ entryId: entry.id, ...own }] : [];
	});
}

function firstLine(content: unknown): string {
	const blocks = Array.isArray(content)
		? content.filter((block) => property(block, "type") === "text")
		: content;
	return textOf(blocks)?.trimStart().split("\n", 1)[0] ?? "";
}

/** The latest turns of a session; a view shows no more. */
const MAX_TURNS = 500;
const PROMPT_CHARS = 200;

/** `requests` and `places` have the same order. */
export function costTurns(
	requests: readonly Data<"CostRequest">[],
	places: readonly RequestPlace[],
): Data<"CostTurn">[] {
	const numbered = requests.map((request, at) => ({ request, at, place: places[at] }));
	const turns = Map.groupBy(numbered, ({ place }) => place?.turn ?? 0);
	return [...turns].slice(-MAX_TURNS).map(([turn, own]) => {
		const [first] = own;
		const sum = (pick: (request: Data<"CostRequest">) => number) =>
			own.reduce((total, { request }) => total + pick(request), 0);
		const isPriced = own.every(({ request }) => request.cost.dollars !== undefined);
		const savings = own.flatMap(({ request }) => Object.values(request.saved ?? {}));
		const { promptId, prompt = "" } = first?.place ?? {};
		return {
			turn,
			...(promptId !== undefined && { entryId: promptId }),
			prompt: prompt.slice(0, PROMPT_CHARS).toWellFormed(),
			firstRequest: (first?.at ?? 0) + 1,
			requests: own.length,
			read: sum(({ read }) => read),
			write: sum(({ write }) => write),
			input: sum(({ input }) => input),
			output: sum(({ output }) => output),
			...(isPriced && {
				dollars: sum(({ cost, outputDollars = 0 }) => (cost.dollars ?? 0) + outputDollars),
			}),
			misses: own.filter(({ request }) => request.miss).length,
			...(savings.length > 0 && { saved: addPrices(savings) }),
		};
	});
}

/** In dollars only if all have a price. */
export function addPrices(prices: readonly Data<"Price">[]): Data<"Price"> {
	const dollars = sumIfAllKnown(prices.map((price) => price.dollars));
	const tokens = prices.reduce((total, price) => total + price.tokens, 0);
	return { tokens, ...(dollars !== undefined && { dollars }) };
}

export function sumIfAllKnown(values: readonly (number | undefined)[]): number | undefined {
	const known = values.filter((value) => value !== undefined);
	if (values.length === 0 || known.length < values.length) return undefined;
	return known.reduce((total, value) => total + value, 0);
}
