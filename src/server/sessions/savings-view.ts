import { basename } from "node:path";
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { WORKSET_ENTRY } from "../../core/entry-types.ts";
import { countIn, property } from "../../core/property.ts";
import { estimateTokens } from "../../core/tokens.ts";
import { removedBy } from "../../cost/index.ts";
import type { Data } from "../../protocol/index.ts";
import { textOf } from "../../session/index.ts";
import { selectionOf } from "../../workset/index.ts";

type System = Exclude<keyof Data<"Savings">, "total">;

interface SavingsSource {
	/** Entries of all branches, since all were paid for. */
	readonly entries: readonly SessionEntry[];
	readonly misses: readonly Data<"CacheMiss">[];
	readonly enabled: Readonly<Record<System, boolean>>;
}

/** Computes the savings of our systems from the session's entries. */
export function savingsView({ entries, misses, enabled }: SavingsSource): Data<"Savings"> {
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	const pruned = new Map<string, Use>();
	const removed = entries.flatMap((entry) => {
		const own = removedBy(entry, byId);
		if (entry.type !== "context_edit") return own ?? [];
		// A later edit restores the text, or replaces the stub.
		if (own) pruned.set(entry.targetId, own);
		else pruned.delete(entry.targetId);
		return [];
	});
	const removedFor = (wanted: System) => removed.filter(({ system }) => system === wanted);
	// Without tokens: an explained miss saves nothing by itself.
	const explained = misses.flatMap(({ cause }) =>
		cause === "unknown" ? [] : [{ label: `miss explained: ${cause}` }],
	);
	const systems = {
		readCache: summed(enabled.readCache, removedFor("readCache")),
		birth: summed(enabled.birth, removedFor("birth")),
		paging: summed(enabled.paging, pagingUses(entries)),
		kota: summed(enabled.kota, kotaUses(entries)),
		pruning: summed(enabled.pruning, [...pruned.values()]),
		tiers: summed(enabled.tiers, tiersUses(entries)),
		economy: summed(enabled.economy, explained),
	};
	const tokens = Object.values(systems).reduce((sum, system) => sum + system.tokens, 0);
	return { ...systems, total: { tokens } };
}

/** Maximum details per system. The smallest are left out. */
const MAX_DETAILS = 10;

function summed(enabled: boolean, uses: readonly Use[]): Data<"SystemSavings"> {
	const details = [...Map.groupBy(uses, ({ label }) => label)]
		.map(([label, own]) => ({ label, ...figuresOf(own) }))
		.sort((a, b) => b.tokens - a.tokens || b.times - a.times)
		.slice(0, MAX_DETAILS);
	return { enabled, ...figuresOf(uses), details };
}

function figuresOf(uses: readonly Use[]) {
	const unmeasured = uses.filter(({ tokens }) => tokens === undefined).length;
	return {
		times: uses.length,
		tokens: uses.reduce((sum, { tokens = 0 }) => sum + tokens, 0),
		...(unmeasured > 0 && { unmeasured }),
	};
}

type Use = { readonly label: string; readonly tokens?: number };

/** Saved tokens are known only if a budget cut the text. */
function kotaUses(entries: readonly SessionEntry[]): Use[] {
	return resultsIn(entries).flatMap(({ toolName, details, isError }) => {
		if (isError || !toolName.startsWith("kota_")) return [];
		const excerpt = countIn(details, "excerptBytes");
		const rest = countIn(details, "originalBytes") - excerpt;
		const isCut = property(details, "truncated") === true && excerpt > 0 && rest > 0;
		return [{ label: toolName, ...(isCut && { tokens: estimateTokens(rest) }) }];
	});
}

function pagingUses(entries: readonly SessionEntry[]): Use[] {
	const all = resultsIn(entries).flatMap(({ toolName, details, content, isError }) => {
		const uri = property(details, "uri");
		const isPage = typeof property(details, "truncated") === "boolean";
		if (isError || toolName !== "read" || typeof uri !== "string" || !isPage) return [];
		return [{ uri, details, characters: textOf(content)?.length ?? 0 }];
	});
	return [...Map.groupBy(all, ({ uri }) => uri)].flatMap(([uri, pages]) => {
		const rest = restOf(pages);
		const label = (/^https?:/i.test(uri) ? uri : basename(uri)).slice(0, MAX_LABEL);
		return pages.map((_, at) => ({
			label,
			...(rest !== undefined && { tokens: at === 0 ? estimateTokens(rest) : 0 }),
		}));
	});
}

function tiersUses(entries: readonly SessionEntry[]): Use[] {
	const states = new Map<string | null, { changes: readonly unknown[]; files: number }>();
	const uses: Use[] = [];
	for (const entry of entries) {
		let state = states.get(entry.parentId) ?? { changes: [], files: 0 };
		if (entry.type === "custom" && entry.customType === WORKSET_ENTRY) {
			const changes = [...state.changes, entry.data];
			state = { changes, files: selectionOf(changes).paths.length };
		}
		states.set(entry.id, state);
		const isAnswer = entry.type === "message" && entry.message.role === "assistant";
		if (isAnswer && state.files > 0) uses.push({ label: "request with working files" });
	}
	return uses;
}

/** Characters that no page showed. For a PDF, estimated from the shown pages. */
function restOf(pages: readonly { details: unknown; characters: number }[]): number | undefined {
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

function resultsIn(entries: readonly SessionEntry[]) {
	return entries.flatMap((entry) =>
		entry.type === "message" && entry.message.role === "toolResult" ? [entry.message] : [],
	);
}
