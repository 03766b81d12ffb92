import type { CommandFields, Data } from "../../protocol/index.ts";

type Typed =
	| { readonly kind: "request"; readonly request: TypedRequest }
	| { readonly kind: "refused"; readonly why: string };

export type TypedRequest = {
	[Type in TypedType]: { readonly type: Type; readonly fields: Fields<Type> };
}[TypedType];

type Fields<Type extends TypedType> = Omit<CommandFields<Type>, "sessionId">;

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
	const command = OWN.get(name);
	if (command) return command.read(argument);
	const [instead] = INSTEAD.find(([, names]) => names.includes(name)) ?? [];
	if (instead) return { kind: "refused", why: `/${name} is not available here. ${instead}` };
	return request("prompt", { message, ...streaming });
}

export function pageCommands(): Data<"SlashCommand">[] {
	return [...OWN].map(([name, { description }]) => ({ name, description, source: "page" }));
}

const OWN = new Map([
	alone("clone", "clone", "Go on in a copy of this conversation"),
	own("compact", "Summarise the conversation; add what the summary must keep", (kept) =>
		request("compact", kept ? { customInstructions: kept } : {}),
	),
	alone("export", "export_html", "Write the conversation into an HTML file on the server"),
	own("model", "Choose a model: provider/model", (argument) => {
		const [, provider, modelId] = /^([^/]+)\/(.+)$/.exec(argument) ?? [];
		if (!provider || !modelId) return usage("/model provider/model, or choose one below the box");
		return request("set_model", { provider, modelId });
	}),
	own("name", "Name this session", (name) =>
		name ? request("set_session_name", { name }) : usage("/name and the name"),
	),
	alone("new", "new_session", "Begin a new conversation in this session"),
	alone("reload", "reload", "Load extensions, skills, prompts and settings again"),
	own("thinking", "Set how hard the model thinks", (level) =>
		level
			? request("set_thinking_level", { level: level as "off" }) // the server knows the levels
			: usage("/thinking and a level, or choose one below the box"),
	),
]);

/** Commands of pi's terminal that this page offers in another way, or not at all. */
const INSTEAD: readonly (readonly [string, readonly string[]])[] = [
	[
		"It is a command of pi's terminal.",
		["bug", "changelog", "hotkeys", "scoped-models", "settings", "share", "trust"],
	],
	["Select the text and copy it.", ["copy"]],
	["Use Tree, at the top of the session.", ["fork", "tree"]],
	["Open stored sessions on the Sessions page.", ["import", "resume"]],
	["Use pi's terminal, on the server's machine.", ["login", "logout"]],
	["Close the page, or delete the session on the Sessions page.", ["quit"]],
	["See the Context and Cost views.", ["session"]],
];

export const KNOWN_NAMES: ReadonlySet<string> = new Set([
	...OWN.keys(),
	...INSTEAD.flatMap(([, names]) => names),
]);

function readShell(message: string): Typed {
	const command = message.replace(/^!{1,2}\s*/, "");
	if (command === "") return usage("! and a shell command");
	return request("bash", { command, excludeFromContext: message.startsWith("!!") });
}

function own(name: string, description: string, read: (argument: string) => Typed) {
	return [name, { description, read }] as const;
}

function alone(
	name: string,
	type: "clone" | "export_html" | "new_session" | "reload",
	description: string,
) {
	return own(name, description, (argument) =>
		argument ? usage(`/${name} alone`) : request(type, {}),
	);
}

function request<Type extends TypedType>(type: Type, fields: Fields<Type>): Typed {
	return { kind: "request", request: { type, fields } as TypedRequest };
}

function usage(what: string): Typed {
	return { kind: "refused", why: `Write ${what}.` };
}

export function typedName(text: string): string | undefined {
	return /^\/(\S*)$/.exec(text)?.[1];
}

const MOST = 100;

/** The best first: the same name, names that begin so, names with a part that begins so (`pdf` for `skill:pdf`), others that contain it. */
export function fitting(commands: readonly Data<"SlashCommand">[], typed: string) {
	const sought = typed.toLowerCase();
	// The session takes the first of two commands of one name.
	const byName = new Map(commands.toReversed().map((command) => [command.name, command]));
	return [...byName.values()]
		.map((command) => ({ command, rank: rankOf(command.name.toLowerCase(), sought) }))
		.filter(({ rank }) => rank < NO_FIT)
		.sort((a, b) => a.rank - b.rank || (a.command.name < b.command.name ? -1 : 1))
		.slice(0, MOST)
		.map(({ command }) => command);
}

export function completed({ name }: Data<"SlashCommand">): string {
	return `/${name} `;
}

const NO_FIT = 4;

function rankOf(name: string, sought: string): number {
	if (name === sought) return 0;
	const at = name.indexOf(sought);
	if (at === 0) return 1;
	if (at === -1) return NO_FIT;
	const beginsPart = [":", "-", "_", "/", "."].some((mark) => name.includes(mark + sought));
	return beginsPart ? 2 : 3;
}
