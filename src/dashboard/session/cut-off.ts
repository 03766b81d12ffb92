import type { ErrorItem, Item } from "./items.ts";

/** Adds a notice that the run was cut off, once. */
export function withCutOff(items: readonly Item[], text: string): readonly Item[] {
	const anchor = items.findLast((item) => !isPassing(item) && !isNotice(item));
	if (!anchor) return items;
	const key = NOTICE + anchor.key;
	if (items.some((item) => item.key === key)) return items;
	return [...items, { kind: "error", key, text }];
}

/** Whether an idle conversation ends with a call that has no result. */
export function endsCutOff(items: readonly Item[]): boolean {
	const last = items.findLast(({ kind }) => kind === "user" || kind === "assistant");
	if (last?.kind !== "assistant" || last.error !== undefined || last.isAborted) return false;
	return last.blocks.some((block) => block.kind === "call" && block.call.state === "lost");
}

/** Removes the notice at the end: the run goes on. */
export function goingOn(items: readonly Item[]): readonly Item[] {
	const last = items.at(-1);
	return last && isNotice(last) ? items.slice(0, -1) : items;
}

/** Keeps notices across a reload: the file does not have them. */
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

/** The key prefix of notices; the key of the item before follows. */
const NOTICE = "cut-off:";

function isNotice(item: Item): item is ErrorItem {
	return item.kind === "error" && item.key.startsWith(NOTICE);
}

/** Items that are not in the file when it is cut off, or have another key there. */
function isPassing(item: Item): boolean {
	return (item.kind === "assistant" && item.isStreaming) || item.kind === "bash";
}
