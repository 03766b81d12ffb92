import { homedir } from "node:os";
import { posix, win32 } from "node:path";
import type { AgentName } from "./agents.ts";

export interface Machine {
	readonly env: NodeJS.ProcessEnv;
	readonly platform: NodeJS.Platform;
	/** pi's agent folder, which also holds our own data. */
	readonly piFolder: string;
}

/** Where an agent keeps the user's configuration. */
export interface AgentPlace {
	/** It exists where the agent was ever started. */
	readonly folder: string;
	/** The file with the servers. The first that exists, or else the first. */
	readonly files: readonly [string, ...string[]];
	/** A second file, with hooks and variables. */
	readonly settings?: string;
}

/** The only place that knows paths of agents. Paths follow the rules of the given platform. */
export function agentPlace(agent: AgentName, { env, platform, piFolder }: Machine): AgentPlace {
	const { join, isAbsolute } = platform === "win32" ? win32 : posix;
	const home = (platform === "win32" ? env.USERPROFILE : env.HOME) || homedir();
	const xdg = env.XDG_CONFIG_HOME;
	// The XDG specification says to ignore a relative path.
	const dotConfig = xdg && isAbsolute(xdg) ? xdg : join(home, ".config");
	const roaming = env.APPDATA || join(home, "AppData", "Roaming");
	switch (agent) {
		case "claude-code": {
			const named = env.CLAUDE_CONFIG_DIR;
			const folder = named || join(home, ".claude");
			const files = [join(named || home, ".claude.json")] as const;
			return { folder, files, settings: join(folder, "settings.json") };
		}
		case "codex": {
			const folder = env.CODEX_HOME || join(home, ".codex");
			return { folder, files: [join(folder, "config.toml")] };
		}
		case "opencode": {
			// The same folder on every platform. It merges all of its files.
			const folder = join(dotConfig, "opencode");
			const other = ["opencode.jsonc", "config.json"].map((name) => join(folder, name));
			return { folder, files: [join(folder, "opencode.json"), ...other] };
		}
		case "gemini-cli": {
			const folder = join(env.GEMINI_CLI_HOME || home, ".gemini");
			return { folder, files: [join(folder, "settings.json")] };
		}
		case "cursor": {
			const folder = join(home, ".cursor");
			return { folder, files: [join(folder, "mcp.json")] };
		}
		case "zed": {
			const folder = {
				win32: join(roaming, "Zed"),
				darwin: join(home, ".config", "zed"),
			}[platform as string];
			const chosen = folder ?? join(dotConfig, "zed");
			return { folder: chosen, files: [join(chosen, "settings.json")] };
		}
		case "vs-code": {
			const folder = {
				win32: join(roaming, "Code", "User"),
				darwin: join(home, "Library", "Application Support", "Code", "User"),
			}[platform as string];
			const chosen = folder ?? join(dotConfig, "Code", "User");
			return { folder: chosen, files: [join(chosen, "mcp.json")] };
		}
		case "pi":
			// Our own data is in its folder, too.
			return { folder: join(piFolder, "sessions"), files: [join(piFolder, "settings.json")] };
	}
}
