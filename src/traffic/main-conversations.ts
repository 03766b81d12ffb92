import type { ConversationSums } from "./book.ts";
import { promptOf } from "./sent-request.ts";

/**
 * The main conversation of each that is not one: a sub-agent, a title request, a copy with other
 * tools. It is found by the names that agents give; main is the largest one of a session.
 */
export function mainConversations(all: readonly ConversationSums[]): Map<number, number> {
	const known = new Map(all.map((one) => [one.id, one]));
	const mains = new Map<string, ConversationSums>();
	const subagents = new Map<string, ConversationSums>();
	for (const one of all) {
		const { agent, session, subagent } = one.speaker;
		if (subagent !== undefined) subagents.set(key(agent, subagent), one);
		else if (session !== undefined && one.parent === undefined) {
			const name = key(agent, session);
			const main = mains.get(name);
			if (!main || promptOf(one.tokens) > promptOf(main.tokens)) mains.set(name, one);
		}
	}
	const parentOf = (one: ConversationSums) => {
		const { agent, session, parent } = one.speaker;
		const found = [
			known.get(one.parent ?? 0),
			parent && subagents.get(key(agent, parent)),
			parent && mains.get(key(agent, parent)),
			session && mains.get(key(agent, session)),
		];
		return found.find((other) => other && other !== one) || undefined;
	};
	return new Map(
		all.flatMap((one) => {
			const main = topOf(one, parentOf);
			return main === undefined || main === one ? [] : [[one.id, main.id] as const];
		}),
	);
}

function key(agent: string, name: string): string {
	return JSON.stringify([agent, name]);
}

/** `undefined` if names lead in a circle. */
function topOf(
	start: ConversationSums,
	parentOf: (one: ConversationSums) => ConversationSums | undefined,
): ConversationSums | undefined {
	const seen = new Set<ConversationSums>();
	let top = start;
	for (let next: typeof top | undefined = start; next; next = parentOf(next)) {
		if (seen.has(next)) return undefined;
		seen.add(next);
		top = next;
	}
	return top;
}
