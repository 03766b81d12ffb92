import Type from "typebox";
import { NoData, serverCommand } from "./command-row.ts";
import { ReplayReport } from "./context-data.ts";
import { ErrorCode } from "./envelope.ts";
import {
	AbsolutePath,
	Count,
	KnownCommandId,
	MAX_SESSION_CONTENT,
	numberFields,
	oneOf,
	Path,
	SessionFileId,
	SessionFilePosition,
	SessionId,
	SessionPath,
	Time,
	text,
	wholeNumber,
} from "./field-schemas.ts";
import { MetricsHistory } from "./metrics-data.ts";
import { SessionEntry, SessionInfo } from "./pi-shapes.ts";
import { ProgressAnswer, ReportedCall, ReportedMessage } from "./progress-data.ts";
import { OpenedSession, SessionFile, StoredSession, TextOrNull } from "./session-data.ts";
import { ListedConversation, TrafficReport } from "./traffic-data.ts";
import { Saved, UsageReport } from "./usage-data.ts";

const READ = { effect: "read", path: "lane", timeout: "short" } as const;
const CHANGE = { effect: "change", path: "lane", timeout: "short" } as const;
/** Runs on the named session's lane, but never waits for a run of the agent. */
const ATTACH = { effect: "read", path: "control", timeout: "short", attaches: true } as const;

/** Must work even when the server's lane is stuck. */
const CONTROL_READ = { effect: "read", path: "control", timeout: "short" } as const;

const Subscribed = {
	/** Number of the last event at subscription; live events have higher numbers. */
	seq: Type.Number(),
};

const OpenSessions = Type.Object({
	sessions: Type.Array(SessionInfo),
	/** Where `create_session` without a `cwd` starts a session; absent if `cwd` is required. */
	startsIn: Type.Optional(
		Type.Union([
			Type.Object({ folder: Type.String() }),
			Type.Object({ sample: Type.Literal(true) }),
		]),
	),
});

const Folders = Type.Object({
	/** The absolute path. */
	folder: Type.String(),
	/** Absent for a root. */
	parent: Type.Optional(Type.String()),
	/** Names, without hidden ones. */
	folders: Type.Array(Type.String()),
	/** More folders exist. */
	truncated: Type.Boolean(),
});

const StoredSessions = Type.Object({
	sessions: Type.Array(StoredSession),
	/** More sessions exist; only the latest are sent. */
	truncated: Type.Optional(Type.Boolean()),
});

const ReadSession = Type.Object({
	stored: StoredSession,
	entries: Type.Array(SessionEntry),
	/** The last entry of the file. */
	leafId: TextOrNull,
	/** Unreadable lines. */
	skipped: Type.Number(),
	/** The file is longer than what is sent. */
	truncated: Type.Boolean(),
});

const SessionFiles = Type.Object({
	files: Type.Array(SessionFile),
	/** For `after`, if more files may follow. */
	next: Type.Optional(Type.String()),
});

export const CommandHistoryEntry = Type.Object({
	commandId: Type.String(),
	commandType: Type.String(),
	sessionId: Type.Optional(Type.String()),
	atMs: Type.Number(),
	finishedAtMs: Type.Optional(Type.Number()),
	success: Type.Optional(Type.Boolean()),
	error: Type.Optional(Type.String()),
	code: Type.Optional(ErrorCode),
	sessionVersion: Type.Optional(Type.Number()),
});

const CommandHistory = Type.Object({
	/** Always true on this server. */
	enabled: Type.Boolean(),
	/** `failed`: the journal cannot be written or read; entries may be missing. */
	initState: Type.Enum(["ready", "failed"]),
	filters: Type.Object({
		sessionIdFilter: Type.Optional(Type.String()),
		commandId: Type.Optional(Type.String()),
		fromTimestamp: Type.Optional(Type.Number()),
		toTimestamp: Type.Optional(Type.Number()),
		limit: Type.Number(),
	}),
	entries: Type.Array(CommandHistoryEntry),
	returned: Type.Number(),
	truncated: Type.Boolean(),
});

