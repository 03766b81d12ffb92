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
/** On the lane of the session it names, but never behind that session's run. */
const ATTACH = { effect: "read", path: "control", timeout: "short", attaches: true } as const;

/** How the server is doing must show above all when its lane is stuck. */
const ABOUT = { effect: "read", path: "control", timeout: "short" } as const;

/** Commands that are not for one open session. */
export const serverCommands = {
	list_sessions: serverCommand(READ, Type.Object({})),
	/** Also subscribes the caller. Without `sessionId` the server makes one up. */
	create_session: serverCommand(
		CHANGE,
		Type.Object({
			sessionId: Type.Optional(SessionId),
			cwd: Type.Optional(AbsolutePath),
			/** Load the settings and extensions that the folder brings itself; only where the server allows it. */
			trustProject: Type.Optional(Type.Boolean()),
		}),
	),
	/** Closes the session; pi's file of it stays. */
	delete_session: serverCommand(
		{ ...CHANGE, versioned: true },
		Type.Object({ sessionId: SessionId }),
	),
	/** Subscribes from now on. `subscribe` does the same and can go back in time. */
	switch_session: serverCommand(ATTACH, Type.Object({ sessionId: SessionId })),
	/**
	 * With `sessionId`: the session's events from now on, and with `after` first those above that number. With
	 * `lifecycle`: which commands' lifecycle events this connection gets. At least one of the two.
	 */
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
	/** Session files that `load_session` takes. */
	list_stored_sessions: serverCommand(READ, Type.Object({})),
	/** Also subscribes the caller. A file that is open already keeps its session and its version. */
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
	/**
	 * What a session cost and would have cost: one under the server's sessions folder, or one sent along. Takes seconds,
	 * so it must not hold the server's lane.
	 */
	replay_session: serverCommand(
		{ effect: "read", path: "control", timeout: "long" },
		Type.Object({
			sessionPath: Type.Optional(SessionPath),
			content: Type.Optional(text({ max: MAX_SESSION_CONTENT, note: " of a session file" })),
		}),
	),
} as const;
