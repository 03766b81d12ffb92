import type { CommandFields, Data } from "../../protocol/index.ts";

type ParsedInput =
	| { readonly kind: "command"; readonly command: InputCommand }
	| { readonly kind: "refused"; readonly why: string };

/** A command of the protocol that the prompt box can send. */
export type InputCommand = {
	[Type in CommandType]: { readonly type: Type; readonly fields: Fields<Type> };
}[CommandType];

type Fields<Type extends CommandType> = Omit<CommandFields<Type>, "sessionId">;

type CommandType =
	| "bash"
	| "clone"
	| "compact"
	| "export_html"
	| "new_session"
	| "prompt"
	| "reload"
	| "set_model"
	| "set_session_name"
	| "set_thinking_level";

/** How a message joins a run in progress. */
export type StreamingBehavior = "steer" | "followUp";

/**
 * `!` starts a shell command, `!!` one that is hidden from the model, and `/` a command of this page or of
 * the session. All other text goes to the model, even if it starts with a space and a slash.
 */
export function parseInput(text: string, how: StreamingBehavior | undefined): ParsedInput {
	const message = text.trim();
	if (message.startsWith("!")) return parseShell(message);
	const streaming = how && { streamingBehavior: how };
	if (/^\s+\//.test(text)) return accepted("prompt", { message, ...streaming, verbatim: true });
	const [, name = "", argument = ""] = /^\/(\S+)\s*([\s\S]*)$/.exec(message) ?? [];
	const known = COMMANDS.get(name);
	if (known) return known.parse(argument);
	const [advice] = TERMINAL_COMMANDS.find(([, names]) => names.includes(name)) ?? [];
	if (advice) return refused(`/${name} is not available here. ${advice}`);
	return accepted("prompt", { message, ...streaming });
}

export function pageCommands(): Data<"SlashCommand">[] {
	return [...COMMANDS].map(([name, { description }]) => ({ name, description, source: "page" }));
}

const COMMANDS = new Map([
	withoutArgument("clone", "clone", "Continue in a copy of this conversation"),
	own("compact", "Summarise the conversation; you can add instructions", (instructions) =>
		accepted("compact", instructions ? { customInstructions: instructions } : {}),
	),
	withoutArgument("export", "export_html", "Export the conversation to an HTML file on the server"),
	own("model", "Choose a model: provider/model", (argument) => {
		const [, provider, modelId] = /^([^/]+)\/(.+)$/.exec(argument) ?? [];
		if (!provider || !modelId) return refused("Type /model provider/model, or choose one below.");
		return accepted("set_model", { provider, modelId });
	}),
	own("name", "Name this session", (name) =>
		name ? accepted("set_session_name", { name }) : refused("Type /name and the new name."),
	),
	withoutArgument("new", "new_session", "Start a new conversation in this session"),
	withoutArgument("reload", "reload", "Reload extensions, skills, prompts and settings"),
	own("thinking", "Set the thinking level of the model", (level) =>
		level
			? accepted("set_thinking_level", { level: level as "off" }) // the server checks the level
			: refused("Type /thinking and a level, or choose one below."),
	),
]);

/** Advice for commands of pi's terminal that this page does not have. */
const TERMINAL_COMMANDS: readonly (readonly [string, readonly string[]])[] = [
	[
		"It only works in pi's terminal.",
		["bug", "changelog", "hotkeys", "scoped-models", "settings", "share", "trust"],
	],
	["Select the text and copy it.", ["copy"]],
	["Use the Tree button at the top of the session.", ["fork", "tree"]],
	["Open stored sessions on the Sessions page.", ["import", "resume"]],
	["Use pi's terminal on the server's machine.", ["login", "logout"]],
	["Close the page, or delete the session on the Sessions page.", ["quit"]],
	["See the Context and Cost views.", ["session"]],
];

export const HANDLED_NAMES: ReadonlySet<string> = new Set([
	...COMMANDS.keys(),
	...TERMINAL_COMMANDS.flatMap(([, names]) => names),
]);

function parseShell(message: string): ParsedInput {
	const command = message.replace(/^!{1,2}\s*/, "");
	if (command === "") return refused("Type a shell command after the “!”.");
	return accepted("bash", { command, excludeFromContext: message.startsWith("!!") });
}

function own(name: string, description: string, parse: (argument: string) => ParsedInput) {
	return [name, { description, parse }] as const;
}

function withoutArgument(
	name: string,
	type: "clone" | "export_html" | "new_session" | "reload",
	description: string,
) {
	return own(name, description, (argument) =>
		argument ? refused(`Type /${name} without arguments.`) : accepted(type, {}),
	);
}

function accepted<Type extends CommandType>(type: Type, fields: Fields<Type>): ParsedInput {
	return { kind: "command", command: { type, fields } as InputCommand };
}

function refused(why: string): ParsedInput {
	return { kind: "refused", why };
}

/** The command name that is being typed, without its slash. Undefined if the text is not just a name. */
export function partialName(text: string): string | undefined {
	return /^\/(\S*)$/.exec(text)?.[1];
}

const MAX_PROPOSALS = 100;

/** Best match first: the exact name, a prefix, a prefix of a part (`pdf` for `skill:pdf`), any substring. */
export function matchingCommands(commands: readonly Data<"SlashCommand">[], partial: string) {
	const query = partial.toLowerCase();
	// Reversed, so that the first of two commands with the same name wins, as in the session.
	const byName = new Map(commands.toReversed().map((command) => [command.name, command]));
	return [...byName.values()]
		.map((command) => ({ command, rank: rankOf(command.name.toLowerCase(), query) }))
		.filter(({ rank }) => rank < NO_MATCH)
		.sort((a, b) => a.rank - b.rank || (a.command.name < b.command.name ? -1 : 1))
		.slice(0, MAX_PROPOSALS)
		.map(({ command }) => command);
}

export function completionOf({ name }: Data<"SlashCommand">): string {
	return `/${name} `;
}

const NO_MATCH = 4;

function rankOf(name: string, query: string): number {
	if (name === query) return 0;
	const at = name.indexOf(query);
	if (at === 0) return 1;
	if (at === -1) return NO_MATCH;
	const beginsPart = [":", "-", "_", "/", "."].some((mark) => name.includes(mark + query));
	return beginsPart ? 2 : 3;
}
