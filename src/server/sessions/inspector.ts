import type { AgentSession } from "@earendil-works/pi-coding-agent";
import { loadConfig } from "../../core/config.ts";
import type { ContextPieceText, ContextView, Cost, Savings, Tiers } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import { type ContextSource, contextView, pieceText } from "./context-view.ts";
import { costView } from "./cost-view.ts";
import type { LiveSession } from "./live-session.ts";
import { savingsView } from "./savings-view.ts";

/** Looks into one session: what its model sees, what that costs, what our systems saved. */
export interface Inspector {
	contextView(): ContextView;
	/** A stretch of a piece's text from `offset`; `undefined` if there is no such piece. */
	contextPiece(pieceId: string, offset: number): ContextPieceText | undefined;
	cost(): Cost;
	tiers(): Tiers;
	savings(): Savings;
}

/** Makes the inspector of a session. Called for each question. */
export type Inspect = (live: Pick<LiveSession, "session" | "inside">) => Inspector;

/** What pi's session tells, and of the working set what the extension in it knows. */
export function createSessionInspect(agentDir: string): Inspect {
	const costOf = (session: AgentSession) =>
		costView({
			entries: session.sessionManager.getEntries(),
			branch: session.sessionManager.getBranch(),
			findModel: (provider, id) => session.modelRuntime.getModel(provider, id),
			compactsAbove: (provider, id) => compactionLimit(session, provider, id),
		});
	return ({ session, inside }) => ({
		contextView: () => contextView(sourceOf(session)),
		contextPiece: (pieceId, offset) => pieceText(sourceOf(session), pieceId, offset),
		cost: () => costOf(session),
		tiers: () => {
			const view = inside()?.tiers(session);
			if (!view) return { layout: "off", files: [], picture: "" };
			const files = view.files.map(({ changedMs, place: _place, ...file }) => ({
				...file,
				lastChangeMs: changedMs,
			}));
			return { ...view, files };
		},
		savings: () => {
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
	});
}

/** A piece that is there, or the failure that says it is not. */
export function pieceOf(inspector: Inspector, pieceId: string, offset: number): ContextPieceText {
	const piece = inspector.contextPiece(pieceId, offset);
	if (piece) return piece;
	throw new CommandError(
		"not_found",
		`pieceId: "${pieceId}" is not in the context (any more): see get_context_view`,
	);
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
