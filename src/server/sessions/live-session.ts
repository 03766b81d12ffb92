import { setImmediate as nextTick, setTimeout as sleep } from "node:timers/promises";
import {
	type AgentSession,
	type AgentSessionRuntime,
	type CreateAgentSessionRuntimeFactory,
	createAgentSessionFromServices,
	createAgentSessionRuntime,
	createAgentSessionServices,
	type ModelRuntime,
} from "@earendil-works/pi-coding-agent";
import { isWithin, realOrGiven } from "../../core/places.ts";
import { createStrata, type StrataInside } from "../../extension/index.ts";
import type { SessionEvent } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import { safeText } from "../safe-text.ts";
import { createDialogs, type Dialogs } from "./dialogs.ts";
import { createEventTranslator } from "./events.ts";
import { createFileGuard } from "./file-guard.ts";
import { notice } from "./notice.ts";
import { ensureSessionFile, openSessionFile } from "./pi-session-file.ts";
import { rememberName } from "./session-name.ts";
import { createSessionSettings, type SessionModes } from "./session-settings.ts";
import type { StoredSettings } from "./stored-settings.ts";

/** A session with a running pi behind it. Pi's own session objects change: ask for them each time. */
export interface LiveSession {
	readonly session: AgentSession;
	readonly runtime: AgentSessionRuntime;
	readonly dialogs: Dialogs;
	/** What clients have chosen for this session; it outlives pi's session objects. */
	readonly chosen: ChosenSettings;
	/** Runs `replace` and tells clients by `reason` that another session of pi stands behind the id now. */
	replacing<T>(reason: Replacement, replace: () => Promise<T>): Promise<T>;
	/** The {@link replacing} that is under way: resolves when it is over, well or not. */
	replacementUnderWay(): Promise<void> | undefined;
	/** Writes pi's file of the session if there is none, or none that is whole: see {@link ensureSessionFile}. */
	ensureFile(): void;
	/** Throws a `CommandError` while the file lacks what the session holds: see `FileGuard`. */
	checkFile(): void;
	/** The last entry that was seen in the file. */
	lastInFile(): string | undefined;
	/** What there was to say about the file when it was opened: what it has lost, and what others have added. */
	readonly warning: string | undefined;
	/** Throws where nothing may be asked of the models: outside the sample projects of the demo. */
	checkModelUse(): void;
	/** Takes settings, extensions, skills and prompts once more from disk. */
	reload(): Promise<void>;
	/** Makes the chosen tools the active ones. */
	applyTools(): void;
	/** Runs a shell command of the user, which `abortBash` stops through the signal. */
	runningBash<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T>;
	isBashRunning(): boolean;
	/** Stops all shell commands of the user. */
	abortBash(): void;
	/** Runs `take`, which gives pi a prompt and ends when pi has taken or refused it: `abort` holds for that prompt, too. */
	taking<T>(take: () => Promise<T>): Promise<T>;
	/**
	 * Stops what runs, dialogs included, and resolves when the session is idle. A prompt that pi has not taken yet is
	 * stopped as soon as it has, which is waited for within bounds.
	 */
	abort(): Promise<void>;
	/** Whether the last run was stopped by `abort`. */
	wasAborted(): boolean;
	/** What pi-strata's extension in it tells; `undefined` before it is loaded. */
	inside(): StrataInside | undefined;
	/** Another number whenever something may have changed in it. */
	revision(): number;
	/** Something is about to be changed, or has been. */
	touch(): void;
	/** Pi's session is gone and no other one in its place: not yet, or for good since that failed halfway. */
	isBroken(): boolean;
	/** Stops what runs and disposes of it; what does not stop within seconds is left behind. */
	close(): Promise<void>;
}

export type Replacement = Extract<SessionEvent, { type: "session_replaced" }>["reason"];

export type ChosenSettings = SessionModes & Pick<StoredSettings, "tools" | "leaf" | "trustedCwd">;

/** What all sessions of a server share. */
export interface Host {
	readonly agentDir: string;
	readonly modelRuntime: ModelRuntime;
	/** Whether a project's own settings and extensions may be loaded at all. Default: no. */
	readonly allowProjectTrust?: boolean;
	/** How long dialogs wait by themselves, in milliseconds. */
	readonly dialogTimeoutMs?: number;
	/** The models are a script that must not work on anything outside this folder. */
	readonly sampleProjects?: string;
}

