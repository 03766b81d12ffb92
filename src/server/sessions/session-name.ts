import type { SessionManager } from "@earendil-works/pi-coding-agent";
import { property } from "../../core/property.ts";

/**
 * Makes a session remember its name. Pi searches all entries each time it is asked, and each change asks. After this only
 * the entries since the last time are searched. A pi that keeps its entries elsewhere is still asked itself.
 */
export function rememberName(manager: SessionManager): void {
	const ask = manager.getSessionName.bind(manager);
	let known: Searched | undefined;
	manager.getSessionName = () => {
		const entries = property(manager, "fileEntries");
		if (!Array.isArray(entries)) return ask();
		known = search(entries, known);
		return known.name;
	};
}

/** The name that so many entries give, and the last of them. */
interface Searched {
	readonly entries: readonly unknown[];
	readonly count: number;
	readonly last: unknown;
	readonly name: string | undefined;
}

/** Pi adds entries at the end, may take back the last one, and has another array for another file. */
function search(entries: readonly unknown[], known: Searched | undefined): Searched {
	const count = entries.length;
	const last = entries[count - 1];
	const isSame = known?.entries === entries && entries[known.count - 1] === known.last;
	const searched = isSame ? known.count : 0;
	for (let index = count - 1; index >= searched; index--) {
		const entry = entries[index];
		if (property(entry, "type") === "session_info") {
			return { entries, count, last, name: nameIn(entry) };
		}
	}
	return { entries, count, last, name: isSame ? known.name : undefined };
}

/** As pi reads it: an empty name takes the name away. */
function nameIn(entry: unknown): string | undefined {
	const name = property(entry, "name");
	return (typeof name === "string" && name.trim()) || undefined;
}
