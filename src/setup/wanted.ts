import type { AgentName } from "./agents.ts";
import { type Json, type JsonObject, valueAt } from "./formats/format.ts";
import { hookCommands, type Key, stateOf } from "./keys.ts";
import type { AgentPlace } from "./places.ts";

/** The name of our server in every agent. */
const SERVER_NAME = "strata";

/** `shadow` counts what shorter results would save, `birth` shortens them. */
type Savings = "off" | "shadow" | "birth";

export interface Wish {
	/** The program and arguments that start strata. */
	readonly words: readonly string[];
	readonly platform: NodeJS.Platform;
	/** Unless given, a hook that is there keeps its mode, and a new one only counts. */
	readonly savings?: Savings | undefined;
	/** The proxy's address, if base URLs are to lead to it. */
	readonly proxy?: string | undefined;
	/** For the hook: tools whose results it knows, and the permission to read stored texts. */
	readonly hookMatcher: string;
	readonly readPermission: string;
	/** The plugin for opencode, and the package's folder for pi. */
	readonly pluginUrl: string;
	readonly packageFolder: string;
}

/** Arguments of the agent's own program that add our server. */
interface OwnCommand {
	readonly add: readonly string[];
	/** Comes first when the server is replaced. Absent if `add` replaces it. */
	readonly remove?: readonly string[];
}

export interface WantedFile {
	readonly path: string;
	readonly format: "json" | "toml";
	readonly keys: readonly Key[];
	/** Writes the server. */
	readonly own?: OwnCommand;
}

interface Wanted {
	readonly files: readonly WantedFile[];
	/** What was asked for and is not possible, one sentence each. */
	readonly notes: readonly string[];
}

/** What setup wants in an agent's files. `read` gives what a file holds now. */
export function wantedOf(
	agent: AgentName,
	place: AgentPlace & { readonly file: string },
	wish: Wish,
	read: (path: string) => JsonObject,
): Wanted {
	const [command = "", ...rest] = wish.words;
	const args = [...rest, "mcp"];
	const inJson = (path: readonly string[], value: Json, more: readonly Key[] = []): WantedFile => ({
		...{ path: place.file, format: "json" },
		keys: [{ kind: "server", path: [...path, SERVER_NAME], value }, ...more],
	});
	const stdio = { type: "stdio", command, args };
	switch (agent) {
		case "claude-code": {
			const line = [...["-s", "user", SERVER_NAME], "--", command, ...args];
			const own = { add: ["mcp", "add", ...line], remove: ["mcp", "remove", ...line.slice(0, 3)] };
			const settings = claudeSettings(place.settings as string, wish, read);
			const files = [{ ...inJson(["mcpServers"], stdio), own }, settings];
			const isHookless = isThroughNpx(wish) && wish.savings === undefined;
			const note =
				"Claude Code gets no hook: npx takes too long for one; install pi-strata with npm -g";
			return {
				files: files.filter(({ keys }) => keys.length > 0),
				notes: isHookless ? [note] : [],
			};
		}
		case "codex": {
			const path = ["mcp_servers", SERVER_NAME];
			const own = { add: ["mcp", "add", SERVER_NAME, "--", command, ...args] };
			const keys: Key[] = [{ kind: "server", path, value: { command, args } }];
			if (wish.proxy !== undefined) {
				const value = `${wish.proxy}/openai/v1`;
				keys.push({ kind: "value", path: ["openai_base_url"], value });
			}
			return { files: [{ path: place.file, format: "toml", keys, own }], notes: [] };
		}
		case "opencode": {
			const local = { type: "local", command: [command, ...args] };
			const { keys, notes } = opencodeAddresses(wish, read(place.file));
			return { files: [inJson(["mcp"], local, [...opencodePlugin(wish), ...keys])], notes };
		}
		case "gemini-cli": {
			const line = [...["mcp", "add", "-s", "user", SERVER_NAME], command, ...args];
			const file = { ...inJson(["mcpServers"], { command, args }), own: { add: line } };
			const why = "reads its base URL from the environment only; use: strata run gemini";
			return { files: [file], notes: wish.proxy === undefined ? [] : [`Gemini CLI ${why}`] };
		}
		case "cursor": {
			const why = "sends requests through its own servers, which reach no local proxy";
			const notes = wish.proxy === undefined ? [] : [`Cursor ${why}`];
			return { files: [inJson(["mcpServers"], { command, args })], notes };
		}
		case "zed":
			return {
				files: [inJson(["context_servers"], { command, args })],
				notes: noAddress("Zed", wish),
			};
		case "vs-code":
			return { files: [inJson(["servers"], stdio)], notes: noAddress("VS Code", wish) };
		case "pi": {
			const value = wish.packageFolder;
			const keys: Key[] = [{ kind: "package", path: ["packages"], value, isItem: true }];
			return { files: [{ path: place.file, format: "json", keys }], notes: [] };
		}
	}
}