export interface LiveSessionOptions {
	readonly host: Host;
	readonly cwd: string;
	/** Pi's file to go on with; without one the session is made from `settings`. */
	readonly file?: string;
	readonly settings: StoredSettings;
	/** The process before did not end by itself. */
	readonly wasCutOff?: boolean;
	emit(event: SessionEvent): void;
	/** Something may have changed that the session's record holds. */
	onChange(): void;
}

const OWN_NAME = "pi-strata";
/** How long a tool may take to stop when its session is closed. */
const CLOSE_MS = 5000;
/** How long `abort` waits for pi to take a prompt, so that it can be stopped. After that it is stopped all the same. */
const TAKE_MS = 5000;

export async function openLiveSession(options: LiveSessionOptions): Promise<LiveSession> {
	const { host, settings, emit, onChange } = options;
	const { agentDir } = host;
	const chosen = chosenIn(settings);
	/** Prompts that pi has and has neither taken nor refused; pi's own abort does nothing to them. */
	const untaken = new Set<Untaken>();
	const dialogs = createDialogs({
		emit(event) {
			emit(event);
			if (![...untaken].some(({ isAborted }) => isAborted)) return;
			if (event.type === "extension_ui_request") queueMicrotask(() => dialogs.cancelAll());
		},
		...(host.dialogTimeoutMs !== undefined && { timeoutMs: host.dialogTimeoutMs }),
	});
	/** Shell commands of the user, also before pi has begun with them. */
	const shell = new Set<AbortController>();
	let aborted = false;
	let revision = 0;
	let unsubscribe: (() => void) | undefined;
	let replacement: { reason: Replacement; over: Promise<void> } | undefined;
	let isBroken = false;
	/** Pi's session is gone in good order: its file may still lack something. */
	let isClosing = false;
	let inside: StrataInside | undefined;
	/** A session without messages starts with these; one that has some brings its own. */
	let preferred: Preferred = { model: settings.model, thinkingLevel: settings.thinkingLevel };
	const translator = createEventTranslator({ emit, wasAborted: () => aborted });

	const createRuntime: CreateAgentSessionRuntimeFactory = async (target) => {
		const { cwd, sessionManager, sessionStartEvent } = target;
		rememberName(sessionManager);
		const services = await createAgentSessionServices({
			cwd,
			agentDir,
			modelRuntime: host.modelRuntime,
			settingsManager: createSessionSettings(
				{ cwd, agentDir, projectTrusted: isTrusted(chosen, cwd, host) },
				chosen,
			),
			resourceLoaderOptions: {
				extensionFactories: [
					{ name: OWN_NAME, factory: createStrata((opened) => (inside = opened)) },
				],
				extensionsOverride: withoutOtherStrata,
				noThemes: true, // for terminals
			},
		});
		const isEmpty = !sessionManager.getBranch().some((entry) => entry.type === "message");
		const made = await createAgentSessionFromServices({
			services,
			sessionManager,
			...(sessionStartEvent && { sessionStartEvent }),
			...(isEmpty && modelOptions(preferred, host.modelRuntime)),
		});
		return { ...made, services, diagnostics: services.diagnostics };
	};

	const opened = openSessionFile({ ...options, agentDir });
	if (opened.leaf) chosen.leaf = opened.leaf;
	const runtime = await createAgentSessionRuntime(createRuntime, {
		cwd: options.cwd,
		agentDir,
		sessionManager: opened.manager,
	});
	const guard = createFileGuard({
		session: () => (isBroken && !isClosing ? undefined : runtime.session),
		notify: (message, type) => emit(notice(message, type)),
		moved: () => announce("fork"),
		mended: onChange,
	});
	guard.watch();
	const warning = [opened.warning, guard.damage()].filter(Boolean).join(" ") || undefined;
	try {
		const { session } = runtime;
		if (settings.name && !session.sessionName) session.setSessionName(settings.name);
	} catch {
		guard.watch(); // pi has the name, and could not append it
	}
	runtime.setBeforeSessionInvalidate(() => {
		isBroken = true;
		const { model, thinkingLevel } = runtime.session;
		preferred = { model: model && { provider: model.provider, id: model.id }, thinkingLevel };
		dialogs.cancelAll();
		dialogs.reset();
	});
	runtime.setRebindSession(async (session) => {
		await bind(session);
		isBroken = false;
		announce(replacement?.reason ?? "new");
		guard.watch();
		const damage = guard.damage();
		if (damage) emit(notice(damage, "warning"));
	});
	try {
		await bind(runtime.session);
	} catch (error) {
		guard.close();
		runtime.session.dispose();
		throw error;
	}

	const live: LiveSession = {
		get session() {
			return runtime.session;
		},
		runtime,
		dialogs,
		chosen,
		async replacing(reason, replace) {
			const over = Promise.withResolvers<void>();
			replacement = { reason, over: over.promise };
			try {
				return await replace();
			} finally {
				replacement = undefined;
				over.resolve();
			}
		},
		replacementUnderWay: () => replacement?.over,
		ensureFile() {
			ensureSessionFile(runtime.session);
			guard.check();
		},
		checkFile: () => guard.check(),
		lastInFile: () => guard.lastInFile(),
		warning,
		checkModelUse() {
			const { sampleProjects } = host;
			if (sampleProjects === undefined) return;
			if (isWithin(realOrGiven(sampleProjects), realOrGiven(runtime.cwd))) return;
			throw new CommandError(
				"wrong_state",
				"The server runs its demo, a script that works on sample projects only: create a session without a folder (cwd), or set up a model with pi",
			);
		},
		async reload() {
			dialogs.cancelAll();
			dialogs.reset();
			await runtime.session.reload();
			applyTools();
			announce("reload");
		},
		applyTools,
		async runningBash(run) {
			const stopping = new AbortController();
			shell.add(stopping);
			translator.bashStarts();
			try {
				return await run(stopping.signal);
			} finally {
				shell.delete(stopping);
			}
		},
		isBashRunning: () => shell.size > 0,
		abortBash() {
			for (const stopping of shell) stopping.abort();
		},
		taking(take) {
			const taken = take();
			const prompt: Untaken = { isAborted: false, over: taken.then(over, over) };
			untaken.add(prompt);
			return taken;

			async function over(): Promise<void> {
				untaken.delete(prompt);
				if (prompt.isAborted) await stop();
			}
		},
		async abort() {
			await nextTick(); // a prompt that was sent right before this is on its way then
			const prompts = [...untaken];
			for (const prompt of prompts) prompt.isAborted = true;
			await stop();
			if (prompts.length === 0) return;
			await Promise.race([
				Promise.all(prompts.map(({ over }) => over)),
				sleep(TAKE_MS, undefined, { ref: false }),
			]);
		},
		wasAborted: () => aborted,
		inside: () => inside,
		revision: () => revision,
		touch() {
			revision++;
		},
		isBroken: () => isBroken,
		async close() {
			dialogs.cancelAll();
			const { session } = runtime;
			live.abortBash();
			session.abortBash(); // those of extensions
			session.abortCompaction();
			session.abortBranchSummary();
			await Promise.race([session.abort(), sleep(CLOSE_MS, undefined, { ref: false })]);
			isClosing = !isBroken;
			await runtime.dispose();
			guard.close();
			unsubscribe?.();
			translator.close();
		},
	};
	return live;

	async function stop(): Promise<void> {
		if (runtime.session.isStreaming) aborted = true;
		dialogs.cancelAll();
		await runtime.session.abort();
	}

	async function bind(session: AgentSession): Promise<void> {
		unsubscribe?.();
		aborted = false;
		unsubscribe = session.subscribe((event) => {
			revision++;
			if (event.type === "agent_start") aborted = false;
			// First the look: what another program has put there is not to be written over.
			if (APPENDING.has(event.type)) guard.watch();
			if (event.type === "agent_settled") keepFile(session);
			translator.take(event);
			if (CHANGING.has(event.type)) onChange();
		});
		await session.bindExtensions({
			mode: "rpc",
			// Own properties only, since pi copies the object; pi's own stand-ins do nothing.
			uiContext: { ...session.extensionRunner.getUIContext(), ...dialogs.ui },
			commandContextActions: {
				waitForIdle: () => session.waitForIdle(),
				newSession: (given) => live.replacing("new", () => runtime.newSession(given)),
				fork: (entryId, given) => live.replacing("fork", () => runtime.fork(entryId, given)),
				navigateTree: (targetId, given) => session.navigateTree(targetId, given),
				switchSession: (path, given) =>
					live.replacing("switch", () => runtime.switchSession(path, given)),
				reload: () => live.reload(),
			},
			shutdownHandler: () => {}, // one session does not end the server
			onError: ({ extensionPath, event, error }) =>
				emit({
					type: "extension_error",
					extensionPath: safeText(extensionPath),
					event,
					error: safeText(error),
				}),
		});
		applyTools();
	}

	/** A run that nothing has answered leaves a file, too. */
	function keepFile(session: AgentSession): void {
		try {
			ensureSessionFile(session);
		} catch (error) {
			emit({
				type: "extension_error",
				extensionPath: OWN_NAME,
				event: "agent_settled",
				error: safeText(error),
			});
		}
	}

	function announce(reason: Replacement): void {
		const { sessionFile } = runtime.session;
		revision++;
		emit({ type: "session_replaced", reason, ...(sessionFile && { sessionFile }) });
		onChange();
	}

	function applyTools(): void {
		const { tools } = chosen;
		if (!tools) return;
		const active = runtime.session.getActiveToolNames();
		if (tools.length === active.length && tools.every((name) => active.includes(name))) return;
		runtime.session.setActiveToolsByName(tools);
	}
}

