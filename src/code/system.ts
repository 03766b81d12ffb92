import { statSync } from "node:fs";
import type { AnswerOf, QueryOf } from "../codeindex/index.ts";
import { createBlobStore } from "../core/blob-store.ts";
import { BRIEFING_ENTRY } from "../core/entry-types.ts";
import { inTime } from "../core/in-time.ts";
import { isNestedCall } from "../core/nested-call.ts";
import { property } from "../core/property.ts";
import type { Host, SessionView, Spine, System } from "../session/index.ts";
import { registerKotaCommand, type Subcommand } from "./command.ts";
import type * as Code from "./index.ts";
import { createKotaSession, kotaAsker, showKotaStatus } from "./open-project.ts";
import { kotaTools, prepareKotaInput } from "./tool-texts.ts";

export interface CodeSystemOptions {
	subcommands?: ReadonlyMap<string, Subcommand>;
	openEngine?: typeof Code.openEngine;
}

/** The user may be away while the model waits. */
const OFFER_MS = 20_000;
/** A prompt waits this long for its briefing. Slower indexing continues in the background. */
const BRIEFING_MS = 20_000;

/** Tools, `/kota`, status line and briefings. The engine is loaded with the first question. */
export function createCodeSystem(
	spine: Spine,
	{ subcommands, openEngine }: CodeSystemOptions = {},
): System & {
	symbolMap(session: SessionView, query: QueryOf<"symbolMap">): Promise<AnswerOf<"symbolMap">>;
} {
	const { host, at } = spine;
	const kotaSession = createKotaSession(openEngine);
	let mayOffer = true;
	let isFailureReported = false;

	for (const tool of kotaTools) {
		host.registerTool({
			...tool,
			label: tool.name,
			prepareArguments: prepareKotaInput as () => Record<string, unknown>,
			async execute(toolCallId, params, signal, onUpdate, ctx) {
				const session = at(ctx);
				const { kota, project, paths, blobs, settings } = await kotaSession.open(session);
				const isOffered = mayOffer && settings.offerWhole && session.hasUI;
				const offerWhole = (bytes: number) => offer(bytes, tool.name, session, signal);
				const { text, details } = await kota.runTool(tool.name, params as never, {
					project,
					paths,
					asker: kotaAsker(session, kota, signal, onUpdate),
					delivery: {
						maxBytes: settings.maxAnswerBytes,
						blobs,
						...(isOffered && !isNestedCall(toolCallId) && { offerWhole }),
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
		start(session) {
			mayOffer = true;
			isFailureReported = false;
			if (session.config.kota.enabled) showKotaStatus(session);
			else withdrawTools(host);
			// Background; failures are returned as results.
			void createBlobStore(session.config.blobs).sweep();
		},
		/** Briefs prompts that name one to three files. Errors notify once a session. */
		async onPrompt(prompt, session) {
			const { enabled, autoContext } = session.config.kota;
			if (!enabled || autoContext === "off" || prompt === undefined) return undefined;
			try {
				const content = await inTime(briefingFor(prompt, autoContext, session), BRIEFING_MS);
				if (!content || isInContext(content, session)) return undefined;
				return { customType: BRIEFING_ENTRY, content, display: true, details: undefined };
			} catch (error) {
				if (!isFailureReported) {
					session.ui.notify(`kota: no briefing: ${(error as Error).message}`, "info");
				}
				isFailureReported = true;
				return undefined;
			}
		},
		async symbolMap(session, query) {
			const { kota, project } = await kotaSession.open(session);
			const asker = kotaAsker(session, kota, session.signal);
			return await project.ask("symbolMap", query, asker);
		},
		stop: kotaSession.close,
	};

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

	async function briefingFor(
		prompt: string,
		mode: "onPaths" | "always",
		session: SessionView,
	): Promise<string | undefined> {
		const { kota, project, paths } = await kotaSession.open(session);
		const lookup = { paths, isFile };
		const files = kota.filesToBrief(prompt, mode, () => messagesOf(session), lookup);
		if (typeof files === "number") {
			const advice = "too many for a briefing; ask for kota_task_context";
			session.ui.notify(`kota: the prompt names ${files} files, ${advice}`, "info");
			return undefined;
		}
		if (files.length === 0) return undefined;
		try {
			const query = { files, includeTests: true };
			const asker = kotaAsker(session, kota, session.signal);
			const answer = await project.ask("taskContext", query, asker);
			return kota.briefing(answer, paths);
		} catch (error) {
			// A prompt may name git-ignored files.
			if (property(error, "code") === "unknown-file") return undefined;
			throw error;
		}
	}
}

/** Nothing is cached before the first request, so removing tools costs nothing. */
function withdrawTools(host: Host): void {
	const ours = new Set<string>(kotaTools.map(({ name }) => name));
	host.setActiveTools(host.getActiveTools().filter((name) => !ours.has(name)));
}

function isFile(path: string): boolean {
	try {
		return statSync(path).isFile();
	} catch {
		return false; // missing or unreadable: a prompt can name anything
	}
}

function messagesOf(session: SessionView) {
	return session.sessionManager
		.getBranch()
		.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
}

/** A repeated briefing adds nothing. */
function isInContext(content: string, session: SessionView): boolean {
	return session.sessionManager
		.buildContextEntries()
		.some(
			(entry) =>
				entry.type === "custom_message" &&
				entry.customType === BRIEFING_ENTRY &&
				entry.content === content,
		);
}