export const StartupRecovery = Type.Object({
	startedAtMs: Type.Number(),
	/** The previous process did not shut down cleanly. */
	crashed: Type.Boolean(),
	/** Number of this principal's sessions that were found. */
	sessions: Type.Number(),
	/** Commands of this principal that were in flight when the previous process ended. */
	interrupted: Type.Array(CommandHistoryEntry),
});

/** Counts are since the server's start. */
export const ServerMetrics = Type.Object({
	...numberFields("uptimeMs", "clients", "sessions"),
	commands: Type.Object({
		...numberFields("pending", "lanes", "accepted", "finished", "failed", "replayed"),
		...numberFields("timedOut", "rateLimited", "rejected"),
	}),
	/** Time from acceptance to response of the latest commands; absent before the first. */
	latencyMs: Type.Optional(Type.Object(numberFields("p50", "p90", "p99"))),
	journal: Type.Object({
		...numberFields("bytes", "commands", "events", "sessions"),
		...numberFields("commits", "commitMsTotal", "pending"),
	}),
	memory: Type.Object(numberFields("rssBytes", "heapUsedBytes", "externalBytes")),
	/** Present if servers share a database: those that live. */
	servers: Type.Optional(
		Type.Array(
			Type.Object({
				address: Type.String(),
				/** Sessions that it has. */
				sessions: Type.Number(),
				/** False for a gateway, and for a server that stops. */
				takesSessions: Type.Boolean(),
				/** Whether the server that answers is linked to it. */
				isLinked: Type.Optional(Type.Boolean()),
				/** The server that answers. */
				isSelf: Type.Optional(Type.Literal(true)),
			}),
		),
	),
});

/** A week. */
const MAX_HISTORY_MINUTES = 7 * 24 * 60;

const Health = Type.Object({
	status: Type.Enum(["ok", "degraded"]),
	/** For people; empty when all is well. */
	problems: Type.Array(Type.String()),
	...numberFields("uptimeMs", "sessions"),
});

const Attached = Type.Object({
	/** Present if the command had a `sessionId`. */
	seq: Type.Optional(Subscribed.seq),
	lifecycle: Type.Enum(["all", "own", "none"]),
	/** Present if the command had `traffic`. */
	traffic: Type.Optional(Type.Boolean()),
});

const Conversations = Type.Object({
	conversations: Type.Array(ListedConversation),
	/** More conversations exist; only the latest used are sent. */
	truncated: Type.Boolean(),
});

