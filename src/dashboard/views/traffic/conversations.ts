import type { Data } from "../../../protocol/index.ts";
import { stepNote } from "../../../text/step-note.ts";
import { dollars, formatCount, formatNumberOf, formatShare, short } from "../../parts/figures.ts";
import type { Figure } from "../section.tsx";

type Conversation = Data<"TrafficConversation">;
type Listed = Data<"ListedConversation">;

/** The latest used session first; below each main conversation its sub-agents and side requests. */
export function conversationRows(conversations: readonly Listed[]) {
	const mainOf = ({ id, parent }: Listed) => parent ?? id;
	const families = Map.groupBy(conversations, mainOf);
	const latest = (family: readonly Listed[]) => Math.max(...family.map(({ usedMs }) => usedMs));
	return [...families.values()]
		.sort((one, other) => latest(other) - latest(one))
		.flatMap((family) =>
			family.toSorted(
				(one, other) =>
					Number(one.parent !== undefined) - Number(other.parent !== undefined) ||
					other.usedMs - one.usedMs,
			),
		);
}

/** `claude-code #2`; below its session `sub-agent #3` or `side requests #1`. */
export function conversationName(
	conversation: Pick<Listed, "id" | "agent" | "isSubagent" | "parent">,
): string {
	const { id, agent, isSubagent, parent } = conversation;
	if (parent !== undefined) return `${isSubagent ? "sub-agent" : "side requests"} #${id}`;
	return `${agent} ${isSubagent ? "sub-agent " : ""}#${id}`;
}

/** Dollars as far as prices are known; tokens if none is. */
export function costText({ cost, unpriced }: Pick<Conversation, "cost" | "unpriced">): string {
	if (cost.dollars === undefined) return `${short(cost.tokens)} tokens`;
	return `${dollars(cost.dollars)}${unpriced > 0 ? "+" : ""}`;
}

type Sums = ReturnType<typeof sumOf>;
type Saved = Pick<Conversation, "savedTokens" | "savedInShadow">;
type Bill = Omit<Sums, keyof Saved> & Saved;

/** Cost, hit rate, misses and savings of one conversation, or of several. */
export function billFigures(bill: Bill): Figure[] {
	const { requests, read, write, input, unpriced, misses, missDollars } = bill;
	const lost = missDollars > 0 ? `${dollars(missDollars)} paid again` : undefined;
	const count = formatNumberOf(requests, "request");
	return [
		["Cost", costText(bill), unpriced > 0 ? `${count}, ${unpriced} without a known price` : count],
		[
			"Read from the cache",
			formatShare(cachedShare(bill)),
			`${short(read)} of ${short(read + write + input)} tokens`,
		],
		["Misses", formatCount(misses), misses === 0 ? "none" : lost, misses > 0 ? "bad" : undefined],
		...savedFigure("Saved", bill.savedTokens),
		...savedFigure("Birth would save", bill.savedInShadow),
	];
}

function savedFigure(name: string, tokens = 0): Figure[] {
	return tokens > 0 ? [[name, short(tokens), "prompt tokens, by estimate"]] : [];
}

export function cachedShare({
	read,
	write,
	input,
}: Pick<Conversation, "read" | "write" | "input">) {
	const prompt = read + write + input;
	return prompt > 0 ? read / prompt : 0;
}

/** Sums over conversations. `cost` has dollars if any of them has. */
export function sumOf(conversations: readonly Listed[]) {
	const sum = (count: (one: Listed) => number) =>
		conversations.reduce((total, one) => total + count(one), 0);
	const isPriced = conversations.some(({ cost }) => cost.dollars !== undefined);
	return {
		requests: sum(({ requests }) => requests),
		read: sum(({ read }) => read),
		write: sum(({ write }) => write),
		input: sum(({ input }) => input),
		cost: {
			tokens: sum(({ cost }) => cost.tokens),
			...(isPriced && { dollars: sum(({ cost }) => cost.dollars ?? 0) }),
		},
		unpriced: sum(({ unpriced }) => unpriced),
		misses: sum(({ misses }) => misses),
		missDollars: sum(({ missDollars }) => missDollars),
		savedTokens: sum(({ savedTokens = 0 }) => savedTokens),
		savedInShadow: sum(({ savedInShadow = 0 }) => savedInShadow),
	};
}

/** Whether an event may change what is shown of a conversation, or of all. */
export function concerns(
	billed: { readonly conversation: number; readonly more?: boolean | undefined },
	conversation: number | undefined,
): boolean {
	return conversation === undefined || conversation === billed.conversation || billed.more === true;
}

/** What is special about a request, in words; empty if nothing is. */
export function requestNote(request: Data<"TrafficRequest">): string {
	const { step, changed, miss, providerReason, problem } = request;
	const note = stepNote(step);
	const first = changed !== undefined && !miss ? `, first ${changed}` : "";
	return [
		...(problem === undefined ? [] : [problem]),
		...(note === undefined ? [] : [`${note}${first}`]),
		...(providerReason === undefined ? [] : [`the provider says ${providerReason}`]),
	].join("; ");
}
