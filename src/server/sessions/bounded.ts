/** Events and results above this size are cut, in characters of text. */
export const MAX_EVENT_CHARACTERS = 256 * 1024;

/**
 * The value as it is if its texts are no longer than `most` characters in all; otherwise a copy in which texts are cut and
 * what follows is left out. `get_entries` and the session's file still have everything.
 */
export function bounded<Value>(
	value: Value,
	most = MAX_EVENT_CHARACTERS,
): { value: Value; cut: boolean } {
	if (measure(value, most) <= most) return { value, cut: false };
	return { value: cutTo(value, { left: most }, 0) as Value, cut: true };
}

/** A text of at most `most` characters, with a note about what is missing. */
export function clipText(text: string, most: number): string {
	if (text.length <= most) return text;
	const kept = wholeCharacters(text, most);
	return `${kept}\n[${text.length - kept.length} more characters are not shown here]`;
}

/** Nothing that pi makes is deeper. */
const MAX_DEPTH = 64;
/** What a key, a number or a bracket counts, so that many small things add up too. */
const SMALL = 8;

/** Characters in all; stops counting soon after `enough`. */
function measure(value: unknown, enough: number): number {
	let total = 0;
	const stack: unknown[] = [value];
	while (stack.length > 0 && total <= enough) {
		const next = stack.pop();
		total += SMALL;
		if (typeof next === "string") total += next.length;
		else if (Array.isArray(next)) for (const item of next) stack.push(item);
		else if (typeof next === "object" && next !== null) {
			for (const [key, item] of Object.entries(next)) {
				total += key.length;
				stack.push(item);
			}
		}
	}
	return total;
}

function cutTo(value: unknown, budget: { left: number }, depth: number): unknown {
	budget.left -= SMALL;
	if (typeof value === "string") return cutString(value, budget);
	if (typeof value !== "object" || value === null) return value;
	if (depth === MAX_DEPTH) return undefined;
	if (Array.isArray(value)) {
		const items: unknown[] = [];
		for (const item of value) {
			if (budget.left <= 0) break;
			items.push(cutTo(item, budget, depth + 1));
		}
		return items;
	}
	const copy: Record<string, unknown> = {};
	for (const [key, item] of Object.entries(value)) {
		if (budget.left <= (typeof item === "object" ? 0 : -SLACK)) continue;
		budget.left -= key.length;
		const isPicture = key === "data" && "mimeType" in value && typeof item === "string";
		// A picture in part is no picture.
		copy[key] = isPicture && item.length > budget.left ? "" : cutTo(item, budget, depth + 1);
	}
	return copy;
}

/** Names and ids stay whole, so that a client still knows what it has; together they may take this much more. */
const MAX_NAME = 256;
const SLACK = 16 * 1024;

function cutString(text: string, budget: { left: number }): string {
	const kept = text.length <= MAX_NAME ? text : clipText(text, Math.max(0, budget.left));
	budget.left -= kept.length;
	return kept;
}

function wholeCharacters(text: string, most: number): string {
	const last = text.charCodeAt(most - 1);
	const splitsPair = last >= 0xd800 && last <= 0xdbff;
	return text.slice(0, splitsPair ? most - 1 : most);
}
