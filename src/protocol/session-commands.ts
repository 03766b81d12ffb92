import Type from "typebox";
import * as code from "./code-data.ts";
import { NoData, sessionCommand } from "./command-row.ts";
import * as context from "./context-data.ts";
import {
	Count,
	ExportName,
	Images,
	Instructions,
	listOf,
	MAX_MESSAGE,
	Message,
	Name,
	oneOf,
	Path,
	QueuedMessages,
	QueueMode,
	Reference,
	SessionName,
	SessionPath,
	ThinkingLevel,
	text,
	wholeNumber,
} from "./field-schemas.ts";
import * as pi from "./pi-shapes.ts";
import * as session from "./session-data.ts";

const READ = { effect: "read", path: "control", timeout: "short" } as const;
/** For questions about code: the first one may wait for the project's index. */
const CODE = { effect: "read", path: "control", timeout: "long" } as const;
const CHANGE = { effect: "change", path: "lane", timeout: "short" } as const;
/** For commands that ask a model, run a program, or let extensions ask the user. */
const LONG = { effect: "change", path: "lane", timeout: "long" } as const;
/** For commands that act on a run in progress. */
const INTERVENE = { effect: "change", path: "control", timeout: "short" } as const;

const MessageFields = { message: Message, images: Type.Optional(Images) };
const EnabledField = { enabled: Type.Boolean() };
const IncludeTests = Type.Optional(Type.Boolean());
const DescribedFields = { name: Type.String(), description: Type.String() };
const Cancelled = { cancelled: Type.Boolean() };
const Cancellation = Type.Object(Cancelled);

/** With `waitFor: "settled"`: how the run ended. */
const RunEnd = Type.Optional(
	Type.Object({
		stopReason: Type.Optional(Type.String()),
		errorMessage: Type.Optional(Type.String()),
	}),
);

const Tree = Type.Object({
	leafId: session.TextOrNull,
	/** Present without `flat`. */
	tree: Type.Optional(Type.Array(session.TreeNode)),
	/** Present with `flat`. */
	nodes: Type.Optional(Type.Array(session.FlatTreeNode)),
	truncated: Type.Optional(Type.Boolean()),
});

const CycledModel = Type.Union([
	Type.Object({ model: pi.Model, thinkingLevel: ThinkingLevel, isScoped: Type.Boolean() }),
	Type.Null(),
]);

const Navigated = Type.Object({
	editorText: Type.Optional(Type.String()),
	...Cancelled,
	aborted: Type.Optional(Type.Boolean()),
});