function noAddress(title: string, { proxy }: Wish): string[] {
	return proxy === undefined ? [] : [`${title} gets no base URL: set it there, per provider`];
}

function claudeSettings(path: string, wish: Wish, read: (path: string) => JsonObject): WantedFile {
	const keys: Key[] = [];
	const groups = ["hooks", "PostToolUse"];
	const present = presentMode(read(path), groups);
	// A hook starts with every call of a tool.
	const savings = wish.savings ?? present ?? (isThroughNpx(wish) ? "off" : "shadow");
	if (savings !== "off") {
		const flags = savings === "shadow" ? ["--shadow"] : [];
		const words = [...wish.words, "hook", "claude-code", ...flags];
		const command = words.map((word) => quoted(word, wish.platform)).join(" ");
		const value = { matcher: wish.hookMatcher, hooks: [{ type: "command", command, timeout: 5 }] };
		keys.push({ kind: "hook", path: groups, value, isItem: true });
	}
	if (savings === "birth") {
		const allow = ["permissions", "allow"];
		keys.push({ kind: "value", path: allow, value: wish.readPermission, isItem: true });
	}
	if (wish.proxy !== undefined) {
		const value = `${wish.proxy}/anthropic`;
		keys.push({ kind: "value", path: ["env", "ANTHROPIC_BASE_URL"], value });
	}
	return { path, format: "json", keys };
}

function isThroughNpx({ words }: Wish): boolean {
	return words.includes("npx");
}

/** The mode of a hook of ours that is there. */
function presentMode(root: JsonObject, path: readonly string[]): Savings | undefined {
	const state = stateOf(root, { kind: "hook", path, value: null, isItem: true });
	if (state.kind !== "same" && state.kind !== "ours") return undefined;
	const isShadow = hookCommands(valueAt(root, state.at)).some((one) => /shadow\b/.test(one));
	return isShadow ? "shadow" : "birth";
}

/** Only if asked for: with any plugin, opencode fetches a package from the network at its start. */
function opencodePlugin({ savings, pluginUrl }: Wish): Key[] {
	if (savings === undefined || savings === "off") return [];
	const value: Json = savings === "shadow" ? [pluginUrl, { shadow: true }] : pluginUrl;
	return [{ kind: "plugin", path: ["plugin"], value, isItem: true }];
}

const OPENCODE_PROVIDERS = {
	anthropic: "anthropic/v1",
	openai: "openai/v1",
	google: "gemini/v1beta",
};

/** A provider that the file does not name would become available by being named. */
function opencodeAddresses({ proxy }: Wish, root: JsonObject) {
	if (proxy === undefined) return { keys: [], notes: [] };
	const keys = Object.entries(OPENCODE_PROVIDERS).flatMap(([name, path]): Key[] => {
		if (valueAt(root, ["provider", name]) === undefined) return [];
		const place = ["provider", name, "options", "baseURL"];
		return [{ kind: "value", path: place, value: `${proxy}/${path}` }];
	});
	const note = "opencode's file names no provider that the proxy knows; use: strata run opencode";
	return { keys, notes: keys.length === 0 ? [note] : [] };
}

/** For a shell: Claude Code gives the command of a hook to one. */
export function quoted(word: string, platform: NodeJS.Platform): string {
	if (/^[\w@%+=:,./-]+$/.test(word)) return word;
	return platform === "win32" ? `"${word}"` : `'${word.replaceAll("'", "'\\''")}'`;
}
