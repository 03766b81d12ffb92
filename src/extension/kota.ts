import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type * as Kota from "../code/index.ts";
import type { SymbolMapAnswer, SymbolMapQuery } from "../codeindex/index.ts";
import { createBlobStore } from "../core/blob-store.ts";
import { isNestedCall } from "../core/nested-call.ts";
import type { ValuesFor } from "./guarded-stores.ts";
import { registerBriefings } from "./kota-briefing.ts";
import { type KotaSubcommand, registerKotaCommand } from "./kota-command.ts";
import { renderKotaCall, renderKotaResult } from "./kota-render.ts";
import { createKotaSession, kotaAsker, type OpenKota, showKotaStatus } from "./kota-session.ts";
import { kotaTools, prepareKotaInput } from "./kota-tools.ts";
import type { Report } from "./report.ts";
import type { ConfigFor, System } from "./system.ts";

/** What the kota tools need of the composition root. */
export interface KotaSystemOptions {
	pi: ExtensionAPI;
	report: Report;
	configFor: ConfigFor;
	/** What must not be stored. */
	valuesFor?: ValuesFor;
	/** Subcommands that other systems add to `/kota`. */
	more?: ReadonlyMap<string, KotaSubcommand>;
	/** Default: the engine that the settings name. */
	openEngine?: typeof Kota.openEngine;
}

/** How long the offer of the whole answer stays open: perhaps nobody is there, and the model waits. */
const OFFER_MS = 20_000;

/**
 * Puts code intelligence into pi: six tools, the command `/kota`, a status line, and briefings for prompts that name
 * files. The engine and all that shapes its answers are loaded when the first question comes.
 */
export function createKotaSystem({
	pi,
	report,
	configFor,
	valuesFor,
	more,
	openEngine,
}: KotaSystemOptions): System & {
	/** A map of the project's symbols; asks for consent like any question, and rejects without it. */
	symbolMap(ctx: ExtensionContext, query: SymbolMapQuery): Promise<SymbolMapAnswer>;
} {
	const session = createKotaSession(configFor, openEngine, valuesFor);
	/** Whether the user may still be offered a whole answer in this session. */
	let mayOffer = true;
	let enabled = true;

	for (const tool of kotaTools) {
		pi.registerTool({
			...tool,
			label: tool.name,
			prepareArguments: prepareKotaInput as () => Record<string, unknown>,
			renderCall: (args, theme) => renderKotaCall(tool.name, args, theme),
			renderResult: renderKotaResult,
			async execute(toolCallId, params, signal, onUpdate, ctx) {
				const opened = await session.open(ctx);
				const { kota, project, paths, blobs, settings } = opened;
				const offerWhole = (bytes: number) => offer(bytes, tool.name, ctx, signal);
				const { text, details } = await kota.runTool(tool.name, params as never, {
					project,
					paths,
					asker: kotaAsker(ctx, kota, signal, onUpdate),
					delivery: {
						maxBytes: settings.maxAnswerBytes,
						blobs,
						...(isOffered(toolCallId, opened, ctx) && { offerWhole }),
					},
					now: Date.now,
				});
				return { content: [{ type: "text", text }], details };
			},
		});
	}
	registerBriefings(pi, session, configFor);
	registerKotaCommand({ pi, report, session, configFor, ...(more && { more }) });

	return {
		name: "kota",
		status: () =>
			enabled
				? { on: true, why: "code questions: kota_search, kota_deps, kota_usages, …" }
				: { on: false, why: "kota.enabled is false" },
		start({ ctx }) {
			mayOffer = true;
			enabled = configFor(ctx).config.kota.enabled;
			if (enabled) showKotaStatus(ctx);
			else withdrawTools(pi);
			// In the background: nobody waits for old answers to be deleted. Failures come back as results.
			void createBlobStore(configFor(ctx).config.blobs).sweep();
		},
		async symbolMap(ctx, query) {
			const { kota, project } = await session.open(ctx);
			const asker = kotaAsker(ctx, kota, ctx.signal);
			return await project.ask((index, options) => index.symbolMap(query, options), asker);
		},
		stop: session.close,
	};

	function isOffered(toolCallId: string, { settings }: OpenKota, ctx: ExtensionContext): boolean {
		return mayOffer && settings.offerWhole && ctx.hasUI && !isNestedCall(toolCallId);
	}

	/** Asks until the user says no once, or does not answer. */
	async function offer(
		bytes: number,
		tool: string,
		ctx: ExtensionContext,
		signal: AbortSignal | undefined,
	): Promise<boolean> {
		if (!mayOffer) return false;
		mayOffer = false; // of calls side by side only the first asks
		const size = `${Math.ceil(bytes / 1000)} KB, about ${Math.ceil(bytes / 4000)} thousand tokens`;
		mayOffer = await ctx.ui.confirm(
			`${tool}: the answer was shortened`,
			`Give the model more of it (${size})?`,
			{ timeout: OFFER_MS, ...(signal && { signal }) },
		);
		return mayOffer;
	}
}

/** Before the first request nothing is cached yet, so taking tools away costs nothing. */
function withdrawTools(pi: ExtensionAPI): void {
	const ours = new Set<string>(kotaTools.map(({ name }) => name));
	pi.setActiveTools(pi.getActiveTools().filter((name) => !ours.has(name)));
}
