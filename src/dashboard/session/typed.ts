import type { CommandFields, Data } from "../../protocol/index.ts";

export type Typed =
	| { readonly kind: "request"; readonly request: TypedRequest }
	/** `why` is for the user. */
	| { readonly kind: "refused"; readonly why: string };

export type TypedRequest = {
	[Type in TypedType]: {
		readonly type: Type;
		readonly fields: Omit<CommandFields<Type>, "sessionId">;
	};
}[TypedType];

type TypedType =
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

export type How = "steer" | "followUp";

/** `!` begins a shell command (`!!` one that the model does not see), `/` a command of this page or of the session; the rest is for the model, as is a slash after a space. */
export function readTyped(text: string, how: How | undefined): Typed {
	const message = text.trim();
	if (message.startsWith("!")) return readShell(message);
	const streaming = how && { streamingBehavior: how };
	if (/^\s+\//.test(text)) return request("prompt", { message, ...streaming, verbatim: true });
	const [, name = "", argument = ""] = /^\/(\S+)\s*([\s\S]*)$/.exec(message) ?? [];
	const own = OWN.get(name);
	if (own) return own.read(argument);
	const instead = ELSEWHERE.get(name);
	if (instead) return { kind: "refused", why: `/${name} is not available here. ${instead}` };
	return request("prompt", { message, ...streaming });
}

export function pageCommands(): Data<"SlashCommand">[] {
	return [...OWN].map(([name, { description }]) => ({ name, description, source: "page" }));
}

interface OwnCommand {
	readonly description: string;
	read(argument: string): Typed;
}

const OWN: ReadonlyMap<string, OwnCommand> = new Map<string, OwnCommand>([
	plain("clone", "clone", "Go on in a copy of this conversation"),
	[
		"compact",
		{
			description: "Summarise the conversation; add what the summary must keep",
			read: (customInstructions) =>
				request("compact", { ...(customInstructions && { customInstructions }) }),
		},
	],
	plain("export", "export_html", "Write the conversation into an HTML file on the server"),
	[
		"model",
		{
			description: "Choose a model: provider/model",
			read(argument) {
				const [, provider, modelId] = /^([^/]+)\/(.+)$/.exec(argument) ?? [];
				if (!provider || !modelId)
					return usage("/model provider/model, or choose one below the box");
				return request("set_model", { provider, modelId });
			},
		},
	],
	[
		"name",
		{
			description: "Name this session",
			read: (name) => (name ? request("set_session_name", { name }) : usage("/name and the name")),
		},
	],
	plain("new", "new_session", "Begin a new conversation in this session"),
	plain("reload", "reload", "Load extensions, skills, prompts and settings again"),
	[
		"thinking",
		{
			description: "Set how hard the model thinks",
			read: (level) =>
				level
					? request("set_thinking_level", { level: level as "off" }) // the server knows the levels
					: usage("/thinking and a level, or choose one below the box"),
		},
	],
]);

const ONLY_IN_PI = "It is a command of pi's terminal.";

/** Commands of pi's terminal that this page offers in another way, or not at all. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
	["bug", ONLY_IN_PI],
	["changelog", ONLY_IN_PI],
	["copy", "Select the text and copy it."],
	["fork", "Use Tree, at the top of the session."],
	["hotkeys", ONLY_IN_PI],
	["import", "Open stored sessions on the Sessions page."],
	["login", "Use pi's terminal, on the server's machine."],
	["logout", "Use pi's terminal, on the server's machine."],
	["quit", "Close the page, or delete the session on the Sessions page."],
	["resume", "Open stored sessions on the Sessions page."],
	["scoped-models", ONLY_IN_PI],
	["session", "See the Context and Cost views."],
	["settings", ONLY_IN_PI],
	["share", ONLY_IN_PI],
	["tree", "Use Tree, at the top of the session."],
	["trust", ONLY_IN_PI],
]);

/** The names that are not sent to the server. */
export const KNOWN_NAMES: ReadonlySet<string> = new Set([...OWN.keys(), ...ELSEWHERE.keys()]);

function readShell(message: string): Typed {
	const command = message.replace(/^!{1,2}\s*/, "");
	if (command === "") return usage("! and a shell command");
	return request("bash", { command, excludeFromContext: message.startsWith("!!") });
}

function plain(
	name: string,
	type: "clone" | "export_html" | "new_session" | "reload",
	description: string,
): [string, OwnCommand] {
	const read = (argument: string) => (argument ? usage(`/${name} alone`) : request(type, {}));
	return [name, { description, read }];
}

function request<Type extends TypedType>(
	type: Type,
	fields: Omit<CommandFields<Type>, "sessionId">,
): Typed {
	return { kind: "request", request: { type, fields } as TypedRequest };
}

function usage(what: string): Typed {
	return { kind: "refused", why: `Write ${what}.` };
}
