import Type from "typebox";
import { sessionCommand } from "./command-row.ts";
import {
	ExportName,
	Images,
	Instructions,
	MAX_MESSAGE,
	Message,
	Name,
	oneOf,
	QueueMode,
	Reference,
	SessionName,
	SessionPath,
	ThinkingLevel,
	text,
} from "./field-schemas.ts";

const READ = { effect: "read", path: "control", timeout: "short" } as const;
const CHANGE = { effect: "change", path: "lane", timeout: "short" } as const;
/** Asks a model, runs a program, or lets extensions ask the user. */
const LONG = { effect: "change", path: "lane", timeout: "long" } as const;
/** Reaches into a run. */
const INTERVENE = { effect: "change", path: "control", timeout: "short" } as const;

const Nothing = Type.Object({});
const Said = Type.Object({ message: Message, images: Type.Optional(Images) });
const Switch = Type.Object({ enabled: Type.Boolean() });

/** Names and fields follow pi's RPC. */
export const sessionCommands = {
	/** Answered once pi accepts it, or after the run if `settled`. An unknown `/name` fails. */
	prompt: sessionCommand(
		LONG,
		Type.Object({
			message: Message,
			images: Type.Optional(Images),
			streamingBehavior: Type.Optional(oneOf("steer", "followUp")),
			waitFor: Type.Optional(oneOf("accepted", "settled")),
			/** Text for the model, even with a leading slash. */
			verbatim: Type.Optional(Type.Boolean()),
		}),
	),
	steer: sessionCommand(INTERVENE, Said),
	follow_up: sessionCommand(INTERVENE, Said),
	extension_ui_response: sessionCommand(
		READ,
		Type.Object({
			requestId: Reference,
			response: Type.Union(
				[
					Type.Object({ value: text({ min: 0, max: MAX_MESSAGE }) }),
					Type.Object({ confirmed: Type.Boolean() }),
					Type.Object({ cancelled: Type.Literal(true) }),
				],
				{
					description: `an object with value (a string of at most ${MAX_MESSAGE} characters), confirmed (true or false) or cancelled (true)`,
				},
			),
		}),
	),

	abort: sessionCommand(INTERVENE, Nothing),
	abort_bash: sessionCommand(INTERVENE, Nothing),
	abort_compaction: sessionCommand(INTERVENE, Nothing),
	abort_retry: sessionCommand(INTERVENE, Nothing),

	get_state: sessionCommand(READ, Nothing),
	get_messages: sessionCommand(READ, Nothing),
	get_entries: sessionCommand(READ, Type.Object({ since: Type.Optional(Reference) })),
	/** Nested as in pi's RPC; `flat: true` lists short nodes, at any depth. */
	get_tree: sessionCommand(READ, Type.Object({ flat: Type.Optional(Type.Boolean()) })),
	get_fork_messages: sessionCommand(READ, Nothing),
	get_last_assistant_text: sessionCommand(READ, Nothing),
	get_session_stats: sessionCommand(READ, Nothing),
	get_context_usage: sessionCommand(READ, Nothing),
	get_available_models: sessionCommand(READ, Nothing),
	get_available_thinking_levels: sessionCommand(READ, Nothing),
	get_commands: sessionCommand(READ, Nothing),
	get_skills: sessionCommand(READ, Nothing),
	get_tools: sessionCommand(READ, Nothing),
	/** Of the session's project. */
	list_session_files: sessionCommand(READ, Nothing),

	clear_queue: sessionCommand(CHANGE, Nothing),
	set_model: sessionCommand(CHANGE, Type.Object({ provider: Reference, modelId: Reference })),
	cycle_model: sessionCommand(
		CHANGE,
		Type.Object({ direction: Type.Optional(oneOf("forward", "backward")) }),
	),
	set_thinking_level: sessionCommand(CHANGE, Type.Object({ level: ThinkingLevel })),
	cycle_thinking_level: sessionCommand(CHANGE, Nothing),
	set_steering_mode: sessionCommand(CHANGE, Type.Object({ mode: QueueMode })),
	set_follow_up_mode: sessionCommand(CHANGE, Type.Object({ mode: QueueMode })),
	set_auto_compaction: sessionCommand(CHANGE, Switch),
	set_auto_retry: sessionCommand(CHANGE, Switch),
	set_session_name: sessionCommand(CHANGE, Type.Object({ name: SessionName })),
	set_tools: sessionCommand(
		CHANGE,
		Type.Object({ tools: Type.Array(Reference, { maxItems: 256 }) }),
	),

	compact: sessionCommand(LONG, Type.Object({ customInstructions: Type.Optional(Instructions) })),
	bash: sessionCommand(
		LONG,
		Type.Object({
			command: text({ max: 20_000 }),
			excludeFromContext: Type.Optional(Type.Boolean()),
		}),
	),
	new_session: sessionCommand(LONG, Type.Object({ parentSession: Type.Optional(SessionPath) })),
	switch_session_file: sessionCommand(LONG, Type.Object({ sessionPath: SessionPath })),
	fork: sessionCommand(LONG, Type.Object({ entryId: Reference })),
	clone: sessionCommand(LONG, Nothing),
	navigate_tree: sessionCommand(
		LONG,
		Type.Object({
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
	),
	/** Rereads settings, extensions, skills and prompts from disk. */
	reload: sessionCommand(LONG, Nothing),
	/** `outputPath` names a file in the session's own folder. */
	export_html: sessionCommand(LONG, Type.Object({ outputPath: Type.Optional(ExportName) })),
} as const;
