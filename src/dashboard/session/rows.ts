import type { AssistantItem, Block, Item } from "./items.ts";

/** One row of the list: an item, or a part of an answer. */
export type Row =
	| { key: string; kind: "item"; item: Exclude<Item, AssistantItem> }
	| { key: string; kind: "block"; item: AssistantItem; block: Block; isLast: boolean }
	/** About an answer as a whole. */
	| { key: string; kind: "outcome"; item: AssistantItem };

/** Items that have not changed keep their rows. */
export function rowsOf(items: readonly Item[]): Row[] {
	return items.flatMap((item) => {
		let rows = made.get(item);
		if (!rows) {
			rows = item.kind === "assistant" ? answerRows(item) : [{ key: item.key, kind: "item", item }];
			made.set(item, rows);
		}
		return rows;
	});
}

const made = new WeakMap<Item, readonly Row[]>();

function answerRows(item: AssistantItem): readonly Row[] {
	const { blocks, error, isAborted, isCut, isPartial, isStreaming } = item;
	const rows: Row[] = [];
	for (const [at, block] of blocks.entries()) {
		const isEmpty = block.kind !== "call" && block.text.trim() === "";
		if (isEmpty) continue;
		const isLast = at === blocks.length - 1;
		rows.push({ key: `${item.key}/${at}`, kind: "block", item, block, isLast });
	}
	const isSilent = rows.length === 0 && isStreaming;
	if (error !== undefined || isAborted || isCut || isPartial || isSilent) {
		rows.push({ key: `${item.key}/outcome`, kind: "outcome", item });
	}
	return rows;
}

/** The height of a row that was never drawn, in pixels. */
export function estimatedHeight(row: Row): number {
	if (row.kind === "outcome") return 30;
	const text = row.kind === "block" ? blockText(row.block) : itemText(row.item);
	if (text === undefined) return 32;
	const hasPictures = "pictures" in row.item && row.item.pictures.length > 0;
	return 30 + 21 * Math.min(40, Math.ceil(text.length / 95)) + (hasPictures ? PICTURES : 0);
}

const PICTURES = 200;

function blockText(block: Block): string | undefined {
	return block.kind === "text" ? block.text : undefined;
}

function itemText(item: Exclude<Item, AssistantItem>): string | undefined {
	return item.kind === "user" || item.kind === "custom" ? item.text : undefined;
}
