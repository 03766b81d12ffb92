import { existsSync } from "node:fs";
import { setImmediate as nextTick, setTimeout as sleep } from "node:timers/promises";
import type { AgentSession, AgentSessionRuntime } from "@earendil-works/pi-coding-agent";
import { isWithin, realOrGiven } from "../../core/places.ts";
import type { StrataInside } from "../../extension/index.ts";
import type { Data } from "../../protocol/index.ts";
import type { SessionRecord } from "../journal/journal.ts";
import { safeText, wrongState } from "../safe-text.ts";
import { Dialogs } from "./dialogs.ts";
import { EventTranslator } from "./events.ts";
import { describeDamage, openSessionFile, type SessionFileOptions } from "./open-session-file.ts";
import { createPiRuntime, OWN_NAME, type PiOptions, type PiState } from "./pi-runtime.ts";
import { ensureSessionFile, FileGuard, lastEntryOf } from "./session-file.ts";
import { addedEntries, type SessionMirror } from "./session-mirror.ts";
import { type ChosenSettings, chosenIn, type StoredSettings } from "./stored-settings.ts";
import { type ProgressReport, TerminalProgress } from "./terminal-progress.ts";

interface LiveSessionOptions extends SessionFileOptions {
	readonly pi: PiOptions;
	/** Set if the session follows one in a terminal: `file` is then its copy. */
	readonly mirror?: SessionMirror;
	emit(event: Data<"SessionEvent">): void;
	onChange(): void;
}

type ReplacementReason = Extract<Data<"SessionEvent">, { type: "session_replaced" }>["reason"];

/** How many of the last messages may have to do with a report: an answer and the results of its calls. */
const LATEST = 100;
const CLOSE_MS = 5000;
/** Maximum time that `abort` waits for pending prompts to end. */
const ACCEPT_MS = 5000;

/** A session with a running pi. Pi replaces its session objects, so read `session` each time. */
export class LiveSession {
	readonly runtime: AgentSessionRuntime;
	readonly dialogs: Dialogs;
	readonly chosen: ChosenSettings;
	readonly guard: FileGuard;
	/** Describes lost and foreign entries found when the file was opened. */
	readonly warning: string | undefined;
	readonly #options: LiveSessionOptions;
	readonly #state: PiState;
	readonly #translator: EventTranslator;
	/** What the pi in a terminal reports, if the session follows one. */
	readonly #progress: TerminalProgress;
	/** Prompts that pi has not yet accepted or refused. Pi's own abort does not reach them. */
	readonly #pendingPrompts = new Set<PendingPrompt>();
	/** The user's shell commands, including those pi has not started. */
	readonly #shellCommands = new Set<AbortController>();
	/** Increases whenever the session may have changed, or is about to change. */
	revision = 0;
	wasAborted = false;
	/** True after pi disposed of its session, until the next one exists. */
	isBroken = false;
	/** Set during {@link replacing}. Resolves when it ends, also if it fails. */
	replacement: Promise<void> | undefined;
	#replacementReason: ReplacementReason = "new";
	#unsubscribe = () => {};
	/** Whether `close` began with an intact session. The guard may then still repair its file. */
	#isClosing = false;

