import Type from "typebox";
import { serverCommand } from "./command-row.ts";
import {
	AbsolutePath,
	Count,
	KnownCommandId,
	MAX_SESSION_CONTENT,
	oneOf,
	SessionId,
	SessionPath,
	Time,
	text,
	whole,
} from "./field-schemas.ts";

const READ = { effect: "read", path: "lane", timeout: "short" } as const;
const CHANGE = { effect: "change", path: "lane", timeout: "short" } as const;
/** On the named session's lane, but never behind its run. */
const ATTACH = { effect: "read", path: "control", timeout: "short", attaches: true } as const;

/** Must work when the server's lane is stuck. */
const ABOUT = { effect: "read", path: "control", timeout: "short" } as const;

export const serverCommands = {
	list_sessions: serverCommand(READ, Type.Object({})),
	/** Also subscribes the caller. Generates a missing `sessionId`. */
	create_session: serverCommand(
		CHANGE,
		Type.Object({
			sessionId: Type.Optional(SessionId),
			cwd: Type.Optional(AbsolutePath),
			/** Loads the folder's own settings and extensions, if the server allows it. */
			trustProject: Type.Optional(Type.Boolean()),
		}),
	),
	/** Pi's file stays. */
	delete_session: serverCommand(
		{ ...CHANGE, versioned: true },
		Type.Object({ sessionId: SessionId }),
	),
	/** Subscribes to live events; `subscribe` can also go back. */
	switch_session: serverCommand(ATTACH, Type.Object({ sessionId: SessionId })),
	/** Needs `sessionId` (with `after`: past events first) or `lifecycle` (for this connection). */
	subscribe: serverCommand(
		ATTACH,
		Type.Object({
			sessionId: Type.Optional(SessionId),
			after: Type.Optional(Count),
			lifecycle: Type.Optional(oneOf("all", "own", "none")),
		}),
	),
	unsubscribe: serverCommand(ATTACH, Type.Object({ sessionId: SessionId })),
	get_metrics: serverCommand(ABOUT, Type.Object({})),
	health_check: serverCommand(ABOUT, Type.Object({})),
	/** Files that `load_session` takes. */
	list_stored_sessions: serverCommand(READ, Type.Object({})),
	/** Also subscribes the caller. An open file keeps its session and version. */
	load_session: serverCommand(
		CHANGE,
		Type.Object({ sessionPath: SessionPath, sessionId: Type.Optional(SessionId) }),
	),
	get_startup_recovery: serverCommand(READ, Type.Object({})),
	get_command_history: serverCommand(
		READ,
		Type.Object({
			sessionIdFilter: Type.Optional(SessionId),
			commandId: Type.Optional(KnownCommandId),
			fromTimestamp: Type.Optional(Time),
			toTimestamp: Type.Optional(Time),
			limit: Type.Optional(whole(1, 500)),
		}),
	),
	/** A stored session, or one sent along. Takes seconds: must not hold the server's lane. */
	replay_session: serverCommand(
		{ effect: "read", path: "control", timeout: "long" },
		Type.Object({
			sessionPath: Type.Optional(SessionPath),
			content: Type.Optional(text({ max: MAX_SESSION_CONTENT, note: " of a session file" })),
		}),
	),
} as const;
