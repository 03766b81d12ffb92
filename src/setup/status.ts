import { isDeepStrictEqual } from "node:util";
import { readConfig } from "./config-file.ts";
import { ConfigFault, type JsonObject, valueAt } from "./formats/format.ts";
import { hookCommands, isOurServer, type Key, stateOf, wordsOf } from "./keys.ts";
import type { Manifest } from "./manifest.ts";
import { FORMATS } from "./plan.ts";
import type { FoundAgent } from "./plan-agent.ts";
import type { Probed } from "./probe.ts";
import { versionOf } from "./program.ts";
import { type WantedFile, type Wish, wantedOf } from "./wanted.ts";

/**
 * `current`: as setup would write it. `by-hand`: of ours, not written by setup. `outdated`: written by setup, which
 * would write another value now. `removed`: setup wrote it, and it is gone. `foreign`: something else has its name.
 */
type PartState = "absent" | "current" | "by-hand" | "outdated" | "removed" | "foreign";

interface Part {
	readonly kind: Key["kind"];
	readonly path: string;
	readonly state: PartState;
	/** Of a server that is ours: the program and arguments as they are configured, and whether they work. */
	readonly words?: readonly string[];
	readonly probed?: Probed;
	/** Of a hook that is ours. */
	readonly mode?: "shadow" | "birth";
}

export interface AgentStatus {
	readonly name: string;
	readonly title: string;
	readonly isInstalled: boolean;
	readonly program?: string;
	readonly version?: string;
	readonly parts: readonly Part[];
	/** Addresses of the proxy that setup wrote and that are still set. */
	readonly addresses: readonly string[];
	/** Files that cannot be read, one sentence each. */
	readonly faults: readonly string[];
}

interface StatusOptions {
	readonly wish: Wish;
	readonly manifest: Manifest;
	readonly cwd: string;
	readonly env: NodeJS.ProcessEnv;
	/** Starts a server as it is configured. */
	probe(words: readonly string[]): Promise<Probed>;
}

/** What of ours an agent has, and whether it works. */
export async function agentStatus(
	{ agent, program, place, isInstalled }: FoundAgent,
	options: StatusOptions,
): Promise<AgentStatus> {
	const { wish, manifest, cwd, env } = options;
	const { name, title } = agent;
	const faults: string[] = [];
	const roots = new Map<string, JsonObject>();
	const formats = { [place.file]: name === "codex" ? "toml" : "json" } as const;
	for (const path of [place.file, place.settings]) {
		if (path === undefined) continue;
		const root = await rootOf(path, formats[path] ?? "json");
		if (typeof root === "string") faults.push(`${path} ${root}`);
		else roots.set(path, root);
	}
	const { files } = wantedOf(name, place, wish, (path) => roots.get(path) ?? {});
	const parts: Part[] = [];
	for (const { path, keys } of files) {
		const root = roots.get(path);
		if (!root) continue;
		for (const key of keys) {
			const state = partState(root, key, manifest.recordOf(path)?.keys ?? []);
			parts.push({ kind: key.kind, path, state, ...(await detailsOf(root, key, options)) });
		}
	}
	const version =
		program === undefined ? undefined : await versionOf(program, agent.package, { cwd, env });
	const addresses = [...roots].flatMap(([path, root]) =>
		(manifest.recordOf(path)?.keys ?? []).flatMap(({ path: at, value }) => {
			const isSet = typeof value === "string" && /^http:\/\/127\./.test(value);
			return isSet && valueAt(root, at) === value ? [value] : [];
		}),
	);
	return {
		...{ name, title, isInstalled, parts, addresses, faults },
		...(program !== undefined && { program }),
		...(version !== undefined && { version }),
	};
}

async function rootOf(path: string, format: WantedFile["format"]): Promise<JsonObject | string> {
	const file = await readConfig(path);
	if (file.kind === "unreadable") return file.why;
	try {
		return file.kind === "read" ? FORMATS[format].parse(file.text) : {};
	} catch (error) {
		if (error instanceof ConfigFault) return error.message;
		throw error;
	}
}

function partState(root: JsonObject, key: Key, recorded: readonly Key[]): PartState {
	const own = recorded.find(
		({ kind, path }) => kind === key.kind && isDeepStrictEqual(path, key.path),
	);
	const state = stateOf(root, key, own ? [own.value] : []);
	if (state.kind === "absent") return own ? "removed" : "absent";
	if (state.kind === "foreign") return "foreign";
	if (!own) return "by-hand";
	return state.kind === "same" ? "current" : "outdated";
}

async function detailsOf(root: JsonObject, key: Key, { probe }: StatusOptions) {
	if (key.kind === "server") {
		const words = wordsOf(valueAt(root, key.path));
		// Nothing else is started: it may be any program.
		return words && isOurServer(words) ? { words, probed: await probe(words) } : {};
	}
	const state = stateOf(root, key);
	if (key.kind !== "hook" || state.kind === "absent" || state.kind === "foreign") return {};
	const isShadow = hookCommands(valueAt(root, state.at)).some((one) => /shadow\b/.test(one));
	return { mode: isShadow ? ("shadow" as const) : ("birth" as const) };
}
