import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
	type AgentSession,
	type AgentSessionRuntime,
	CONFIG_DIR_NAME,
	type CreateAgentSessionRuntimeFactory,
	createAgentSessionFromServices,
	createAgentSessionRuntime,
	createAgentSessionServices,
	type LoadExtensionsResult,
	type ModelRuntime,
	type SessionManager,
	SettingsManager,
} from "@earendil-works/pi-coding-agent";
import { errnoOf } from "../../core/errno.ts";
import { isRecord } from "../../core/property.ts";
import { type CreateSystem, createStrata, type StrataInside } from "../../extension/index.ts";
import { memoizeName } from "./session-file.ts";
import { parseJson } from "./stored-sessions.ts";
import type { ChosenSettings, StoredSettings } from "./stored-settings.ts";

export interface PiOptions {
	/** Pi's agent folder. Extensions get it from pi's `getAgentDir()`. */
	readonly agentDir: string;
	readonly modelRuntime: ModelRuntime;
	/** Whether a project's own settings and extensions may load. Default: no. */
	readonly allowProjectTrust?: boolean;
	/** Timeout in ms of dialogs that set no timeout. Default: one minute. */
	readonly dialogTimeoutMs?: number;
	/** Asked before each tool call. Resolves to why the tool must not run, or to `undefined`. */
	readonly mayRunTool?: (() => Promise<string | undefined>) | undefined;
	/** In the demo, the scripted model must not work outside this folder. */
	readonly sampleProjects?: string;
}

/** State that outlives pi's session objects. */
export interface PiState {
	readonly chosen: ChosenSettings;
	/** Used for a session without messages. A session with messages has its own model and level. */
	preferred: { model: StoredSettings["model"] | undefined; thinkingLevel: string | undefined };
	inside?: StrataInside;
}

export const OWN_NAME = "pi-strata";

export function createPiRuntime(
	pi: PiOptions,
	state: PiState,
	first: { cwd: string; sessionManager: SessionManager },
): Promise<AgentSessionRuntime> {
	const { agentDir, modelRuntime } = pi;
	const { chosen } = state;
	const create: CreateAgentSessionRuntimeFactory = async (target) => {
		const { cwd, sessionManager, sessionStartEvent } = target;
		memoizeName(sessionManager);
		const factory = createStrata(
			(opened) => {
				state.inside = opened;
			},
			pi.mayRunTool ? [createToolCheck(pi.mayRunTool)] : [],
		);
		const services = await createAgentSessionServices({
			cwd,
			agentDir,
			modelRuntime,
			settingsManager: sessionSettings(pi, cwd, chosen),
			resourceLoaderOptions: {
				extensionFactories: [{ name: OWN_NAME, factory }],
				extensionsOverride: withoutOtherStrata,
				noThemes: true, // only terminals use themes
			},
		});
		const isEmpty = !sessionManager.getBranch().some((entry) => entry.type === "message");
		const made = await createAgentSessionFromServices({
			services,
			sessionManager,
			...(sessionStartEvent && { sessionStartEvent }),
			...(isEmpty && modelOptions(state.preferred, modelRuntime)),
		});
		return { ...made, services, diagnostics: services.diagnostics };
	};
	return createAgentSessionRuntime(create, { ...first, agentDir });
}

/** The first system, so that no other acts on a tool that does not run. */
function createToolCheck(mayRun: NonNullable<PiOptions["mayRunTool"]>): CreateSystem {
	return () => ({
		name: "lease",
		async onToolCall() {
			const reason = await mayRun();
			if (reason !== undefined) throw new Error(reason);
		},
	});
}

/** Project settings and extensions run code, so session and server must both allow it. */
export function isTrusted(settings: StoredSettings, cwd: string, pi: PiOptions): boolean {
	return pi.allowProjectTrust === true && settings.trustedCwd === cwd;
}

function modelOptions({ model, thinkingLevel }: PiState["preferred"], modelRuntime: ModelRuntime) {
	const known = model && modelRuntime.getModel(model.provider, model.id);
	return {
		...(known && { model: known }),
		...(thinkingLevel && { thinkingLevel: thinkingLevel as AgentSession["thinkingLevel"] }),
	};
}

/** Drops a pi-strata that is installed in the user's pi, because both would register the same tools. */
function withoutOtherStrata(loaded: LoadExtensionsResult): LoadExtensionsResult {
	const extensions = loaded.extensions.filter(
		({ path, commands }) => !commands.has("strata") || path === `<inline:${OWN_NAME}>`,
	);
	return { ...loaded, extensions };
}

/** Keeps session modes in memory, because pi would write them to the user's settings for all sessions. */
function sessionSettings(pi: PiOptions, cwd: string, chosen: ChosenSettings): SettingsManager {
	const storage: Parameters<typeof SettingsManager.fromStorage>[0] = {
		withLock(scope, change) {
			const folder = scope === "global" ? pi.agentDir : join(cwd, CONFIG_DIR_NAME);
			const stored = readIfPresent(join(folder, "settings.json"));
			change(scope === "global" ? withModes(stored, chosen) : stored);
		},
	};
	return SettingsManager.fromStorage(storage, { projectTrusted: isTrusted(chosen, cwd, pi) });
}

function withModes(stored: string | undefined, modes: ChosenSettings): string | undefined {
	const { steeringMode, followUpMode, autoCompaction, autoRetry } = modes;
	if (Object.values(modes).every((mode) => mode === undefined)) return stored;
	const settings = parseJson(stored ?? "{}");
	if (!isRecord(settings)) return stored; // pi reports the invalid file
	const withEnabled = (name: string, enabled: boolean | undefined) => {
		const known = settings[name];
		return enabled !== undefined && { [name]: { ...(isRecord(known) && known), enabled } };
	};
	return JSON.stringify({
		...settings,
		...(steeringMode && { steeringMode }),
		...(followUpMode && { followUpMode }),
		...withEnabled("compaction", autoCompaction),
		...withEnabled("retry", autoRetry),
	});
}

function readIfPresent(path: string): string | undefined {
	try {
		return readFileSync(path, "utf8");
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return undefined;
		throw error;
	}
}
