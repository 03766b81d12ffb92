import type { AgentSession } from "@earendil-works/pi-coding-agent";
import { loadConfig } from "../../core/config.ts";
import { CommandError } from "../engine/call.ts";
import { type ContextSource, contextView, pieceText } from "./context-view.ts";
import { costView } from "./cost-view.ts";
import { savingsView } from "./savings-view.ts";
import type { SessionHandlers } from "./slot.ts";

/** What a session's model sees, what that costs, and what our systems saved. */
export function createInsightHandlers(
	agentDir: string,
): SessionHandlers<
	"get_context_view" | "get_context_piece" | "get_cost" | "get_tiers" | "get_savings"
> {
	const costOf = (session: AgentSession) =>
		costView({
			entries: session.sessionManager.getEntries(),
			branch: session.sessionManager.getBranch(),
			findModel: (provider, id) => session.modelRuntime.getModel(provider, id),
			compactsAbove: (provider, id) => compactionLimit(session, provider, id),
		});
	return {
		get_context_view: ({ session }) => contextView(sourceOf(session)),
		get_context_piece({ session }, { pieceId, offset = 0 }) {
			const piece = pieceText(sourceOf(session), pieceId, offset);
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
	};
}

/** The prompt above which pi compacts with a model. */
function compactionLimit(session: AgentSession, provider: string, id: string): number | undefined {
	const window = session.modelRuntime.getModel(provider, id)?.contextWindow;
	const settings = session.settingsManager.getCompactionSettings({ provider, id });
	return window && settings.enabled ? window - settings.reserveTokens : undefined;
}

function sourceOf(session: AgentSession): ContextSource {
	const { sessionManager, model } = session;
	const active = new Set(session.getActiveToolNames());
	return {
		cwd: sessionManager.getCwd(),
		window: model?.contextWindow ?? 0,
		startedMs: Date.parse(sessionManager.getHeader()?.timestamp ?? "") || 0,
		systemPrompt: session.systemPrompt,
		tools: session
			.getAllTools()
			.filter(({ name }) => active.has(name))
			.map(({ name, description, parameters }) => ({ name, description, parameters })),
		projected: sessionManager.buildSessionProjection().entries,
		branch: sessionManager.getBranch(),
	};
}
