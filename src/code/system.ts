import type { SymbolMapAnswer, SymbolMapQuery } from "../codeindex/index.ts";
import { createBlobStore } from "../core/blob-store.ts";
import { isNestedCall } from "../core/nested-call.ts";
import type { Host, SessionView, Spine, System } from "../session/index.ts";
import { createBriefings } from "./briefing.ts";
import { registerKotaCommand, type Subcommand } from "./command.ts";
import type * as Code from "./index.ts";
import { createKotaSession, kotaAsker, type OpenKota, showKotaStatus } from "./open-project.ts";
import { kotaTools, prepareKotaInput } from "./tool-texts.ts";

export interface CodeSystemOptions {
	subcommands?: ReadonlyMap<string, Subcommand>;
	openEngine?: typeof Code.openEngine;
}

/** The user may be away while the model waits. */
const OFFER_MS = 20_000;

/** Tools, `/kota`, status line and briefings. The engine is loaded with the first question. */
export function createCodeSystem(
	spine: Spine,
	{ subcommands, openEngine }: CodeSystemOptions = {},
): System & {
	symbolMap(session: SessionView, query: SymbolMapQuery): Promise<SymbolMapAnswer>;
} {
	const { host, at } = spine;
	const kotaSession = createKotaSession(openEngine);
	const briefings = createBriefings(kotaSession);
	let mayOffer = true;

	for (const tool of kotaTools) {
		host.registerTool({
			...tool,
			label: tool.name,
			prepareArguments: prepareKotaInput as () => Record<string, unknown>,
			async execute(toolCallId, params, signal, onUpdate, ctx) {
				const session = at(ctx);
				const opened = await kotaSession.open(session);
				const { kota, project, paths, blobs, settings } = opened;
				const offerWhole = (bytes: number) => offer(bytes, tool.name, session, signal);
				const { text, details } = await kota.runTool(tool.name, params as never, {
					project,
					paths,
					asker: kotaAsker(session, kota, signal, onUpdate),
					delivery: {
						maxBytes: settings.maxAnswerBytes,
						blobs,
						...(isOffered(toolCallId, opened, session) && { offerWhole }),
					},
					now: Date.now,
				});
				return { content: [{ type: "text", text }], details };
			},
		});
	}
	registerKotaCommand(spine, kotaSession, subcommands);

	return {
		name: "kota",
		status: ({ config }) =>
			config.kota.enabled
				? { on: true, why: "code questions: kota_search, kota_deps, kota_usages, …" }
				: { on: false, why: "kota.enabled is false" },
		start(session, reason) {
			mayOffer = true;
			briefings.start(session, reason);
			if (session.config.kota.enabled) showKotaStatus(session);
			else withdrawTools(host);
			// Background; failures are returned as results.
			void createBlobStore(session.config.blobs).sweep();
		},
		onPrompt: briefings.onPrompt,
		async symbolMap(session, query) {
			const { kota, project } = await kotaSession.open(session);
			const asker = kotaAsker(session, kota, session.signal);
			return await project.ask("symbolMap", query, asker);
		},
		stop: kotaSession.close,
	};

	function isOffered(toolCallId: string, { settings }: OpenKota, session: SessionView): boolean {
		return mayOffer && settings.offerWhole && session.hasUI && !isNestedCall(toolCallId);
	}

	/** Offers until the user declines once or does not reply. */
	async function offer(
		bytes: number,
		tool: string,
		session: SessionView,
		signal: AbortSignal | undefined,
	): Promise<boolean> {
		if (!mayOffer) return false;
		mayOffer = false; // of concurrent calls only the first asks
		const size = `${Math.ceil(bytes / 1000)} KB, about ${Math.ceil(bytes / 4000)} thousand tokens`;
		mayOffer = await session.ui.confirm(
			`${tool}: the answer was shortened`,
			`Give the model more of it (${size})?`,
			{ timeout: OFFER_MS, ...(signal && { signal }) },
		);
		return mayOffer;
	}
}

/** Nothing is cached before the first request, so removing tools costs nothing. */
function withdrawTools(host: Host): void {
	const ours = new Set<string>(kotaTools.map(({ name }) => name));
	host.setActiveTools(host.getActiveTools().filter((name) => !ours.has(name)));
}
