import type { AgentSession } from "@earendil-works/pi-coding-agent";
import { loadConfig } from "../../core/config.ts";
import { costView } from "../../cost/index.ts";
import { notFound } from "../safe-text.ts";
import { contextSource, contextView, pieceText } from "./context-view.ts";
import type { SessionHandlers } from "./held-session.ts";
import { savingsView } from "./savings-view.ts";

export function createViewHandlers(agentDir: string) {
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
			throw notFound(`pieceId: "${pieceId}" is not in the context: see get_context_view`);
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
					birth: config.birth.mode === "on" && config.blobs.enabled,
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
