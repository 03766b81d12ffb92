import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { lstat, mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { AgentSession } from "@earendil-works/pi-coding-agent";
import type { AgentMessage, CommandOf, ResponseData } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import { asCommandError } from "../safe-text.ts";
import type { SessionHandlers } from "./session-handler.ts";
import type { StoredFiles } from "./stored-files.ts";

type StateCommand =
	| "get_state"
	| "get_messages"
	| "get_session_stats"
	| "get_context_usage"
	| "get_last_assistant_text"
	| "list_session_files"
	| "bash"
	| "export_html";

/** What a session is and has said, and what leaves it: shell commands and exports. */
export function createStateHandlers(
	stored: Pick<StoredFiles, "list">,
): SessionHandlers<StateCommand> {
	return {
		get_state(live, _command, { slot }) {
			const { session } = live;
			return {
				...slot.info(),
				isCompacting: session.isCompacting,
				isBashRunning: live.isBashRunning(),
				steeringMode: session.steeringMode,
				followUpMode: session.followUpMode,
				autoCompactionEnabled: session.autoCompactionEnabled,
				autoRetryEnabled: session.autoRetryEnabled,
				pendingMessageCount: session.pendingMessageCount,
			};
		},
		get_messages: ({ session }) => ({ messages: session.messages as AgentMessage[] }),
		get_session_stats({ session }) {
			const { sessionFile, contextUsage, ...stats } = session.getSessionStats();
			return {
				...stats,
				...(sessionFile && { sessionFile }),
				...(contextUsage && { contextUsage }),
			};
		},
		get_context_usage: ({ session }) => session.getContextUsage() ?? null,
		get_last_assistant_text: ({ session }) => ({ text: session.getLastAssistantText() ?? null }),
		async list_session_files({ session }, _command, { slot }) {
			const folder = session.sessionManager.getSessionDir();
			const { files } = await stored.list(folder, slot.principal);
			return { files };
		},
		async bash(live, command, { call }) {
			live.ensureFile();
			try {
				return await live.runningBash((signal) =>
					runBash(live.session, command, AbortSignal.any([signal, call.signal])),
				);
			} catch (error) {
				throw asCommandError(error);
			}
		},
		async export_html({ session }, { outputPath }) {
			const { sessionFile } = session;
			if (!sessionFile || !existsSync(sessionFile)) {
				throw new CommandError(
					"wrong_state",
					"The session has said nothing yet: send a prompt first",
				);
			}
			const name = outputPath ?? `${basename(sessionFile, ".jsonl")}.html`;
			const folder = await exportFolder(sessionFile);
			const path = join(folder, name);
			// Renamed into place: pi would write through a link of that name.
			const temporary = join(folder, `.${randomUUID()}.html`);
			try {
				await session.exportToHtml(temporary);
				await rename(temporary, path);
				return { path };
			} catch (error) {
				await rm(temporary, { force: true });
				throw asCommandError(error);
			}
		},
	};
}

/** Runs a shell command of the user, or lets an extension run it. Once `signal` is aborted, it ends as cancelled. */
async function runBash(
	session: AgentSession,
	{ command, excludeFromContext = false, id }: CommandOf<"bash">,
	signal: AbortSignal,
): Promise<ResponseData["bash"]> {
	const taken = await session.extensionRunner.emitUserBash({
		type: "user_bash",
		command,
		excludeFromContext,
		cwd: session.sessionManager.getCwd(),
	});
	const known = taken?.result ?? (signal.aborted ? NEVER_BEGUN : undefined);
	if (known) session.recordBashResult(command, known, { excludeFromContext });
	const stop = () => session.abortBash();
	signal.addEventListener("abort", stop, { once: true });
	try {
		const { output, exitCode, cancelled, truncated, fullOutputPath } =
			known ??
			(await session.executeBash(command, undefined, {
				excludeFromContext,
				...(id !== undefined && { id }),
				...(taken?.operations && { operations: taken.operations }),
			}));
		return {
			output,
			cancelled,
			truncated,
			...(exitCode !== undefined && exitCode !== null && { exitCode }),
			...(fullOutputPath && { fullOutputPath }),
		};
	} finally {
		signal.removeEventListener("abort", stop);
	}
}

/** The result of a command that was stopped before its shell started. */
const NEVER_BEGUN: Awaited<ReturnType<AgentSession["executeBash"]>> = {
	output: "",
	exitCode: undefined,
	cancelled: true,
	truncated: false,
};

/** A folder of the session's own: beside its file lie those of other sessions, which may be another principal's. */
async function exportFolder(sessionFile: string): Promise<string> {
	const folder = join(dirname(sessionFile), basename(sessionFile, ".jsonl"));
	await mkdir(folder, { mode: 0o700 }).catch(() => undefined); // it may be there
	const found = await lstat(folder).catch(() => undefined);
	if (found?.isDirectory()) return folder;
	throw new CommandError(
		"wrong_state",
		"The session's folder for exports cannot be made: something else has its name, or the disk does not take it",
	);
}
