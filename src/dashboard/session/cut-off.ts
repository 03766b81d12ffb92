import type { ErrorItem, Item } from "./items.ts";

/** The items with a notice at their end that what runs there was cut off; without anything that ran, and with the notice there already, as they are. */
export function withCutOff(items: readonly Item[], text: string): readonly Item[] {
	const anchor = items.findLast((item) => !isPassing(item) && !isNotice(item));
	if (!anchor) return items;
	const key = NOTICE + anchor.key;
	if (items.some((item) => item.key === key)) return items;
	return [...items, { kind: "error", key, text }];
}

/** Whether a conversation in which nothing runs ends in the middle of a run: with a call that has no result. */
export function endsCutOff(items: readonly Item[]): boolean {
	const last = items.findLast(({ kind }) => kind === "user" || kind === "assistant");
	if (last?.kind !== "assistant" || last.error !== undefined || last.isAborted) return false;
	return last.blocks.some((block) => block.kind === "call" && block.call.state === "lost");
}

/** The items without a notice at their end: what it stands for goes on after all. */
export function goingOn(items: readonly Item[]): readonly Item[] {
	const last = items.at(-1);
	return last && isNotice(last) ? items.slice(0, -1) : items;
}

/** Items that were loaded anew, with the notices of those that were shown before: the file does not have them. */
export function keepingNotices(next: readonly Item[], before: readonly Item[]): readonly Item[] {
	const notices = new Map(
		before.flatMap((item) => (isNotice(item) ? [[item.key.slice(NOTICE.length), item]] : [])),
	);
	if (notices.size === 0) return next;
	return next.flatMap((item) => {
		if (isNotice(item) && notices.has(item.key.slice(NOTICE.length))) return [];
		const notice = notices.get(item.key);
		return notice ? [item, notice] : [item];
	});
}

/** How the keys of notices begin; the key of the item they follow comes behind. */
const NOTICE = "cut-off:";

function isNotice(item: Item): item is ErrorItem {
	return item.kind === "error" && item.key.startsWith(NOTICE);
}

/** What is not in the file when it is cut off, or has another key there. */
function isPassing(item: Item): boolean {
	return (item.kind === "assistant" && item.isStreaming) || item.kind === "bash";
}
