import type { StandInOptions } from "../stand-in/stand-in.ts";
import type { AgentName } from "./packages.ts";

/** The vendors whose wires the stand-in speaks, by the names that the proxy has for them. */
export type Upstream = "anthropic" | "openai" | "gemini";

/** One way to run an agent without a screen. */
export interface Driver {
	/** Names its golden shapes. */
	readonly name: string;
	readonly agent: AgentName;
	/** What a user types to start it. */
	readonly command: string;
	readonly upstream: Upstream;
	readonly standIn?: StandInOptions;
	args(prompt: string): string[];
	readonly env: Readonly<Record<string, string>>;
	/** Leads it to a provider: `base` is a base URL without a path of the vendor's. */
	aim(base: string): Aim;
	/** Files in the home folder: settings that the agent takes from nowhere else. */
	readonly files?: Readonly<Record<string, string>>;
	/** Whether the stand-in can give a task to its sub-agents. */
	readonly delegates?: boolean;
	/** False if only its own settings lead it to a provider, so that `strata run` cannot. */
	readonly isRunnable?: boolean;
	/** What this agent does not survive, with a stand-in or without. */
	readonly givesUpOn?: "refusal" | "cut";
}

/** `args` come before the driver's own. */
interface Aim {
	readonly args?: readonly string[];
	readonly env?: Readonly<Record<string, string>>;
}

/** No service accepts it. Distinct, so that a search finds it wherever it was written. */
export const DUMMY_KEY = "sk-standin-0d6f1c52a9-dummy";

const claude: Driver = {
	name: "claude-code",
	agent: "claude-code",
	command: "claude",
	upstream: "anthropic",
	delegates: true,
	args: (prompt) => [
		...["-p", prompt, "--output-format", "json", "--allowedTools", "Read,Bash,Agent"],
	],
	env: {
		ANTHROPIC_API_KEY: DUMMY_KEY,
		CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
		DISABLE_AUTOUPDATER: "1",
	},
	aim: (base) => ({ env: { ANTHROPIC_BASE_URL: base } }),
};

const CODEX_FLAGS = [
	"--json",
	"--skip-git-repo-check",
	"--dangerously-bypass-approvals-and-sandbox",
];

const codex: Driver = {
	name: "codex",
	agent: "codex",
	command: "codex",
	upstream: "openai",
	givesUpOn: "refusal", // over a WebSocket only
	args: (prompt) => ["exec", ...CODEX_FLAGS, "-c", "analytics.enabled=false", prompt],
	env: { CODEX_API_KEY: DUMMY_KEY },
	aim: (base) => ({ args: ["-c", `openai_base_url="${base}/v1"`] }),
};

const { givesUpOn: _, ...patientCodex } = codex;

/** Refused a WebSocket, and with a model that has its tools in the field of that name. */
const codexHttp: Driver = {
	...patientCodex,
	name: "codex-http",
	standIn: { websocket: false },
	args: (prompt) => [...codex.args(prompt), "-m", "gpt-5.5"],
};

const opencode: Driver = {
	name: "opencode",
	agent: "opencode",
	command: "opencode",
	upstream: "anthropic",
	delegates: true,
	args: (prompt) => ["run", "--model", "anthropic/claude-sonnet-4-5", prompt],
	env: { ...opencodeEnv({ anthropic: { options: { apiKey: DUMMY_KEY } } }) },
	aim: (base) => ({
		env: opencodeEnv({
			anthropic: { options: { baseURL: `${base}/v1`, apiKey: DUMMY_KEY } },
		}),
	}),
};

/** A model of a vendor that offers OpenAI's older wire. */
const opencodeChat: Driver = {
	...opencode,
	name: "opencode-chat",
	upstream: "openai",
	delegates: false,
	isRunnable: false,
	args: (prompt) => ["run", "--model", "local/glm-5", prompt],
	aim: (base) => ({
		env: opencodeEnv({
			local: {
				npm: "@ai-sdk/openai-compatible",
				options: { baseURL: `${base}/v1`, apiKey: DUMMY_KEY },
				models: { "glm-5": {} },
			},
		}),
	}),
};

function opencodeEnv(provider: object): Record<string, string> {
	const settings = { provider, permission: "allow", share: "disabled", autoupdate: false };
	return {
		OPENCODE_DISABLE_MODELS_FETCH: "1",
		OPENCODE_DISABLE_AUTOUPDATE: "1",
		OPENCODE_CONFIG_CONTENT: JSON.stringify(settings),
	};
}

const gemini: Driver = {
	name: "gemini-cli",
	agent: "gemini-cli",
	command: "gemini",
	upstream: "gemini",
	givesUpOn: "cut",
	args: (prompt) => ["-p", prompt, "--approval-mode", "yolo"],
	env: {
		GEMINI_API_KEY: DUMMY_KEY,
		GEMINI_CLI_TRUST_WORKSPACE: "true",
		GEMINI_CLI_NO_RELAUNCH: "true",
		GEMINI_TELEMETRY_ENABLED: "false",
	},
	aim: (base) => ({ env: { GOOGLE_GEMINI_BASE_URL: base } }),
	// Without it a base URL selects a login that fails without a screen.
	files: {
		".gemini/settings.json": JSON.stringify({
			security: { auth: { selectedType: "gemini-api-key" } },
			privacy: { usageStatisticsEnabled: false },
			general: { enableAutoUpdate: false },
		}),
	},
};

export const drivers: readonly Driver[] = [
	...[claude, codex, codexHttp, opencode, opencodeChat, gemini],
];
