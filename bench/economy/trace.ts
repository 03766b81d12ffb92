/** The session that policies are measured on, at several prices of cached reads; and the settings they have by default. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../src/core/config.ts";
import { type ReplaySession, rebuildRequests } from "../../src/economy/replay/index.ts";
import { rulesFor } from "../../src/economy/rules.ts";
import { SessionWriter } from "../../test/economy/replay/session-writer.ts";
import { type Workload, workloads } from "../../test/economy/replay/workload.ts";
import { readSessionFile } from "../../test/support/read-session-file.ts";
import { missing, options, sized, tempFolder } from "../support.ts";

/** The prices of a token read from a cache, as shares of the input price. */
export const READ_RATIOS = [0.1, 0.05, 0.025];

const nowhere = new URL("none", import.meta.url).pathname;

/** The default settings of pruning. */
export const { prune: pruneSettings } = loadConfig({ agentDir: nowhere, cwd: nowhere }).config;

/**
 * A real session of pi: the only `.jsonl` file directly in the folder of traces. A quick run has a generated one.
 * `undefined`: there is none, and its cases are skipped.
 */
export function sessionFile(): string | undefined {
	if (options.quick) return sampleSession();
	const cases = "cases with a real session";
	const { traces } = options;
	if (traces === undefined) return missing(cases, "give --traces <folder>");
	if (!existsSync(traces)) return missing(cases, `there is no folder ${traces}`);
	const found = readdirSync(traces).filter((name) => name.endsWith(".jsonl"));
	const [only] = found;
	if (only !== undefined && found.length === 1) return join(traces, only);
	return missing(cases, `${traces} has ${found.length} .jsonl files instead of one`);
}

/** The generated sessions that policies are measured on; a few of them in a quick run. */
export function benchWorkloads(readRatio: number): Workload[] {
	return workloads(readRatio).filter((_, index) => index % sized(1, 10) === 0);
}

/** The requests of a session file, billed as Claude's are; `readRatio`: at another price of reads. */
export async function replayTrace(file: string, readRatio?: number): Promise<ReplaySession> {
	return rebuildRequests(await readSessionFile(file), (name) => ({
		name,
		rules: rulesFor(name, readRatio === undefined ? {} : { readRatio }),
		prices: undefined,
		contextWindow: 200_000,
	}));
}

/** A dozen reads of large files, each request billed as read from the cache up to its last result. */
function sampleSession(): string {
	const session = new SessionWriter();
	const result = "const line = of(some, file);\n".repeat(600);
	let prompt = 8_000;
	for (let turn = 0; turn < 12; turn++) {
		const path = `src/${turn % 5}.ts`;
		session.user(`Look at ${path}.`);
		session.assistant([session.call(`call-${turn}`, "read", { path })], {
			input: 10,
			output: 60,
			cacheRead: prompt,
			cacheWrite: 100,
		});
		session.result(`call-${turn}`, "read", result);
		session.assistant("It is read.", {
			input: 10,
			output: 20,
			cacheRead: prompt,
			cacheWrite: 4_500,
		});
		prompt += 4_600;
	}
	return session.save("session.jsonl", tempFolder());
}