/** A prompt on its way into pi. */
interface Untaken {
	isAborted: boolean;
	/** It was taken or refused and, if it is to be aborted, its run is over. */
	readonly over: Promise<void>;
}

/** Events around which pi has appended to its file. */
const APPENDING: ReadonlySet<string> = new Set([
	"message_start",
	"message_end",
	"turn_end",
	"agent_end",
	"agent_settled",
	"entry_appended",
	"compaction_end",
]);

/** Events after which the record of a session may have to be written again. */
const CHANGING: ReadonlySet<string> = new Set([
	"agent_settled",
	"session_info_changed",
	"thinking_level_changed",
	"compaction_end",
]);

/** Whether a session loads what its folder brings itself: it runs code of the project, so the server must allow it. */
export function isTrusted(
	{ trustedCwd }: Pick<StoredSettings, "trustedCwd">,
	cwd: string,
	{ allowProjectTrust = false }: Pick<Host, "allowProjectTrust">,
): boolean {
	return allowProjectTrust && trustedCwd === cwd;
}

/** All that is stored except what pi's session tells itself: a setting that is added later is kept too. */
function chosenIn(settings: StoredSettings): ChosenSettings {
	const { piSessionId, name, model, thinkingLevel, messageCount, ...rest } = settings;
	const { lastEntry, lastInFile, cutOff, ...chosen } = rest;
	return chosen;
}

interface Preferred {
	model: StoredSettings["model"] | undefined;
	thinkingLevel: string | undefined;
}

function modelOptions({ model, thinkingLevel }: Preferred, modelRuntime: ModelRuntime) {
	const known = model && modelRuntime.getModel(model.provider, model.id);
	return {
		...(known && { model: known }),
		...(thinkingLevel && { thinkingLevel: thinkingLevel as AgentSession["thinkingLevel"] }),
	};
}

type Extensions = Parameters<
	NonNullable<
		NonNullable<
			Parameters<typeof createAgentSessionServices>[0]["resourceLoaderOptions"]
		>["extensionsOverride"]
	>
>[0];

/** The user may have pi-strata installed in pi too: two of them would fight over their tools. */
function withoutOtherStrata(loaded: Extensions): Extensions {
	const isOther = ({ path, commands }: Extensions["extensions"][number]) =>
		commands.has("strata") && path !== `<inline:${OWN_NAME}>`;
	return { ...loaded, extensions: loaded.extensions.filter((extension) => !isOther(extension)) };
}
