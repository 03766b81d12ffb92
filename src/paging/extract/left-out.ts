import { AREA, type PageTree } from "./page-tree.ts";

/** What of a page is not in its main text: characters by kind, largest first. Empty if nothing is missing. */
export type LeftOut = Readonly<Record<string, number>>;

const KINDS: readonly (readonly [area: number, name: string])[] = [
	[AREA.hidden, "hidden parts"],
	[AREA.dialog, "dialogs"],
	[AREA.nav, "navigation"],
	[AREA.footer, "footer"],
	[AREA.header, "header"],
	[AREA.aside, "side parts"],
	[AREA.comment, "comments"],
	[AREA.form, "forms"],
	[AREA.list, "lists"],
	[AREA.table, "tables"],
];

export function leftOut({ blocks }: PageTree, kept: readonly boolean[]): LeftOut {
	const sizes = new Map<string, number>();
	for (const [i, { node, text }] of blocks.entries()) {
		if (kept[i]) continue;
		const [, kind = "other text"] = KINDS.find(([area]) => (node.areas & area) !== 0) ?? [];
		sizes.set(kind, (sizes.get(kind) ?? 0) + text.length);
	}
	return Object.fromEntries([...sizes].sort(([, a], [, b]) => b - a));
}

/** The same in one line: `navigation 1,200 characters, footer 300`. */
export function leftOutLine(sizes: LeftOut): string {
	return Object.entries(sizes)
		.map(
			([kind, size], i) => `${kind} ${size.toLocaleString("en-US")}${i === 0 ? " characters" : ""}`,
		)
		.join(", ");
}
