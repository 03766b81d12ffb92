import { basename } from "node:path";
import { hashBytes } from "../../core/hash.ts";
import type { FoundSession } from "../../importers/index.ts";

/** A file that `strata replay --find` lists. Clients name it by `fileId`, never by its path. */
export interface FoundFile extends FoundSession {
	readonly fileId: string;
}

export interface PageQuery {
	/** Words that must all be in the agent's, the project's or the file's name. */
	readonly filter: string;
	/** The `next` of the page before. */
	readonly after?: string;
	readonly limit: number;
}

export interface FoundPage {
	readonly files: readonly FoundFile[];
	/** The position of the last file, if more follow. */
	readonly next?: string;
}

/** Sorts the newest first. Files of the same time are in the order of their ids. */
export function inOrder(found: readonly FoundSession[]): FoundFile[] {
	return found
		.map((file) => ({ ...file, fileId: hashBytes(file.file) }))
		.sort((a, b) => b.lastUseMs - a.lastUseMs || (a.fileId < b.fileId ? -1 : 1));
}

/** A position is a time and an id, so that a file which was used meanwhile moves no other page. */
export function pageOf(files: readonly FoundFile[], query: PageQuery): FoundPage {
	const words = query.filter.toLowerCase().split(/\s+/).filter(Boolean);
	const [ms, id = ""] = (query.after ?? "").split(":", 2);
	const page: FoundFile[] = [];
	for (const file of files) {
		const isBefore =
			query.after !== undefined &&
			(file.lastUseMs > Number(ms) || (file.lastUseMs === Number(ms) && file.fileId <= id));
		if (isBefore || !hasWords(file, words)) continue;
		if (page.length === query.limit) return { files: page, next: positionOf(page) };
		page.push(file);
	}
	return { files: page };
}

function hasWords({ agent, project = "", file }: FoundFile, words: readonly string[]): boolean {
	const text = `${agent}\n${project}\n${basename(file)}`.toLowerCase();
	return words.every((word) => text.includes(word));
}

function positionOf(page: readonly FoundFile[]): string {
	const last = page.at(-1);
	return last ? `${last.lastUseMs}:${last.fileId}` : "";
}
