import Type from "typebox";
import { ErrorCode } from "./envelope.ts";
import { SessionInfo } from "./pi-shapes.ts";
import { ReplayReport } from "./replay-data.ts";
import { OpenedSession, StoredSession } from "./session-data.ts";

const Subscribed = {
	/** Last event at subscription; live events have higher numbers. */
	seq: Type.Number(),
};

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

export const StartupRecovery = Type.Object({
	startedAtMs: Type.Number(),
	/** No clean shutdown. */
	crashed: Type.Boolean(),
	/** Of this principal. */
	sessions: Type.Number(),
	/** Commands of this principal that were in flight. */
	interrupted: Type.Array(CommandHistoryEntry),
});

/** Since the start. */
export const ServerMetrics = Type.Object({
	uptimeMs: Type.Number(),
	clients: Type.Number(),
	sessions: Type.Number(),
	commands: Type.Object({
		pending: Type.Number(),
		lanes: Type.Number(),
		accepted: Type.Number(),
		finished: Type.Number(),
		failed: Type.Number(),
		replayed: Type.Number(),
		timedOut: Type.Number(),
		rateLimited: Type.Number(),
		rejected: Type.Number(),
	}),
	/** Acceptance to response, latest commands; absent before the first. */
	latencyMs: Type.Optional(
		Type.Object({ p50: Type.Number(), p90: Type.Number(), p99: Type.Number() }),
	),
	journal: Type.Object({
		bytes: Type.Number(),
		commands: Type.Number(),
		events: Type.Number(),
		sessions: Type.Number(),
		commits: Type.Number(),
		commitMsTotal: Type.Number(),
		pending: Type.Number(),
	}),
	memory: Type.Object({
		rssBytes: Type.Number(),
		heapUsedBytes: Type.Number(),
		externalBytes: Type.Number(),
	}),
});

export const Health = Type.Object({
	status: Type.Enum(["ok", "degraded"]),
	/** For people; empty when all is well. */
	problems: Type.Array(Type.String()),
	uptimeMs: Type.Number(),
	sessions: Type.Number(),
});

export const serverData = {
	list_sessions: Type.Object({
		sessions: Type.Array(SessionInfo),
		/** Where a session without a folder starts; absent if it must name one. */
		startsIn: Type.Optional(
			Type.Union([
				Type.Object({ folder: Type.String() }),
				Type.Object({ sample: Type.Literal(true) }),
			]),
		),
	}),
	create_session: OpenedSession,
	delete_session: Type.Object({ deleted: Type.Literal(true) }),
	switch_session: Type.Object({ sessionInfo: SessionInfo, ...Subscribed }),
	subscribe: Type.Object({
		/** With `sessionId`. */
		seq: Type.Optional(Subscribed.seq),
		lifecycle: Type.Enum(["all", "own", "none"]),
	}),
	unsubscribe: Type.Object({}),
	get_metrics: ServerMetrics,
	health_check: Health,
	list_stored_sessions: Type.Object({
		sessions: Type.Array(StoredSession),
		/** More exist; the latest are sent. */
		truncated: Type.Optional(Type.Boolean()),
	}),
	load_session: OpenedSession,
	get_startup_recovery: StartupRecovery,
	get_command_history: Type.Object({
		/** Always true here. */
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
	}),
	replay_session: ReplayReport,
} as const;