	static async open(options: LiveSessionOptions): Promise<LiveSession> {
		const { pi, settings, cwd } = options;
		const opened = openSessionFile(options);
		const { model, thinkingLevel } = settings;
		const state: PiState = { chosen: chosenIn(settings), preferred: { model, thinkingLevel } };
		if (opened.leaf) state.chosen.leaf = opened.leaf;
		const runtime = await createPiRuntime(pi, state, { cwd, sessionManager: opened.manager });
		const live = new LiveSession(options, state, runtime, opened.warning);
		try {
			await live.#bind(runtime.session);
			options.mirror?.follow(() => live.#follow());
		} catch (error) {
			live.guard.close();
			runtime.session.dispose();
			throw error;
		}
		return live;
	}

	private constructor(
		options: LiveSessionOptions,
		state: PiState,
		runtime: AgentSessionRuntime,
		warning: string | undefined,
	) {
		const { emit, onChange, settings, pi } = options;
		this.#options = options;
		this.#state = state;
		this.chosen = state.chosen;
		this.runtime = runtime;
		this.#translator = new EventTranslator({ emit, wasAborted: () => this.wasAborted });
		this.#progress = new TerminalProgress({
			emit: (event) => {
				this.revision++;
				emit(event);
			},
			isWritten: (timestamp) => this.#answers().some((answer) => answer.timestamp === timestamp),
			argsOf: (id) => this.#argsOf(id),
		});
		this.dialogs = new Dialogs({
			emit: (event) => {
				emit(event);
				if (event.type !== "extension_ui_request") return;
				const isAborting = [...this.#pendingPrompts].some(({ isAborted }) => isAborted);
				if (isAborting) queueMicrotask(() => this.dialogs.cancelAll());
			},
			timeoutMs: pi.dialogTimeoutMs,
		});
		const guard = new FileGuard({
			// A copy is replaced with each new entry, and needs no repair.
			session: () =>
				options.mirror || (this.isBroken && !this.#isClosing) ? undefined : runtime.session,
			notify: this.dialogs.ui.notify,
			onMoved: () => this.#announceReplacement("fork"),
			onRepaired: onChange,
		});
		this.guard = guard;
		guard.checkAndReport();
		this.warning =
			[warning, this.#damage(), replacedModel(runtime)].filter(Boolean).join(" ") || undefined;
		try {
			const { session } = runtime;
			if (settings.name && !session.sessionName) session.setSessionName(settings.name);
		} catch {
			guard.checkAndReport(); // pi set the name but could not append it to the file
		}
		runtime.setBeforeSessionInvalidate(() => {
			this.isBroken = true;
			const { model, thinkingLevel } = runtime.session;
			const preferred = model && { provider: model.provider, id: model.id };
			state.preferred = { model: preferred, thinkingLevel };
			this.dialogs.reset();
		});
		runtime.setRebindSession(async (session) => {
			await this.#bind(session);
			this.isBroken = false;
			this.#announceReplacement(this.#replacementReason);
			guard.checkAndReport();
			const damage = this.#damage();
			if (damage) this.dialogs.ui.notify(damage, "warning");
		});
	}

	get session(): AgentSession {
		return this.runtime.session;
	}

	get inside(): StrataInside | undefined {
		return this.#state.inside;
	}

	/** Whether the model works, here or in the terminal that the session follows. */
	get isStreaming(): boolean {
		return this.session.isStreaming || this.#progress.isRunning;
	}

	get isBashRunning(): boolean {
		return this.#shellCommands.size > 0;
	}

	/** Whether closing pi would interrupt or lose something. */
	get isBusy(): boolean {
		const { session } = this;
		return (
			session.isStreaming ||
			session.isCompacting ||
			session.isRetrying ||
			session.isBashRunning ||
			session.hasPendingBashMessages ||
			session.pendingMessageCount > 0 ||
			this.isBashRunning ||
			this.isBroken ||
			this.replacement !== undefined ||
			this.#pendingPrompts.size > 0 ||
			this.dialogs.isAsking
		);
	}

	/** The record of the session, as it is now. */
	recordAfter(before: SessionRecord): SessionRecord {
		const { principal, id, createdAtMs, file: known } = before;
		const { session, chosen, runtime } = this;
		const { sessionFile, model, sessionName } = session;
		const isWritten =
			sessionFile !== undefined && (sessionFile === known || existsSync(sessionFile));
		const lastEntry = lastEntryOf(session.sessionManager);
		const { lastInFile } = this.guard;
		const about = {
			...chosen,
			piSessionId: session.sessionId,
			...(sessionName && { name: sessionName }),
			...(model && { model: { provider: model.provider, id: model.id } }),
			thinkingLevel: session.thinkingLevel,
			messageCount: session.messages.length,
		};
		const given = { principal, id, createdAtMs };
		// The copy of a watched file and its entries are no state: the next process makes another.
		if (chosen.watches !== undefined) return { ...given, cwd: before.cwd, settings: about };
		const settings: StoredSettings = {
			...about,
			...(isWritten && lastEntry && { lastEntry }),
			...(isWritten && lastInFile && lastInFile !== lastEntry && { lastInFile }),
		};
		return { ...given, cwd: runtime.cwd, ...(isWritten && { file: sessionFile }), settings };
	}

	async replacing<T>(reason: ReplacementReason, replace: () => Promise<T>): Promise<T> {
		const ended = Promise.withResolvers<void>();
		this.#replacementReason = reason;
		this.replacement = ended.promise;
		try {
			return await replace();
		} finally {
			this.#replacementReason = "new";
			this.replacement = undefined;
			ended.resolve();
		}
	}

	ensureFile(): void {
		ensureSessionFile(this.session);
		this.guard.check();
	}

	/** In the demo, throws for a session outside the sample projects. */
	checkModelUse(): void {
		const { sampleProjects } = this.#options.pi;
		if (sampleProjects === undefined) return;
		if (isWithin(realOrGiven(sampleProjects), realOrGiven(this.runtime.cwd))) return;
		throw wrongState(
			"The server runs the demo, a script that works only on sample projects: create a session without cwd, or set up a model with pi",
		);
	}

	async reload(): Promise<void> {
		this.dialogs.reset();
		await this.session.reload();
		this.applyTools();
		this.#announceReplacement("reload");
	}

	applyTools(): void {
		const { tools } = this.chosen;
		if (!tools) return;
		const active = this.session.getActiveToolNames();
		if (tools.length === active.length && tools.every((name) => active.includes(name))) return;
		this.session.setActiveToolsByName(tools);
	}

	async runningBash<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
		const stopping = new AbortController();
		this.#shellCommands.add(stopping);
		this.#translator.bashStarts();
		try {
			return await run(stopping.signal);
		} finally {
			this.#shellCommands.delete(stopping);
		}
	}

	abortBash(): void {
		for (const stopping of this.#shellCommands) stopping.abort();
	}

	/** Lets `abort` reach the prompt until pi accepts or refuses it. */
	accepting<T>(accept: () => Promise<T>): Promise<T> {
		const accepted = accept();
		const end = async () => {
			this.#pendingPrompts.delete(prompt);
			if (prompt.isAborted) await this.#stop();
		};
		const prompt: PendingPrompt = { isAborted: false, ended: accepted.then(end, end) };
		this.#pendingPrompts.add(prompt);
		return accepted;
	}

	/** Stops the run, dialogs and pending prompts. Waits for pending prompts for up to `ACCEPT_MS`. */
	async abort(): Promise<void> {
		await nextTick(); // a prompt sent just before is pending after this
		const prompts = [...this.#pendingPrompts];
		for (const prompt of prompts) prompt.isAborted = true;
		await this.#stop();
		if (prompts.length === 0) return;
		const ended = Promise.all(prompts.map((prompt) => prompt.ended));
		await Promise.race([ended, sleep(ACCEPT_MS, undefined, { ref: false })]);
	}

	async close(): Promise<void> {
		this.dialogs.cancelAll();
		const { session } = this;
		this.abortBash();
		session.abortBash(); // shell commands of extensions
		session.abortCompaction();
		session.abortBranchSummary();
		await Promise.race([session.abort(), sleep(CLOSE_MS, undefined, { ref: false })]);
		this.#isClosing = !this.isBroken;
		await this.runtime.dispose();
		this.guard.close();
		this.#unsubscribe();
		this.#translator.close();
		this.#progress.close();
	}

	/** Shows the run that a pi in a terminal reports. Returns what is known of the reported message. */
	showProgress(report: ProgressReport): number[] {
		const { mirror } = this.#options;
		if (!mirror || this.isBroken) return [];
		mirror.poll(); // what came before this report is in the file
		return this.#progress.take(report);
	}

	async #stop(): Promise<void> {
		if (this.session.isStreaming) this.wasAborted = true;
		this.dialogs.cancelAll();
		await this.session.abort();
	}

	async #bind(session: AgentSession): Promise<void> {
		this.#unsubscribe();
		this.wasAborted = false;
		this.#unsubscribe = session.subscribe((event) => {
			this.revision++;
			if (event.type === "agent_start") this.wasAborted = false;
			// The check comes before `#writeFile`, which must not overwrite lines of another program.
			if (APPENDING.has(event.type)) this.guard.checkAndReport();
			if (event.type === "agent_settled") this.#writeFile(session);
			this.#translator.translate(event);
			if (CHANGING.has(event.type)) this.#options.onChange();
		});
		const { runtime } = this;
		await session.bindExtensions({
			mode: "rpc",
			// All methods are own properties, because pi copies the object.
			uiContext: { ...session.extensionRunner.getUIContext(), ...this.dialogs.ui },
			commandContextActions: {
				waitForIdle: () => session.waitForIdle(),
				newSession: (given) => this.replacing("new", () => runtime.newSession(given)),
				fork: (entryId, given) => this.replacing("fork", () => runtime.fork(entryId, given)),
				navigateTree: (targetId, given) => session.navigateTree(targetId, given),
				switchSession: (path, given) =>
					this.replacing("switch", () => runtime.switchSession(path, given)),
				reload: () => this.reload(),
			},
			shutdownHandler: () => {}, // an extension must not stop the server
			onError: ({ extensionPath, event, error }) =>
				this.#reportError(safeText(extensionPath), event, error),
		});
		this.applyTools();
	}

	/** Writes a missing file. Pi writes none after a run without an answer. */
	#writeFile(session: AgentSession): void {
		try {
			ensureSessionFile(session);
		} catch (error) {
			this.#reportError(OWN_NAME, "agent_settled", error);
		}
	}

	#reportError(extensionPath: string, event: string, error: unknown): void {
		const about = { extensionPath, event, error: safeText(error) };
		this.#options.emit({ type: "extension_error", ...about });
	}

	#announceReplacement(reason: ReplacementReason): void {
		const { sessionFile } = this.session;
		this.revision++;
		this.#options.emit({ type: "session_replaced", reason, ...(sessionFile && { sessionFile }) });
		this.#options.onChange();
	}

	/** Shows what a pi in a terminal has added to its file since. */
	#follow(): void {
		const { mirror } = this.#options;
		if (!mirror || this.isBroken) return;
		const { sessionManager } = this.session;
		const before = sessionManager.getEntries().map(({ id }) => id);
		sessionManager.setSessionFile(mirror.path);
		this.session.refreshContext();
		this.revision++;
		const { entries, isContinued } = addedEntries(before, sessionManager.getEntries());
		if (!isContinued) {
			this.#progress.restart();
			this.#announceReplacement("reload");
			return;
		}
		for (const entry of entries) {
			if (entry.type === "message") {
				const { message } = entry;
				if (message.role !== "assistant" || !this.#progress.end(message.timestamp)) {
					this.#translator.translate({ type: "message_start", message });
				}
				this.#translator.translate({ type: "message_end", message });
			} else this.#translator.translate({ type: "entry_appended", entry });
		}
		if (mirror.piProcess === undefined) this.#progress.settle();
		this.#options.onChange();
	}

	/** The latest answers, the last one first. */
	#answers() {
		const latest = this.session.messages.slice(-LATEST).reverse();
		return latest.flatMap((message) => (message.role === "assistant" ? message : []));
	}

	#argsOf(toolCallId: string): unknown {
		for (const { content } of this.#answers()) {
			const call = content.find((block) => block.type === "toolCall" && block.id === toolCallId);
			if (call?.type === "toolCall") return call.arguments;
		}
		return undefined;
	}

	#damage(): string | undefined {
		return describeDamage(this.guard.garbled, this.session.sessionManager);
	}
}

interface PendingPrompt {
	isAborted: boolean;
	/** Resolves after pi accepts or refuses the prompt and, if aborted, after the run. */
	readonly ended: Promise<void>;
}

/** Events around which pi appends to its file. */
const APPENDING: ReadonlySet<string> = new Set([
	"message_start",
	"message_end",
	"turn_end",
	"agent_end",
	"agent_settled",
	"entry_appended",
	"compaction_end",
]);

const CHANGING: ReadonlySet<string> = new Set([
	"agent_settled",
	"session_info_changed",
	"thinking_level_changed",
	"compaction_end",
]);

/** Says that another model continues an old session, whose own is not set up any more. */
function replacedModel({ modelFallbackMessage, session }: AgentSessionRuntime): string | undefined {
	if (modelFallbackMessage === undefined) return undefined;
	const own = session.sessionManager.buildSessionContext().model;
	if (!own) return undefined;
	const { model } = session;
	const next = model
		? `the next message goes to ${model.provider}/${model.id}`
		: "choose another before you send a message";
	return `The session's model ${own.provider}/${own.modelId} is not available: ${next}.`;
}