export const serverCommands = {
	list_sessions: serverCommand(READ, OpenSessions),
	/** Also subscribes the caller. Generates a `sessionId` if it is missing. */
	create_session: serverCommand(CHANGE, OpenedSession, {
		sessionId: Type.Optional(SessionId),
		cwd: Type.Optional(AbsolutePath),
		/** Loads the folder's own settings and extensions, if the server allows it. */
		trustProject: Type.Optional(Type.Boolean()),
	}),
	/** Lists the folders in a folder of the server's machine. `~`, the default: the home of the server's user. */
	list_folders: serverCommand(CONTROL_READ, Folders, { path: Type.Optional(Path) }),
	/** Does not delete pi's session file. */
	delete_session: serverCommand(
		{ ...CHANGE, versioned: true },
		Type.Object({ deleted: Type.Literal(true) }),
		{ sessionId: SessionId },
	),
	/** Subscribes to live events; `subscribe` can also send past ones. */
	switch_session: serverCommand(ATTACH, Type.Object({ sessionInfo: SessionInfo, ...Subscribed }), {
		sessionId: SessionId,
	}),
	/**
	 * Needs `sessionId`, `lifecycle` or `traffic`; the last two are for this connection. `after`: sends
	 * past events first. `traffic`: whether to send `request_billed`.
	 */
	subscribe: serverCommand(ATTACH, Attached, {
		sessionId: Type.Optional(SessionId),
		after: Type.Optional(Count),
		lifecycle: Type.Optional(oneOf("all", "own", "none")),
		traffic: Type.Optional(Type.Boolean()),
	}),
	unsubscribe: serverCommand(ATTACH, NoData, { sessionId: SessionId }),
	get_metrics: serverCommand(CONTROL_READ, ServerMetrics),
	/** The figures of the last `minutes` (default: 60), in at most 240 points. */
	get_metrics_history: serverCommand(CONTROL_READ, MetricsHistory, {
		minutes: Type.Optional(wholeNumber(1, MAX_HISTORY_MINUTES)),
	}),
	health_check: serverCommand(CONTROL_READ, Health),
	/** Lists the files that `load_session` accepts. */
	list_stored_sessions: serverCommand(READ, StoredSessions),
	/**
	 * Lists the session files of this user's agents, as `strata replay --find` does: the newest first. All
	 * words of `filter` are in the agent's, the project's or the file's name. `after`: `next` of the page before.
	 */
	list_agent_sessions: serverCommand({ ...CONTROL_READ, timeout: "long" }, SessionFiles, {
		filter: Type.Optional(text(200, { min: 0 })),
		after: Type.Optional(SessionFilePosition),
		limit: Type.Optional(wholeNumber(1, 200)),
	}),
	/**
	 * Also subscribes the caller. An already open file keeps its session and version. `watch`: the session follows the
	 * file, which a pi in a terminal may write, and refuses changes.
	 */
	load_session: serverCommand(CHANGE, OpenedSession, {
		sessionPath: SessionPath,
		sessionId: Type.Optional(SessionId),
		watch: Type.Optional(Type.Boolean()),
	}),
	/**
	 * Pi-strata in a terminal's pi reports the answer that is being written, and the tools that run. Sessions of the caller
	 * that watch the file show it as events. Nothing is stored as a command.
	 */
	report_progress: serverCommand(CONTROL_READ, ProgressAnswer, {
		sessionPath: SessionPath,
		isRunning: Type.Boolean(),
		message: Type.Optional(ReportedMessage),
		calls: Type.Optional(
			Type.Array(ReportedCall, { maxItems: 100, description: "an array of up to 100 calls" }),
		),
	}),
	/** Reads a stored session without opening it: its folder and its model may be gone. Changes nothing. */
	get_stored_session: serverCommand({ ...CONTROL_READ, timeout: "long" }, ReadSession, {
		sessionPath: SessionPath,
	}),
	get_startup_recovery: serverCommand(READ, StartupRecovery),
	get_command_history: serverCommand(READ, CommandHistory, {
		sessionIdFilter: Type.Optional(SessionId),
		commandId: Type.Optional(KnownCommandId),
		fromTimestamp: Type.Optional(Time),
		toTimestamp: Type.Optional(Time),
		limit: Type.Optional(wholeNumber(1, 500)),
	}),
	/**
	 * Replays a listed (`fileId`), a stored or a sent session. Takes seconds, so it must not hold the server's lane.
	 * Larger files are sent by `POST /replay`.
	 */
	replay_session: serverCommand({ ...CONTROL_READ, timeout: "long" }, ReplayReport, {
		fileId: Type.Optional(SessionFileId),
		sessionPath: Type.Optional(SessionPath),
		content: Type.Optional(text(MAX_SESSION_CONTENT, { note: " of a session file" })),
	}),
	/**
	 * What the session files of this user's agents say that requests cost, by day, agent, project and model. `days`: today and
	 * the days before it; without it, all. The first answer may take a while: files are read once, and then from a cache.
	 */
	get_usage: serverCommand({ ...CONTROL_READ, timeout: "long" }, UsageReport, {
		days: Type.Optional(wholeNumber(1, 3_660)),
	}),
	/** What pi's sessions cost and saved, for today, in all, and by day for the last `days` (default: 30). */
	get_saved: serverCommand(CONTROL_READ, Saved, { days: Type.Optional(wholeNumber(1, 3_660)) }),
	/** Conversations that went through strata's proxy, the latest used first. */
	list_conversations: serverCommand(CONTROL_READ, Conversations, {
		limit: Type.Optional(wholeNumber(1, 500)),
	}),
	get_conversation: serverCommand(CONTROL_READ, TrafficReport, {
		conversation: wholeNumber(1, Number.MAX_SAFE_INTEGER),
		/** Maximum number of requests, the latest ones. */
		limit: Type.Optional(wholeNumber(1, 2_000)),
	}),
} as const;