/** Names and fields follow pi's RPC. */
export const sessionCommands = {
	/** Answered when pi accepts the prompt or, with `settled`, after the run. Unknown `/name`s fail. */
	prompt: sessionCommand(LONG, RunEnd, {
		...MessageFields,
		streamingBehavior: Type.Optional(oneOf("steer", "followUp")),
		waitFor: Type.Optional(oneOf("accepted", "settled")),
		/** The message is text for the model, even with a leading slash. */
		verbatim: Type.Optional(Type.Boolean()),
	}),
	steer: sessionCommand(INTERVENE, NoData, MessageFields),
	follow_up: sessionCommand(INTERVENE, NoData, MessageFields),
	extension_ui_response: sessionCommand(READ, NoData, {
		requestId: Reference,
		response: Type.Union(
			[
				Type.Object({ value: text(MAX_MESSAGE, { min: 0 }) }),
				Type.Object({ confirmed: Type.Boolean() }),
				Type.Object({ cancelled: Type.Literal(true) }),
			],
			{
				description: `an object with value (a string of at most ${MAX_MESSAGE} characters), confirmed (true or false) or cancelled (true)`,
			},
		),
	}),

	abort: sessionCommand(INTERVENE, NoData),
	abort_bash: sessionCommand(INTERVENE, NoData),
	abort_compaction: sessionCommand(INTERVENE, NoData),
	abort_retry: sessionCommand(INTERVENE, NoData),

	get_state: sessionCommand(READ, pi.SessionState),
	get_messages: sessionCommand(READ, Type.Object({ messages: Type.Array(pi.AgentMessage) })),
	get_entries: sessionCommand(
		READ,
		Type.Object({ entries: Type.Array(pi.SessionEntry), leafId: session.TextOrNull }),
		{ since: Type.Optional(Reference) },
	),
	/** The tree is nested as in pi's RPC; `flat: true` lists short nodes instead, at any depth. */
	get_tree: sessionCommand(READ, Tree, { flat: Type.Optional(Type.Boolean()) }),
	get_fork_messages: sessionCommand(
		READ,
		Type.Object({ messages: listOf({ entryId: Type.String(), text: Type.String() }) }),
	),
	get_last_assistant_text: sessionCommand(READ, Type.Object({ text: session.TextOrNull })),
	get_session_stats: sessionCommand(READ, session.SessionStats),
	get_context_usage: sessionCommand(READ, Type.Union([pi.ContextUsage, Type.Null()])),
	get_available_models: sessionCommand(READ, Type.Object({ models: Type.Array(pi.Model) })),
	get_available_thinking_levels: sessionCommand(
		READ,
		Type.Object({ levels: Type.Array(ThinkingLevel) }),
	),
	get_commands: sessionCommand(READ, Type.Object({ commands: Type.Array(session.SlashCommand) })),
	get_skills: sessionCommand(READ, Type.Object({ skills: listOf(DescribedFields) })),
	get_tools: sessionCommand(
		READ,
		Type.Object({ tools: listOf({ ...DescribedFields, active: Type.Boolean() }) }),
	),
	/** Files of the session's folder whose path contains `query`, the best match first. */
	list_files: sessionCommand(
		READ,
		Type.Object({ files: Type.Array(Type.String()), truncated: Type.Boolean() }),
		{
			query: Type.Optional(text(500, { min: 0 })),
			limit: Type.Optional(wholeNumber(1, 200)),
		},
	),
	/** Lists the session files of the session's project. */
	list_session_files: sessionCommand(
		READ,
		Type.Object({ files: Type.Array(session.StoredSession) }),
	),

	clear_queue: sessionCommand(CHANGE, Type.Object(QueuedMessages)),
	set_model: sessionCommand(CHANGE, pi.Model, { provider: Reference, modelId: Reference }),
	cycle_model: sessionCommand(CHANGE, CycledModel, {
		direction: Type.Optional(oneOf("forward", "backward")),
	}),
	set_thinking_level: sessionCommand(CHANGE, NoData, { level: ThinkingLevel }),
	cycle_thinking_level: sessionCommand(
		CHANGE,
		Type.Union([Type.Object({ level: ThinkingLevel }), Type.Null()]),
	),
	set_steering_mode: sessionCommand(CHANGE, NoData, { mode: QueueMode }),
	set_follow_up_mode: sessionCommand(CHANGE, NoData, { mode: QueueMode }),
	set_auto_compaction: sessionCommand(CHANGE, NoData, EnabledField),
	set_auto_retry: sessionCommand(CHANGE, NoData, EnabledField),
	set_session_name: sessionCommand(CHANGE, NoData, { name: SessionName }),
	set_tools: sessionCommand(CHANGE, Type.Object({ tools: Type.Array(Type.String()) }), {
		tools: Type.Array(Reference, { maxItems: 256 }),
	}),

	compact: sessionCommand(LONG, pi.CompactionResult, {
		customInstructions: Type.Optional(Instructions),
	}),
	bash: sessionCommand(LONG, session.BashResult, {
		command: text(20_000),
		excludeFromContext: Type.Optional(Type.Boolean()),
	}),
	new_session: sessionCommand(LONG, Cancellation, {
		parentSession: Type.Optional(SessionPath),
	}),
	switch_session_file: sessionCommand(LONG, Type.Object({ ...Cancelled, ...session.Forked }), {
		sessionPath: SessionPath,
	}),
	fork: sessionCommand(
		LONG,
		Type.Object({ sessionId: Type.String(), text: Type.String(), ...Cancelled }),
		{ entryId: Reference },
	),
	clone: sessionCommand(LONG, Cancellation),
	navigate_tree: sessionCommand(LONG, Navigated, {
		targetId: Reference,
		options: Type.Optional(
			Type.Object({
				summarize: Type.Optional(Type.Boolean()),
				customInstructions: Type.Optional(Instructions),
				replaceInstructions: Type.Optional(Type.Boolean()),
				label: Type.Optional(Name),
			}),
		),
	}),
	/** Rereads settings, extensions, skills and prompts from disk. */
	reload: sessionCommand(LONG, NoData),
	/** `outputPath` names a file in the session's export folder, next to the session file. */
	export_html: sessionCommand(LONG, Type.Object({ path: Type.String() }), {
		outputPath: Type.Optional(ExportName),
	}),

	get_context_view: sessionCommand(READ, context.ContextView),
	get_context_piece: sessionCommand(READ, context.ContextPieceText, {
		pieceId: Reference,
		offset: Type.Optional(Count),
	}),
	get_cost: sessionCommand(READ, context.Cost),
	get_tiers: sessionCommand(READ, context.Tiers),
	get_savings: sessionCommand(READ, context.Savings),

	/** Never indexes a project, unlike the other code commands. */
	code_status: sessionCommand(CODE, code.CodeStatus),
	code_search: sessionCommand(CODE, code.CodeSearchAnswer, {
		query: text(1000),
		limit: Type.Optional(wholeNumber(1, 200)),
		contextLines: Type.Optional(wholeNumber(0, 20)),
		glob: Type.Optional(text(1000)),
		includeTests: IncludeTests,
	}),
	code_deps: sessionCommand(CODE, code.CodeDepsAnswer, {
		path: Path,
		depth: Type.Optional(wholeNumber(1, 10)),
		direction: Type.Optional(oneOf("dependents", "dependencies", "both")),
		includeTests: IncludeTests,
	}),
	/** `symbol` is a name or `Owner.member`; `file` selects the definition in that file. */
	code_usages: sessionCommand(CODE, code.CodeUsagesAnswer, {
		symbol: text(500),
		file: Type.Optional(Path),
		includeTests: IncludeTests,
	}),
} as const;
