import { basename } from "node:path";
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { WORKSET_ENTRY } from "../../core/entry-types.ts";
import { countIn, property } from "../../core/property.ts";
import { estimateTokens } from "../../core/tokens.ts";
import { textOf } from "../../session/index.ts";
import { selectionOf } from "../../workset/index.ts";

/** One time that a system was at work in a session. */
export interface Use {
	/** The reason or the file, in a word or two. */
	readonly label: string;
	/** What it kept out of the context; absent where nobody can tell. */
	readonly tokens?: number;
}

/** Questions that the kota tools answered. What reading files instead would have taken nobody knows, only what a budget cut off. */
export function kotaUses(entries: readonly SessionEntry[]): Use[] {
	return resultsIn(entries).flatMap(({ toolName, details, isError }) => {
		if (isError || !toolName.startsWith("kota_")) return [];
		const excerpt = countIn(details, "excerptBytes");
		const rest = countIn(details, "originalBytes") - excerpt;
		const isCut = property(details, "truncated") === true && excerpt > 0 && rest > 0;
		return [{ label: toolName, ...(isCut && { tokens: estimateTokens(rest) }) }];
	});
}

/** Pages that were handed out, and how much of their documents stayed outside. */
export function pagingUses(entries: readonly SessionEntry[]): Use[] {
	const byUri = new Map<string, Page[]>();
	for (const { toolName, details, content, isError } of resultsIn(entries)) {
		const uri = property(details, "uri");
		const isPage = typeof property(details, "truncated") === "boolean";
		if (isError || toolName !== "read" || typeof uri !== "string" || !isPage) continue;
		const pages = byUri.get(uri) ?? [];
		byUri.set(uri, pages);
		pages.push({ details, characters: textOf(content)?.length ?? 0 });
	}
	return [...byUri].flatMap(([uri, pages]) => {
		const rest = restOf(pages);
		const label = documentName(uri);
		return pages.map((_, at) => ({
			label,
			...(rest !== undefined && { tokens: at === 0 ? estimateTokens(rest) : 0 }),
		}));
	});
}

/** Requests that showed the files of the working set. */
export function tiersUses(entries: readonly SessionEntry[]): Use[] {
	const changesAt = new Map<string | null, readonly unknown[]>();
	const uses: Use[] = [];
	let known: { changes: readonly unknown[]; files: number } = { changes: [], files: 0 };
	for (const entry of entries) {
		const before = changesAt.get(entry.parentId) ?? [];
		const isChange = entry.type === "custom" && entry.customType === WORKSET_ENTRY;
		const changes = isChange ? [...before, entry.data] : before;
		changesAt.set(entry.id, changes);
		if (changes.length === 0 || entry.type !== "message") continue;
		if (entry.message.role !== "assistant") continue;
		if (known.changes !== changes) known = { changes, files: selectionOf(changes).paths.length };
		if (known.files > 0) uses.push({ label: "request with working files" });
	}
	return uses;
}

interface Page {
	readonly details: unknown;
	readonly characters: number;
}

/** Characters of a document that no page has shown; of a PDF by the length of those that were. */
function restOf(pages: readonly Page[]): number | undefined {
	const shown = pages.reduce((sum, { characters }) => sum + characters, 0);
	const all = countIn(pages.at(-1)?.details, "total_chars");
	if (all > 0) return Math.max(0, all - shown);
	let read = 0;
	let total = 0;
	for (const { details } of pages) {
		const info = property(details, "page_info");
		const first = countIn(info, "page_start");
		read += first > 0 ? Math.max(0, countIn(info, "page_end") - first + 1) : 0;
		total = countIn(info, "total_pages");
	}
	return read > 0 && total > 0 ? Math.max(0, total - read) * (shown / read) : undefined;
}

const MAX_LABEL = 120;

/** Of a file its name alone, of a page in the web its address. */
function documentName(uri: string): string {
	return (/^https?:/i.test(uri) ? uri : basename(uri)).slice(0, MAX_LABEL);
}

function resultsIn(entries: readonly SessionEntry[]) {
	return entries.flatMap((entry) =>
		entry.type === "message" && entry.message.role === "toolResult" ? [entry.message] : [],
	);
}
