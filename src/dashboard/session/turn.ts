import type { AssistantItem, Item } from "./items.ts";

/** The bill of a turn: of all requests between a message of the user and the next. */
export interface Turn {
	/** Numbers of its first and last request. */
	readonly first: number;
	readonly last: number;
	readonly requests: number;
	/** Prompts and answers. */
	readonly tokens: number;
	readonly dollars: number;
	readonly model: string | undefined;
	/** When its last request started. */
	readonly atMs: number | undefined;
	/** The text of its last answer, for copying. */
	readonly text: string;
}

/** The turns, by the last answer of each. Without the one that runs and without those that cost nothing. */
export function turnEnds(items: readonly Item[], isRunning: boolean): Map<Item, Turn> {
	const ends = new Map<Item, Turn>();
	let own: AssistantItem[] = [];
	const end = () => {
		const last = own.at(-1);
		const turn = last && turnOf(own, last);
		if (last && turn) ends.set(last, turn);
		own = [];
	};
	for (const item of items) {
		if (item.kind === "user") end();
		if (item.kind === "assistant") own.push(item);
	}
	if (!isRunning) end();
	return ends;
}

function turnOf(answers: readonly AssistantItem[], last: AssistantItem): Turn | undefined {
	const bills = answers.flatMap(({ bill }) => bill ?? []);
	const [first] = bills;
	if (!first) return undefined;
	const texts = last.blocks.flatMap((block) => (block.kind === "text" ? [block.text] : []));
	return {
		first: first.request,
		last: bills.at(-1)?.request ?? first.request,
		requests: bills.length,
		tokens: bills.reduce((sum, { tokens }) => sum + tokens, 0),
		dollars: bills.reduce((sum, { dollars }) => sum + dollars, 0),
		model: last.model,
		atMs: last.atMs,
		text: texts.join("\n\n"),
	};
}
