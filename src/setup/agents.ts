export type AgentName =
	| "claude-code"
	| "codex"
	| "opencode"
	| "gemini-cli"
	| "cursor"
	| "zed"
	| "vs-code"
	| "pi";

export interface Agent {
	readonly name: AgentName;
	readonly title: string;
	/** Names of its program; the first that is found counts. */
	readonly programs: readonly string[];
	/** The npm package that may have installed the program. */
	readonly package?: string;
	/** Other names that users type. */
	readonly aliases: readonly string[];
	/** Set up only when it is named. */
	readonly isNamedOnly?: true;
}

export const AGENTS: readonly Agent[] = [
	{
		...{ name: "claude-code", title: "Claude Code", programs: ["claude"], aliases: ["claude"] },
		package: "@anthropic-ai/claude-code",
	},
	{
		...{ name: "codex", title: "Codex", programs: ["codex"], aliases: [] },
		package: "@openai/codex",
	},
	{
		...{ name: "opencode", title: "opencode", programs: ["opencode"], aliases: [] },
		package: "opencode-ai",
	},
	{
		...{ name: "gemini-cli", title: "Gemini CLI", programs: ["gemini"], aliases: ["gemini"] },
		package: "@google/gemini-cli",
	},
	{ name: "cursor", title: "Cursor", programs: ["cursor", "cursor-agent"], aliases: [] },
	{ name: "zed", title: "Zed", programs: ["zed", "zeditor"], aliases: ["zeditor"] },
	{ name: "vs-code", title: "VS Code", programs: ["code"], aliases: ["vscode", "code"] },
	// Its extension shortens results, which setup does for no agent unless asked.
	{
		...{ name: "pi", title: "pi", programs: ["pi"], aliases: [], isNamedOnly: true },
		package: "@earendil-works/pi-coding-agent",
	},
];

/** By name or alias. */
export function agentNamed(word: string): Agent | undefined {
	return AGENTS.find(({ name, aliases }) => name === word || aliases.includes(word));
}
