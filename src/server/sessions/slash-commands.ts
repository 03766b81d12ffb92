import type { AgentSession } from "@earendil-works/pi-coding-agent";
import type { CommandType, SlashCommand } from "../../protocol/index.ts";
import { nearest } from "../../text/nearest.ts";
import { CommandError } from "../engine/call.ts";

/** What a session knows commands from. */
type Session = Pick<AgentSession, "extensionRunner" | "promptTemplates" | "resourceLoader">;

/** The commands that a message to the session may begin with. */
export function slashCommands(session: Session): SlashCommand[] {
	const ofExtensions = session.extensionRunner.getRegisteredCommands().map((command) => ({
		name: command.invocationName,
		description: command.description,
		source: "extension",
	}));
	const prompts = session.promptTemplates.map(({ name, description }) => ({
		name,
		description,
		source: "prompt",
	}));
	const skills = session.resourceLoader.getSkills().skills.map(({ name, description }) => ({
		name: `skill:${name}`,
		description,
		source: "skill",
	}));
	return [...ofExtensions, ...prompts, ...skills].map(({ name, description, source }) => ({
		name,
		source,
		...(description !== undefined && { description }),
	}));
}

/**
 * A message as pi takes it. Throws `unknown_command` for one that begins with a command which pi would not recognize:
 * pi would send it to the model as text.
 */
export function checkedMessage(session: Session, message: string): string {
	const [, word, rest = ""] = /^\/(\S+)([\s\S]*)$/.exec(message) ?? [];
	if (word === undefined) return message;
	const commands = slashCommands(session);
	const known = commands.find(({ name }) => name === word);
	// Pi ends a name at a space only, except that of a template.
	if (known) return rest === "" ? message : `/${word} ${rest.slice(1)}`;
	if (!COMMAND.test(word)) return message;
	throw new CommandError("unknown_command", refusal(word, commands));
}

/** Begins with a letter and has no slash: `/usr/bin`, `//` and a lone slash are text. */
const COMMAND = /^\p{L}[^/]*$/u;

/** What pi's terminal answers by itself, and the commands of the protocol that do the same. */
export const TERMINAL_COMMANDS: ReadonlyMap<string, readonly CommandType[]> = new Map<
	string,
	readonly CommandType[]
>([
	["bug", []],
	["changelog", []],
	["clone", ["clone"]],
	["compact", ["compact"]],
	["copy", ["get_last_assistant_text"]],
	["export", ["export_html"]],
	["fork", ["get_fork_messages", "fork"]],
	["hotkeys", []],
	["import", ["load_session"]],
	["login", []],
	["logout", []],
	["model", ["get_available_models", "set_model"]],
	["name", ["set_session_name"]],
	["new", ["new_session"]],
	["quit", []],
	["reload", ["reload"]],
	["resume", ["list_stored_sessions", "load_session"]],
	["scoped-models", []],
	["session", ["get_session_stats"]],
	["settings", []],
	["share", []],
	["thinking", ["set_thinking_level"]],
	["tree", ["get_tree", "navigate_tree"]],
	["trust", []],
]);

function refusal(word: string, commands: readonly SlashCommand[]): string {
	const instead = TERMINAL_COMMANDS.get(word);
	const asText = "To send it to the model as text, put a space before it or set verbatim.";
	if (instead) {
		const use =
			instead.length > 0 ? `use ${instead.join(" and ")} of the protocol` : "it does nothing here";
		return `"/${word}" is a command of pi's terminal: ${use}. ${asText}`;
	}
	const names = [...commands.map(({ name }) => name), ...TERMINAL_COMMANDS.keys()];
	const near = [nearest(word, names) ?? [], names.filter((name) => name.startsWith(word))].flat();
	const hint = [...new Set(near)].slice(0, MAX_NEAR).map((name) => `"/${name}"`);
	const meant = hint.length > 0 ? ` Did you mean ${hint.join(" or ")}?` : " See get_commands.";
	return `There is no command "/${word.slice(0, MAX_WORD)}".${meant} ${asText}`;
}

const MAX_NEAR = 3;
const MAX_WORD = 60;
