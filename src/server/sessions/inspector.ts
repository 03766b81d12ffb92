import { basename } from "node:path";
import type { AgentSession, SessionEntry } from "@earendil-works/pi-coding-agent";
import { loadConfig } from "../../core/config.ts";
import { WORKSET_ENTRY } from "../../core/entry-types.ts";
import { countIn, property } from "../../core/property.ts";
import { estimateTokens } from "../../core/tokens.ts";
import type { Command, CommandType, Data } from "../../protocol/index.ts";
import { textOf } from "../../session/index.ts";
import { selectionOf } from "../../workset/index.ts";
import { CommandError } from "../engine/call.ts";
import { contextSource, contextView, pieceText } from "./context-view.ts";
import { costView, removedBy } from "./cost-view.ts";
import type { Basis } from "./kept-answers.ts";
import type { LiveSession } from "./live-session.ts";
import type { SessionHandlers } from "./slot.ts";

export function createInsightHandlers(agentDir: string) {
	const costOf = (session: AgentSession) =>
		costView({
			entries: session.sessionManager.getEntries(),
			branch: session.sessionManager.getBranch(),
			findModel: (provider, id) => session.modelRuntime.getModel(provider, id),
			compactsAbove(provider, id) {
				const window = session.modelRuntime.getModel(provider, id)?.contextWindow;
				const settings = session.settingsManager.getCompactionSettings({ provider, id });
				return window && settings.enabled ? window - settings.reserveTokens : undefined;
			},
		});
	return {
		get_context_view: (live) => contextView(contextSource(live)),
		get_context_piece(live, { pieceId, offset = 0 }) {
			const piece = pieceText(contextSource(live), pieceId, offset);
			if (piece) return piece;
			throw new CommandError(
				"not_found",
				`pieceId: "${pieceId}" is not in the context (any more): see get_context_view`,
			);
		},
		get_cost: ({ session }) => costOf(session),
		get_tiers({ session, inside }) {
			const view = inside?.tiers(session);
			if (!view) return { layout: "off", files: [], picture: "" };
			const files = view.files.map(({ changedMs, place: _place, ...file }) => ({
				...file,
				lastChangeMs: changedMs,
			}));
			return { ...view, files };
		},
		get_savings({ session }) {
			const { config } = loadConfig({ agentDir, cwd: session.sessionManager.getCwd() });
			return savingsView({
				entries: session.sessionManager.getEntries(),
				misses: costOf(session).requests.flatMap(({ miss }) => miss ?? []),
				enabled: {
					readCache: config.readcache.mode === "on",
					paging: config.paging.enabled,
					kota: config.kota.enabled,
					pruning: config.prune.enabled,
					tiers: config.tiers.enabled,
					economy: true,
				},
			});
		},
	} satisfies Partial<SessionHandlers>;
}

/** `undefined`: not cacheable. While pi works it changes the last message in place. */
export function basisOf(command: Command, { session, revision }: LiveSession): Basis | undefined {
	if (session.isStreaming || session.isCompacting) return undefined;
	const list = BASES[command.type]?.(session);
	return list && { facts: [revision, session, ...list.facts], list: list.list };
}

const BASES: { readonly [Type in CommandType]?: (session: AgentSession) => Basis } = {
	get_messages: (session) => ({ facts: [], list: session.messages }),
	get_tree: entriesOf,
	get_entries: entriesOf,
	get_context_view: contextOf,
	get_context_piece: contextOf,
};

function entriesOf({ sessionManager }: AgentSession): Basis {
	return { facts: [sessionManager, sessionManager.getLeafId()], list: sessionManager.getEntries() };
}

/** Same inputs as `contextSource`. */
function contextOf(session: AgentSession): Basis {
	const { sessionManager, model, systemPrompt } = session;
	const { facts, list } = entriesOf(session);
	const tools = session
		.getAllTools()
		.flatMap(({ name, description, parameters }) => [name, description, parameters]);
	const more = [sessionManager.getCwd(), sessionManager.getHeader(), model, systemPrompt];
	return { facts: [...facts, ...more, ...session.getActiveToolNames(), ...tools], list };
}

type System = Exclude<keyof Data<"Savings">, "total">;

interface SavingsSource {
	/** All branches: all were paid for. */
	entries: readonly SessionEntry[];
	misses: readonly Data<"CacheMiss">[];
	enabled: Readonly<Record<System, boolean>>;
}

/** What our systems saved, derived from the session's entries. */
export function savingsView({ entries, misses, enabled }: SavingsSource): Data<"Savings"> {
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	const removed = entries.flatMap((entry) => removedBy(entry, byId) ?? []);
	const removedFor = (wanted: System) => removed.filter(({ system }) => system === wanted);
	// An explained miss saves nothing by itself.
	const explained = misses.flatMap(({ cause }) =>
		cause === "unknown" ? [] : [{ label: `miss explained: ${cause}` }],
	);
	const systems = {
		readCache: summed(enabled.readCache, removedFor("readCache")),
		paging: summed(enabled.paging, pagingUses(entries)),
		kota: summed(enabled.kota, kotaUses(entries)),
		pruning: summed(enabled.pruning, removedFor("pruning")),
		tiers: summed(enabled.tiers, tiersUses(entries)),
		economy: summed(enabled.economy, explained),
	};
	const tokens = Object.values(systems).reduce((sum, system) => sum + system.tokens, 0);
	return { ...systems, total: { tokens } };
}

/** Further reasons are few and small. */
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

interface Use {
	readonly label: string;
	readonly tokens?: number;
}

/** Only what a budget cut off is measured. */
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

/** Characters not shown by any page; for a PDF estimated from the shown pages. */
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
