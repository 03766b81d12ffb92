import { basename } from "node:path";
import { isRecord } from "../core/property.ts";
import type { Upstreams } from "../proxy/index.ts";
import { UsageError } from "./command.ts";

/** How an agent is started so that its requests go through the proxy. */
export interface Launch {
	readonly args: readonly string[];
	readonly env: NodeJS.ProcessEnv;
}

interface LaunchOptions {
	readonly program: string;
	readonly args: readonly string[];
	readonly env: NodeJS.ProcessEnv;
	readonly upstreams: Upstreams;
	/** The proxy's base URL of an upstream. */
	baseUrl(upstream: string): string;
}

/** Variables with a base URL: the upstream, and what the agent expects behind its address. */
const VARIABLES = {
	ANTHROPIC_BASE_URL: { upstream: "anthropic", path: "" },
	ANTHROPIC_API_BASE: { upstream: "anthropic", path: "" },
	OPENAI_BASE_URL: { upstream: "openai", path: "/v1" },
	OPENAI_API_BASE: { upstream: "openai", path: "/v1" },
	GOOGLE_GEMINI_BASE_URL: { upstream: "gemini", path: "" },
} as const;

type Variable = keyof typeof VARIABLES;

/** The arguments and environment for one process. Nothing is written anywhere. */
export function launchOf(options: LaunchOptions): Launch {
	const { program, args } = options;
	switch (basename(program).replace(/\.(?:exe|cmd|js)$/i, "")) {
		case "claude":
			return { args, env: withVariables(options, ["ANTHROPIC_BASE_URL"]) };
		case "gemini":
			return { args, env: withVariables(options, ["GOOGLE_GEMINI_BASE_URL"]) };
		case "codex": {
			refuseOther(options, "OPENAI_BASE_URL");
			const setting = `openai_base_url="${options.baseUrl("openai")}/v1"`;
			return { args: ["-c", setting, ...args], env: withVariables(options, []) };
		}
		case "opencode":
			return { args, env: { ...withVariables(options, []), ...opencodeConfig(options) } };
		default:
			return { args, env: withVariables(options, Object.keys(VARIABLES) as Variable[]) };
	}
}

function withVariables(options: LaunchOptions, names: readonly Variable[]): NodeJS.ProcessEnv {
	const set = names.map((name) => {
		refuseOther(options, name);
		const { upstream, path } = VARIABLES[name];
		return [name, options.baseUrl(upstream) + path];
	});
	return { ...options.env, ...withoutOutboundProxy(options.env), ...Object.fromEntries(set) };
}

/** A key for another address must not go to the provider's own. */
function refuseOther({ env, upstreams }: LaunchOptions, name: Variable): void {
	const { upstream, path } = VARIABLES[name];
	const { origin = "", prefix = "" } = upstreams.get(upstream) ?? {};
	const given = env[name]?.replace(/\/+$/, "");
	if (!given || given === origin + prefix + path) return;
	throw new UsageError(
		`${name} is set to another address; name that address in proxy.upstreams.${upstream} of your strata.json, or unset the variable`,
	);
}

/** Where the user's network has a proxy, requests to this machine must not go there. */
function withoutOutboundProxy(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
	const isUsed = Object.keys(env).some((name) => /^(?:https?|all)_proxy$/i.test(name));
	if (!isUsed) return {};
	const hosts = [env.NO_PROXY || env.no_proxy, "127.0.0.1"].filter(Boolean).join(",");
	return { NO_PROXY: hosts, no_proxy: hosts };
}

/** Providers of opencode: their upstream, path, and the variables with their keys. */
const OPENCODE_PROVIDERS = {
	anthropic: {
		upstream: "anthropic",
		path: "/v1",
		keys: ["ANTHROPIC_API_KEY"],
		addresses: ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"],
	},
	openai: {
		upstream: "openai",
		path: "/v1",
		keys: ["OPENAI_API_KEY"],
		addresses: ["OPENAI_BASE_URL", "OPENAI_API_BASE"],
	},
	google: {
		upstream: "gemini",
		path: "/v1beta",
		keys: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
		addresses: ["GOOGLE_GEMINI_BASE_URL"],
	},
} as const;

/**
 * opencode merges this variable over its files. A provider that it names becomes available, so only
 * those are named that have a key in the environment or are in the variable already.
 */
function opencodeConfig(launch: LaunchOptions): NodeJS.ProcessEnv {
	const { env, baseUrl } = launch;
	const config = objectIn(env.OPENCODE_CONFIG_CONTENT || "{}");
	const providers = isRecord(config.provider) ? { ...config.provider } : {};
	for (const [name, provider] of Object.entries(OPENCODE_PROVIDERS)) {
		const { upstream, path, keys, addresses } = provider;
		const given = isRecord(providers[name]) ? providers[name] : undefined;
		if (!given && !keys.some((key) => env[key])) continue;
		for (const address of addresses) refuseOther(launch, address);
		const options = isRecord(given?.options) ? given.options : {};
		if (options.baseURL !== undefined) {
			throw new UsageError(
				`OPENCODE_CONFIG_CONTENT sets an address for ${name}; name it in proxy.upstreams.${upstream} of your strata.json instead`,
			);
		}
		providers[name] = { ...given, options: { ...options, baseURL: baseUrl(upstream) + path } };
	}
	return { OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...config, provider: providers }) };
}

function objectIn(text: string): Record<string, unknown> {
	try {
		const value: unknown = JSON.parse(text);
		if (isRecord(value)) return value;
	} catch {
		// The message would quote the variable, which may hold a key.
	}
	throw new UsageError("OPENCODE_CONFIG_CONTENT must be a JSON object without comments");
}
