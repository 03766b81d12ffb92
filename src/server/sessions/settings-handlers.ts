import type { AgentSession } from "@earendil-works/pi-coding-agent";
import { CommandError } from "../engine/call.ts";
import { modelView } from "./model-view.ts";
import type { SessionHandlers } from "./session-handler.ts";
import { slashCommands } from "./slash-commands.ts";

/** What a session works with: its model, tools, modes and name. All of it is for this session only. */
export const settingsHandlers: SessionHandlers<
	| "set_model"
	| "cycle_model"
	| "get_available_models"
	| "set_thinking_level"
	| "cycle_thinking_level"
	| "get_available_thinking_levels"
	| "set_steering_mode"
	| "set_follow_up_mode"
	| "set_auto_compaction"
	| "set_auto_retry"
	| "set_session_name"
	| "get_tools"
	| "set_tools"
	| "get_commands"
	| "get_skills"
	| "reload"
> = {
	async set_model({ session }, { provider, modelId }) {
		const available = session.modelRuntime.getAvailableSnapshot();
		const model = available.find((one) => one.provider === provider && one.id === modelId);
		if (!model) {
			throw new CommandError(
				"not_found",
				`There is no model "${modelId}" of provider "${provider}" with a key: see get_available_models`,
			);
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
		return {};
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
		return {};
	},
	set_follow_up_mode({ session, chosen }, { mode }) {
		chosen.followUpMode = mode;
		session.setFollowUpMode(mode);
		return {};
	},
	set_auto_compaction({ session, chosen }, { enabled }) {
		chosen.autoCompaction = enabled;
		session.setAutoCompactionEnabled(enabled);
		return {};
	},
	set_auto_retry({ session, chosen }, { enabled }) {
		chosen.autoRetry = enabled;
		session.setAutoRetryEnabled(enabled);
		return {};
	},
	set_session_name({ session }, { name }) {
		session.setSessionName(name.trim());
		return {};
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
	set_tools({ session, chosen, applyTools }, { tools }) {
		const known = new Set(session.getAllTools().map(({ name }) => name));
		const unknown = tools.filter((name) => !known.has(name));
		if (unknown.length > 0) {
			throw new CommandError(
				"not_found",
				`There is no tool ${unknown.map((name) => `"${name}"`).join(", ")}: see get_tools`,
			);
		}
		chosen.tools = [...new Set(tools)];
		applyTools();
		return { tools: session.getActiveToolNames() };
	},
	get_commands: ({ session }) => ({ commands: slashCommands(session) }),
	get_skills({ session }) {
		const { skills } = session.resourceLoader.getSkills();
		return { skills: skills.map(({ name, description }) => ({ name, description })) };
	},
	async reload(live) {
		if (live.session.isStreaming || live.session.isCompacting) {
			throw new CommandError("wrong_state", "The session is busy: wait for it, or abort first");
		}
		await live.reload();
		return {};
	},
};
