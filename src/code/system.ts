import { statSync } from "node:fs";
import { join } from "node:path";
import type { SymbolMapAnswer, SymbolMapQuery } from "../codeindex/index.ts";
import { BRIEFING_ENTRY } from "../core/entry-types.ts";
import { inTime } from "../core/in-time.ts";
import { isNestedCall } from "../core/nested-call.ts";
import { property } from "../core/property.ts";
import type { Host, ReadAnswer, ReadCall, SessionView, Spine, System } from "../session/index.ts";
import { type CodeSession, callerOf, createCodeSession, showStatus } from "./code-session.ts";
import { registerKotaCommand, type Subcommand } from "./command.ts";
import type * as Code from "./index.ts";
import { codeTools, prepareInput } from "./tool-definitions.ts";

export interface CodeSystemOptions {
	readonly subcommands?: ReadonlyMap<string, Subcommand>;
	readonly openEngine?: typeof Code.openEngine;
}

/** Time limit for the user's reply. The user may be away while the model waits. */
const OFFER_MS = 20_000;
/** A prompt waits this long for its briefing. Slower indexing continues in the background. */
const BRIEFING_MS = 20_000;

/** Tools, `/kota`, status line and briefings. The engine is loaded with the first question. */
export class CodeSystem implements System {
	readonly name = "kota";
	readonly #spine: Spine;
	readonly #codeSession: CodeSession;
	/** Whether to offer whole answers: true until the user declines once or does not reply. */
	#mayOffer = true;
	#isFailureReported = false;

	constructor(spine: Spine, { subcommands, openEngine }: CodeSystemOptions = {}) {
		this.#spine = spine;
		this.#codeSession = createCodeSession(openEngine);
		for (const tool of codeTools) this.#registerTool(tool);
		registerKotaCommand(spine, this.#codeSession, subcommands);
	}

	status({ config }: SessionView) {
		return config.kota.enabled
			? { on: true, why: "code questions: kota_search, kota_deps, kota_usages, …" }
			: { on: false, why: "kota.enabled is false" };
	}

	start(session: SessionView): void {
		this.#mayOffer = true;
		this.#isFailureReported = false;
		if (session.config.kota.enabled) showStatus(session);
		else withdrawTools(this.#spine.host);
	}

	stop(): Promise<void> {
		return this.#codeSession.close();
	}

	/** Serves a read of `file#symbol`, if that is no file's name and the project is indexed. */
	async readSymbol(call: ReadCall, session: SessionView): Promise<ReadAnswer | undefined> {
		if (!session.config.kota.enabled || !/^(?!\w+:)[^#]*[^#/]#./.test(call.path)) return undefined;
		const opened = await this.#codeSession.open(session);
		const { project, paths } = opened;
		const { file, symbol } = paths.target(call.path);
		const isOfFile = file !== undefined && isFile(join(project.root, file));
		if (!isOfFile || symbol === undefined) return undefined;
		const status = await project.status();
		if (status.state === "absent") return undefined;
		const { text, details } = await this.#answer("kota_symbol", { symbol: call.path }, opened, {
			caller: callerOf(session, opened.code, call.signal),
		});
		return { content: [{ type: "text", text }], details };
	}

	/** Adds a briefing to prompts that name one to three files; in mode `always`, else on the files last worked on. Shows an error once per session. */
	async onPrompt(prompt: string | undefined, session: SessionView) {
		const { enabled, autoContext } = session.config.kota;
		if (!enabled || autoContext === "off" || prompt === undefined) return undefined;
		try {
			const content = await inTime(this.#briefingFor(prompt, autoContext, session), BRIEFING_MS);
			if (!content || isInContext(content, session)) return undefined;
			return { customType: BRIEFING_ENTRY, content, display: true, details: undefined };
		} catch (error) {
			if (!this.#isFailureReported) {
				session.ui.notify(`kota: the prompt gets no briefing: ${(error as Error).message}`, "info");
			}
			this.#isFailureReported = true;
			return undefined;
		}
	}

	async symbolMap(session: SessionView, query: SymbolMapQuery): Promise<SymbolMapAnswer> {
		const { code, project } = await this.#codeSession.open(session);
		return await project.ask("symbolMap", query, callerOf(session, code, session.signal));
	}

	#registerTool(tool: (typeof codeTools)[number]): void {
		this.#spine.host.registerTool({
			...tool,
			label: tool.name,
			prepareArguments: prepareInput as () => Record<string, unknown>,
			execute: async (toolCallId, params, signal, onUpdate, ctx) => {
				const session = this.#spine.at(ctx);
				const opened = await this.#codeSession.open(session);
				const isOffered = this.#mayOffer && opened.settings.offerWhole && session.hasUI;
				const offerWhole = (bytes: number) => this.#offer(bytes, tool.name, session, signal);
				const { text, details } = await this.#answer(tool.name, params, opened, {
					caller: callerOf(session, opened.code, signal, onUpdate),
					...(isOffered && !isNestedCall(toolCallId) && { offerWhole }),
				});
				return { content: [{ type: "text", text }], details };
			},
		});
	}

	#answer(
		name: (typeof codeTools)[number]["name"],
		input: unknown,
		{ code, project, paths, blobs, settings }: OpenedCode,
		{
			caller,
			offerWhole,
		}: { caller: Code.Caller; offerWhole?: (bytes: number) => Promise<boolean> },
	) {
		const { maxAnswerBytes: maxBytes } = settings;
		return code.runTool(name, input as never, {
			...{ project, paths, caller, now: Date.now },
			delivery: { maxBytes, blobs, ...(offerWhole && { offerWhole }) },
		});
	}

	async #offer(
		bytes: number,
		tool: string,
		session: SessionView,
		signal: AbortSignal | undefined,
	): Promise<boolean> {
		if (!this.#mayOffer) return false;
		this.#mayOffer = false; // only the first of concurrent calls asks
		const size = `${Math.ceil(bytes / 1000)} KB, about ${Math.ceil(bytes / 4000)} thousand tokens`;
		this.#mayOffer = await session.ui.confirm(
			`${tool}: the answer was shortened`,
			`Give the model more of the answer (${size})?`,
			{ timeout: OFFER_MS, ...(signal && { signal }) },
		);
		return this.#mayOffer;
	}

	async #briefingFor(
		prompt: string,
		mode: "onPaths" | "always",
		session: SessionView,
	): Promise<string | undefined> {
		const { code, project, paths } = await this.#codeSession.open(session);
		const lookup = { paths, isFile };
		const files = code.filesToBrief(prompt, mode, () => messagesOf(session), lookup);
		if (typeof files === "number") {
			const advice = "too many for a briefing. Ask the model to call kota_task_context.";
			session.ui.notify(`kota: the prompt names ${files} files, ${advice}`, "info");
			return undefined;
		}
		if (files.length === 0) return undefined;
		try {
			const query = { files, includeTests: true };
			const caller = callerOf(session, code, session.signal);
			return code.briefing(await project.ask("taskContext", query, caller), paths);
		} catch (error) {
			// A prompt may name files that git ignores and the index lacks.
			if (property(error, "code") === "unknown-file") return undefined;
			throw error;
		}
	}
}

type OpenedCode = Awaited<ReturnType<CodeSession["open"]>>;

/** Before the first request, the prefix cache is empty, so removing tools costs nothing. */
function withdrawTools(host: Host): void {
	const ours = new Set<string>(codeTools.map(({ name }) => name));
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

/** A briefing that is already in the context would add nothing. */
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
