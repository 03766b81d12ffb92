import Type from "typebox";
import { numberFields } from "./field-schemas.ts";
import { ContextUsage, type SessionEntry, SessionInfo } from "./pi-shapes.ts";

export const Forked = {
	/** The requested file, if a running pi has it open. A copy was opened instead. */
	forkedFrom: Type.Optional(Type.String()),
	/** Text for people, if this is a copy or the file is damaged. */
	warning: Type.Optional(Type.String()),
};
export const TextOrNull = Type.Union([Type.String(), Type.Null()]);

export const StoredSession = Type.Object({
	sessionPath: Type.String({
		description: "the path to pass to load_session, switch_session_file and replay_session",
	}),
	/** The server's id, if the session is open. */
	sessionId: Type.Optional(Type.String()),
	/** Pi's id, from the file. That of a session whose id the server generated is the same. */
	piSessionId: Type.Optional(Type.String()),
	sessionName: Type.Optional(Type.String()),
	cwd: Type.String(),
	createdAt: Type.String({ description: "ISO 8601" }),
	modifiedAt: Type.String({ description: "ISO 8601" }),
	messageCount: Type.Number(),
	/** The first message, truncated. */
	firstMessage: Type.Optional(Type.String()),
	/** True for every session listed, since only sessions with a file are. */
	fileExists: Type.Boolean(),
	/** At least this many lines are unreadable; opening the file reports which. */
	damagedLines: Type.Optional(Type.Integer()),
	/** Id of a pi process that has the file open. `load_session` then opens a copy. */
	piProcess: Type.Optional(Type.Integer()),
	/** True for a session of a `strata demo` that runs in a terminal. */
	isDemo: Type.Optional(Type.Boolean()),
});

/** A session file of any agent. */
export const SessionFile = Type.Object({
	fileId: Type.String({ description: "the id to pass to replay_session" }),
	agent: Type.String(),
	/** The file's own name, without its folder. */
	name: Type.String(),
	/** The session's name or first message, truncated; only of pi. */
	title: Type.Optional(Type.String()),
	/** The project's folder, if the file names it. */
	project: Type.Optional(Type.String()),
	...numberFields("lastUseMs", "bytes"),
});

/** As in pi's RPC: full entries, nested children. */
export interface TreeNode {
	readonly entry: Type.Static<typeof SessionEntry>;
	readonly children: TreeNode[];
	readonly label?: string;
}
export const TreeNode = Type.Unsafe<TreeNode>({ type: "object" });

/** Parents come before their children. */
export const FlatTreeNode = Type.Object({
	id: Type.String(),
	parentId: TextOrNull,
	type: Type.String(),
	role: Type.Optional(Type.String()),
	preview: Type.String(),
	timestamp: Type.String(),
	label: Type.Optional(Type.String()),
});

export const SlashCommand = Type.Object({
	name: Type.String(),
	description: Type.Optional(Type.String()),
	source: Type.String({ description: "extension, prompt or skill" }),
});

export const SessionStats = Type.Object({
	sessionFile: Type.Optional(Type.String()),
	sessionId: Type.String(),
	...numberFields("userMessages", "assistantMessages", "toolCalls", "toolResults", "totalMessages"),
	tokens: Type.Object(numberFields("input", "output", "cacheRead", "cacheWrite", "total")),
	cost: Type.Number(),
	contextUsage: Type.Optional(ContextUsage),
});

export const BashResult = Type.Object({
	output: Type.String(),
	/** Absent if the command was killed. */
	exitCode: Type.Optional(Type.Number()),
	cancelled: Type.Boolean(),
	truncated: Type.Boolean(),
	fullOutputPath: Type.Optional(Type.String()),
});

/** The caller is subscribed to this session. */
export const OpenedSession = Type.Object({
	sessionId: Type.String(),
	sessionInfo: SessionInfo,
	...Forked,
	seq: Type.Optional(Type.Number()),
});
