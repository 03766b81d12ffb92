import { counted } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";

/** Something at a path, and how much of it. */
export interface Weighed {
	readonly path: string;
	readonly weight: number;
}

/** Names on one line of a folder; a longer list goes on in the next, so that it can be cut in between. */
const NAMES_A_LINE = 12;

/**
 * Paths with each folder written once: `  src/ui/: button.ts, form.ts`. Folders stand in the order of their first
 * path. `label` writes a name, by default the name alone.
 */
export function byFolder<Item extends { readonly path: string }>(
	items: readonly Item[],
	label: (name: string, item: Item) => string = (name) => name,
): string[] {
	const folders = new Map<string, string[]>();
	for (const item of items) {
		const [folder, name] = splitPath(item.path);
		const names = folders.get(folder) ?? [];
		names.push(label(oneLine(name), item));
		folders.set(folder, names);
	}
	return [...folders].flatMap(([folder, names]) =>
		chunks(names, NAMES_A_LINE).map((some) => `  ${oneLine(folder)}: ${some.join(", ")}`),
	);
}

/** How much there is in each folder, the most first: `  src/ui/  312 usages in 40 files` if the unit is `usage`. */
export function folderTotals(items: readonly Weighed[], unit?: string): string[] {
	const folders = new Map<string, { files: number; weight: number }>();
	for (const { path, weight } of items) {
		const [folder] = splitPath(path);
		const total = folders.get(folder) ?? { files: 0, weight: 0 };
		folders.set(folder, { files: total.files + 1, weight: total.weight + weight });
	}
	return [...folders]
		.toSorted((a, b) => b[1].weight - a[1].weight)
		.map(([folder, { files, weight }]) => {
			const total = unit ? `${counted(weight, unit)} in ` : "";
			return `  ${oneLine(folder)}  ${total}${counted(files, "file")}`;
		});
}

/** The items in lists of at most `size`. */
export function chunks<Item>(items: readonly Item[], size: number): Item[][] {
	const lists: Item[][] = [];
	for (let at = 0; at < items.length; at += size) lists.push(items.slice(at, at + size));
	return lists;
}

function splitPath(path: string): [folder: string, name: string] {
	const slash = path.lastIndexOf("/");
	return slash < 0 ? ["./", path] : [path.slice(0, slash + 1), path.slice(slash + 1)];
}
