import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A real agent as its vendor publishes it for this platform. Never a dependency: fetched for a test run only. */
export interface AgentPackage {
	readonly name: string;
	readonly version: string;
	/** What npm is asked for. */
	readonly spec: string;
	/** Of the packed file; it must not change under the same version. */
	readonly integrity: string;
	readonly megabytes: number;
	/** The program in the package; a `.js` file runs on our Node. */
	readonly program: string;
}

export type AgentName = "claude-code" | "codex" | "opencode" | "gemini-cli";

/** One platform: the one that all of this was run on. */
const PLATFORM = "linux-x64";

const PACKAGES: readonly (AgentPackage & { readonly name: AgentName })[] = [
	{
		name: "claude-code",
		version: "2.1.325",
		spec: "@anthropic-ai/claude-code-linux-x64@2.1.325",
		integrity:
			"sha512-BqZzMvP/zgLLL34S+7OzbG+cyoFp7gwWHU5koVwsyMlTAz+0zZAmbY+UkzvtN2RXxp6AcMenbYIjQJxoXfUY3w==",
		megabytes: 169,
		program: "claude",
	},
	{
		name: "codex",
		version: "0.166.0",
		spec: "@openai/codex@0.166.0-linux-x64",
		integrity:
			"sha512-CxDm3+D1cpbGJeHrdzINoG+3wn9BVncP4qpZaaNYkxe8iPtRJOYyCJnnPoVjWRIBvI9vPKbRoifsMSA5xDaUpw==",
		megabytes: 172,
		program: "vendor/x86_64-unknown-linux-musl/bin/codex",
	},
	{
		name: "opencode",
		version: "1.18.33",
		spec: "opencode-linux-x64@1.18.33",
		integrity:
			"sha512-q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw==",
		megabytes: 60,
		program: "bin/opencode",
	},
	{
		name: "gemini-cli",
		version: "0.61.0",
		spec: "@google/gemini-cli@0.61.0",
		integrity:
			"sha512-dbQ9A0qBtFJNi6XBkHvfZ6Azpn6PNgH/P8h2MZ67RLlX8hSAVjup39CRWqdRxZv7YXIuhrFaytr8y0jKnkoxnQ==",
		megabytes: 21,
		program: "bundle/gemini.js",
	},
];

/** None on a platform where the agents were not tried. */
export const agentPackages = `${process.platform}-${process.arch}` === PLATFORM ? PACKAGES : [];

/** An ignored folder of the project. A package is there in full or not at all. */
export const AGENTS_FOLDER = fileURLToPath(new URL("../../../.agents", import.meta.url));

export function folderOf({ name, version }: AgentPackage): string {
	return join(AGENTS_FOLDER, `${name}-${version}`);
}

export function isFetched(agent: AgentPackage): boolean {
	return existsSync(join(folderOf(agent), agent.program));
}

/** The command that starts a fetched agent. */
export function commandOf(name: AgentName): string[] {
	const agent = PACKAGES.find((one) => one.name === name) as AgentPackage;
	const program = join(folderOf(agent), agent.program);
	return program.endsWith(".js") ? [process.execPath, program] : [program];
}
