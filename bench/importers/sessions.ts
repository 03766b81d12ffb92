/** Session files for benchmarks: generated ones, and real ones by agent. */
import { globSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { type AgentName, readSessions } from "../../src/importers/index.ts";
import { ClaudeWriter } from "../../test/importers/claude-writer.ts";
import { CodexWriter } from "../../test/importers/codex-writer.ts";
import { missing, options, tempFolder } from "../support.ts";

export interface Group {
	readonly name: string;
	readonly files: readonly string[];
}

/** A large result, as of a tool that reads a file. */
export const OUTPUT = "const line = of(some, file); // a comment on it\n".repeat(150);

/** A large result after every answer, and a line that no request holds. `id` makes the requests its own. */
export function claudeSession(id: string, turns: number): ClaudeWriter {
	const writer = new ClaudeWriter();
	writer.user("Find the fault");
	for (let turn = 0; turn < turns; turn++) {
		const call = `t${turn}`;
		const bill = { read: turn * 3000, write: 3000 };
		writer.call(`m${id}-${turn}`, call, { file_path: `/w/${turn % 50}.ts` }, bill);
		writer.result(call, OUTPUT);
		writer.line("progress", { data: { type: "hook_progress", text: OUTPUT.slice(0, 2000) } });
	}
	return writer;
}

export function codexSession(id: string, turns: number): CodexWriter {
	const writer = new CodexWriter({ id: `thread-${id}` }).turn().user("Find the fault");
	for (let turn = 0; turn < turns; turn++) {
		const call = `c${turn}`;
		writer.item("reasoning", { summary: [], encrypted_content: "gAAAA".repeat(100) });
		writer.call(call, `sed -n 1,80p src/${turn % 50}.ts`).output(call, OUTPUT);
		const cached = 3000 * (turn + 1);
		writer.count({ input: cached + 3000, cached, output: 40 });
	}
	return writer;
}

/** By agent, from the folder of traces: `.jsonl` files at any depth, also compressed ones (`.jsonl.gz`). */
export async function realSessions(): Promise<Map<AgentName, string[]>> {
	const { traces } = options;
	const byAgent = new Map<AgentName, string[]>();
	const cases = "cases with real sessions";
	if (traces === undefined) return missing(cases, "give --traces <folder>") ?? byAgent;
	const folder = tempFolder();
	for (const name of globSync("**/*.jsonl{,.gz}", { cwd: traces }).sort()) {
		const file = unpacked(join(traces, name), folder);
		const [session] = await readSessions(file, { detail: "bills" }).catch(() => []); // of another program
		if (session) byAgent.set(session.agent, [...(byAgent.get(session.agent) ?? []), file]);
	}
	if (byAgent.size === 0) missing(cases, `${traces} has none`);
	return byAgent;
}

function unpacked(file: string, folder: string): string {
	if (!file.endsWith(".gz")) return file;
	const copy = join(folder, basename(file, ".gz"));
	writeFileSync(copy, gunzipSync(readFileSync(file)));
	return copy;
}

export function bytesIn(files: readonly string[]): number {
	return files.reduce((sum, file) => sum + statSync(file).size, 0);
}

/** The files as often as it takes to have this many bytes. */
export function repeated(files: readonly string[], bytes: number): string[] {
	const times = Math.ceil(bytes / bytesIn(files));
	return Array.from({ length: times }, () => files).flat();
}
