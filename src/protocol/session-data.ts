import Type from "typebox";
import { ThinkingLevel } from "./field-schemas.ts";
import {
	AgentMessage,
	CompactionResult,
	ContextUsage,
	Model,
	SessionEntry,
	SessionInfo,
	SessionState,
} from "./pi-shapes.ts";

const Nothing = Type.Object({});
const Cancelled = Type.Object({ cancelled: Type.Boolean() });
const Forked = {
	/** The requested file: a running pi has it open, so a copy was opened. */
	forkedFrom: Type.Optional(Type.String()),
	/** For people: this is a copy, or the file is damaged. */
	warning: Type.Optional(Type.String()),
};
const TextOrNull = Type.Union([Type.String(), Type.Null()]);

export const StoredSession = Type.Object({
	sessionPath: Type.String({
		description: "what load_session, switch_session_file and replay_session take",
	}),
	sessionId: Type.Optional(Type.String()),
	sessionName: Type.Optional(Type.String()),
	cwd: Type.String(),
	createdAt: Type.String({ description: "ISO 8601" }),
	modifiedAt: Type.String({ description: "ISO 8601" }),
	messageCount: Type.Number(),
	/** Truncated. */
	firstMessage: Type.Optional(Type.String()),
	/** An open session may have no file yet. */
	fileExists: Type.Boolean(),
	/** At least this many unreadable lines; opening reports which. */
	damagedLines: Type.Optional(Type.Integer()),
	/** A pi process that has it open: `load_session` opens a copy. */
	piProcess: Type.Optional(Type.Integer()),
});

/** As in pi's RPC: full entries, nested children. */
export interface TreeNode {
	entry: Type.Static<typeof SessionEntry>;
	children: TreeNode[];
	label?: string;
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

export const ToolInfo = Type.Object({
	name: Type.String(),
	description: Type.String(),
	active: Type.Boolean(),
});

export const SkillInfo = Type.Object({ name: Type.String(), description: Type.String() });

export const SessionStats = Type.Object({
	sessionFile: Type.Optional(Type.String()),
	sessionId: Type.String(),
	userMessages: Type.Number(),
	assistantMessages: Type.Number(),
	toolCalls: Type.Number(),
	toolResults: Type.Number(),
	totalMessages: Type.Number(),
	tokens: Type.Object({
		input: Type.Number(),
		output: Type.Number(),
		cacheRead: Type.Number(),
		cacheWrite: Type.Number(),
		total: Type.Number(),
	}),
	cost: Type.Number(),
	contextUsage: Type.Optional(ContextUsage),
});

export const BashResult = Type.Object({
	output: Type.String(),
	/** Absent when it was killed. */
	exitCode: Type.Optional(Type.Number()),
	cancelled: Type.Boolean(),
	truncated: Type.Boolean(),
	fullOutputPath: Type.Optional(Type.String()),
});

export const sessionData = {
	/** With `waitFor: "settled"`: how the run ended. */
	prompt: Type.Optional(
		Type.Object({
			stopReason: Type.Optional(Type.String()),
			errorMessage: Type.Optional(Type.String()),
		}),
	),
	steer: Nothing,
	follow_up: Nothing,
	extension_ui_response: Nothing,
	abort: Nothing,
	abort_bash: Nothing,
	abort_compaction: Nothing,
	abort_retry: Nothing,
	get_state: SessionState,
	get_messages: Type.Object({ messages: Type.Array(AgentMessage) }),
	get_entries: Type.Object({ entries: Type.Array(SessionEntry), leafId: TextOrNull }),
	get_tree: Type.Object({
		leafId: TextOrNull,
		/** Without `flat`. */
		tree: Type.Optional(Type.Array(TreeNode)),
		/** With `flat`. */
		nodes: Type.Optional(Type.Array(FlatTreeNode)),
		truncated: Type.Optional(Type.Boolean()),
	}),
	get_fork_messages: Type.Object({
		messages: Type.Array(Type.Object({ entryId: Type.String(), text: Type.String() })),
	}),
	get_last_assistant_text: Type.Object({ text: TextOrNull }),
	get_session_stats: SessionStats,
	get_context_usage: Type.Union([ContextUsage, Type.Null()]),
	get_available_models: Type.Object({ models: Type.Array(Model) }),
	get_available_thinking_levels: Type.Object({ levels: Type.Array(ThinkingLevel) }),
	get_commands: Type.Object({ commands: Type.Array(SlashCommand) }),
	get_skills: Type.Object({ skills: Type.Array(SkillInfo) }),
	get_tools: Type.Object({ tools: Type.Array(ToolInfo) }),
	list_session_files: Type.Object({ files: Type.Array(StoredSession) }),
	clear_queue: Type.Object({
		steering: Type.Array(Type.String()),
		followUp: Type.Array(Type.String()),
	}),
	set_model: Model,
	cycle_model: Type.Union([
		Type.Object({ model: Model, thinkingLevel: ThinkingLevel, isScoped: Type.Boolean() }),
		Type.Null(),
	]),
	set_thinking_level: Nothing,
	cycle_thinking_level: Type.Union([Type.Object({ level: ThinkingLevel }), Type.Null()]),
	set_steering_mode: Nothing,
	set_follow_up_mode: Nothing,
	set_auto_compaction: Nothing,
	set_auto_retry: Nothing,
	set_session_name: Nothing,
	set_tools: Type.Object({ tools: Type.Array(Type.String()) }),
	compact: CompactionResult,
	bash: BashResult,
	new_session: Cancelled,
	switch_session_file: Type.Object({ cancelled: Type.Boolean(), ...Forked }),
	fork: Type.Object({ sessionId: Type.String(), text: Type.String(), cancelled: Type.Boolean() }),
	clone: Cancelled,
	navigate_tree: Type.Object({
		editorText: Type.Optional(Type.String()),
		cancelled: Type.Boolean(),
		aborted: Type.Optional(Type.Boolean()),
	}),
	reload: Nothing,
	export_html: Type.Object({ path: Type.String() }),
} as const;

/** The caller is subscribed to it. */
export const OpenedSession = Type.Object({
	sessionId: Type.String(),
	sessionInfo: SessionInfo,
	...Forked,
	seq: Type.Optional(Type.Number()),
});
