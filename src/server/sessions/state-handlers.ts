import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { lstat, mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { AgentSession } from "@earendil-works/pi-coding-agent";
import type { CommandOf, Data, ResponseData } from "../../protocol/index.ts";
import { notFound, wrongState } from "../safe-text.ts";
import type { VisibleFiles } from "./file-owners.ts";
import { findFiles } from "./folder-listing.ts";
import type { SessionHandlers } from "./held-session.ts";
import { slashCommands, stoppable } from "./prompt-handlers.ts";
import { modelView } from "./session-info.ts";

export function createStateHandlers(stored: Pick<VisibleFiles, "list">) {
	return {
		...stateReads,
		...settingsHandlers,
		...actionHandlers,
		async list_session_files({ session }, _command, { held }) {
			const folder = session.sessionManager.getSessionDir();
			const { files } = await stored.list(held.principal, folder);
			return { files };
		},
	} satisfies Partial<SessionHandlers>;
}

const stateReads = {
	get_state(live, _command, { held }) {
		const { session } = live;
		return {
			...held.info(),
			isCompacting: session.isCompacting,
			isBashRunning: live.isBashRunning,
			steeringMode: session.steeringMode,
			followUpMode: session.followUpMode,
			autoCompactionEnabled: session.autoCompactionEnabled,
			autoRetryEnabled: session.autoRetryEnabled,
			pendingMessageCount: session.pendingMessageCount,
		};
	},
	get_messages: ({ session }) => ({ messages: session.messages as Data<"AgentMessage">[] }),
	get_session_stats({ session }) {
		const { sessionFile, contextUsage, ...stats } = session.getSessionStats();
		return { ...stats, ...(sessionFile && { sessionFile }), ...(contextUsage && { contextUsage }) };
	},
	get_context_usage: ({ session }) => session.getContextUsage() ?? null,
	get_last_assistant_text: ({ session }) => ({ text: session.getLastAssistantText() ?? null }),
} satisfies Partial<SessionHandlers>;

const actionHandlers = {
	async bash(live, command, { call }) {
		live.ensureFile();
		return live.runningBash((signal) =>
			runBash(live.session, command, AbortSignal.any([signal, call.signal])),
		);
	},
	async export_html({ session }, { outputPath }) {
		const { sessionFile } = session;
		if (!sessionFile || !existsSync(sessionFile)) {
			throw wrongState("The session is empty: send a prompt first");
		}
		const name = outputPath ?? `${basename(sessionFile, ".jsonl")}.html`;
		const folder = await exportFolder(sessionFile);
		const path = join(folder, name);
		// The export is renamed into place, because pi would write through an existing link.
		const temporary = join(folder, `.${randomUUID()}.html`);
		try {
			await session.exportToHtml(temporary);
			await rename(temporary, path);
			return { path };
		} catch (error) {
			await rm(temporary, { force: true });
			throw error;
		}
	},
} satisfies Partial<SessionHandlers>;

const settingsHandlers = {
	async set_model({ session }, { provider, modelId }) {
		const available = session.modelRuntime.getAvailableSnapshot();
		const model = available.find((one) => one.provider === provider && one.id === modelId);
		if (!model) {
			throw notFound(`Model "${provider}/${modelId}" is not available: see get_available_models`);
		}
		await session.setModel(model);
		return modelView(model);
	},
	async cycle_model({ session }, { direction }) {
		const result = await session.cycleModel(direction);
		return result ? { ...result, model: modelView(result.model) } : null;
	},
	get_available_models: ({ session }) => ({
		models: session.modelRuntime.getAvailableSnapshot().map(modelView),
	}),
	set_thinking_level({ session }, { level }) {
		session.setThinkingLevel(level as AgentSession["thinkingLevel"]);
	},
	cycle_thinking_level({ session }) {
		const level = session.cycleThinkingLevel();
		return level ? { level } : null;
	},
	get_available_thinking_levels: ({ session }) => ({
		levels: session.getAvailableThinkingLevels(),
	}),
	set_steering_mode({ session, chosen }, { mode }) {
		chosen.steeringMode = mode;
		session.setSteeringMode(mode);
	},
	set_follow_up_mode({ session, chosen }, { mode }) {
		chosen.followUpMode = mode;
		session.setFollowUpMode(mode);
	},
	set_auto_compaction({ session, chosen }, { enabled }) {
		chosen.autoCompaction = enabled;
		session.setAutoCompactionEnabled(enabled);
	},
	set_auto_retry({ session, chosen }, { enabled }) {
		chosen.autoRetry = enabled;
		session.setAutoRetryEnabled(enabled);
	},
	set_session_name({ session }, { name }) {
		session.setSessionName(name.trim());
	},
	get_tools({ session }) {
		const active = new Set(session.getActiveToolNames());
		const tools = session.getAllTools().map(({ name, description }) => ({
			name,
			description,
			active: active.has(name),
		}));
		return { tools };
	},
	set_tools(live, { tools }) {
		const { session, chosen } = live;
		const known = new Set(session.getAllTools().map(({ name }) => name));
		const unknown = tools.filter((name) => !known.has(name));
		if (unknown.length > 0) {
			const names = unknown.map((name) => `"${name}"`).join(", ");
			throw notFound(`There is no tool ${names}: see get_tools`);
		}
		chosen.tools = [...new Set(tools)];
		live.applyTools();
		return { tools: session.getActiveToolNames() };
	},
	get_commands: ({ session }) => ({ commands: slashCommands(session) }),
	get_skills({ session }) {
		const { skills } = session.resourceLoader.getSkills();
		return { skills: skills.map(({ name, description }) => ({ name, description })) };
	},
	list_files: ({ session }, { query = "", limit = 50 }) =>
		findFiles(session.sessionManager.getCwd(), query, limit),
	async reload(live) {
		refuseIfBusy(live.session);
		await live.reload();
	},
} satisfies Partial<SessionHandlers>;

export function refuseIfBusy({ isStreaming, isCompacting }: AgentSession): void {
	if (!isStreaming && !isCompacting) return;
	throw wrongState("The session is busy: wait until it is idle, or abort first");
}

/** An extension may run the command instead of pi. If `signal` aborts, the result is `cancelled`. */
async function runBash(
	session: AgentSession,
	{ command, excludeFromContext = false, id }: CommandOf<"bash">,
	signal: AbortSignal,
): Promise<ResponseData["bash"]> {
	const handled = await session.extensionRunner.emitUserBash({
		type: "user_bash",
		command,
		excludeFromContext,
		cwd: session.sessionManager.getCwd(),
	});
	const known = handled?.result ?? (signal.aborted ? NEVER_STARTED : undefined);
	if (known) session.recordBashResult(command, known, { excludeFromContext });
	const run = () =>
		session.executeBash(command, undefined, {
			excludeFromContext,
			...(id !== undefined && { id }),
			...(handled?.operations && { operations: handled.operations }),
		});
	const { output, exitCode, cancelled, truncated, fullOutputPath } =
		known ?? (await stoppable(signal, () => session.abortBash(), run));
	return {
		output,
		cancelled,
		truncated,
		...(exitCode !== undefined && exitCode !== null && { exitCode }),
		...(fullOutputPath && { fullOutputPath }),
	};
}

const NEVER_STARTED: Awaited<ReturnType<AgentSession["executeBash"]>> = {
	output: "",
	exitCode: undefined,
	cancelled: true,
	truncated: false,
};

/** Returns a private folder, because the session file's folder also holds files of other principals. */
async function exportFolder(sessionFile: string): Promise<string> {
	const folder = join(dirname(sessionFile), basename(sessionFile, ".jsonl"));
	await mkdir(folder, { mode: 0o700 }).catch(() => undefined); // the folder may exist
	const found = await lstat(folder).catch(() => undefined);
	if (found?.isDirectory()) return folder;
	throw wrongState(
		"The server cannot create the session's folder for exports: a file has the same name, or the disk cannot be written to",
	);
}
