/**
 * How fast session files are read, and whether their sums equal an independent count to the token. The folder of traces
 * holds session files of pi and Codex (`.jsonl`, also `.jsonl.gz`), at any depth; those of other agents are left out.
 */
import { globSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { type AgentName, readSessions } from "../src/importers/index.ts";
import { SessionWriter } from "../test/economy/replay/session-writer.ts";
import { CodexWriter } from "../test/importers/codex-writer.ts";
import { OpencodeSession } from "../test/importers/opencode-writer.ts";
import { type Count, independentCount } from "./importers/independent-count.ts";
import {
	type Line,
	median,
	missing,
	options,
	report,
	sized,
	tempFolder,
	timed,
} from "./support.ts";

interface Group {
	readonly name: string;
	readonly files: readonly string[];
}

const RUNS = sized(7, 2);
const TURNS = sized(4_000, 40);
const OUTPUT = "const line = of(some, file); // a comment on it\n".repeat(150);

const lines: Line[] = [];
for (const group of [...generated(), ...(await real())]) lines.push(...(await linesOf(group)));
report(lines);

async function linesOf({ name, files }: Group): Promise<Line[]> {
	const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
	const read = await speed(bytes, async () => {
		for (const file of files) await readSessions(file);
	});
	const parsed = await speed(bytes, () => {
		for (const file of files) parseAll(readFileSync(file, "utf8"));
	});
	const { difference, requests } = await compared(files);
	const megabytes = (bytes / 1e6).toFixed(1);
	return [
		{
			case: `${name}: reading`,
			unit: "MB/s",
			value: read,
			atLeast: 100,
			baseline: { name: "parsing the JSON", value: parsed },
			from: { files: files.length, megabytes, runs: RUNS },
		},
		{
			case: `${name}: difference to an independent count`,
			unit: "tokens and requests",
			value: difference,
			digits: 0,
			target: 0,
			from: { requests },
		},
	];
}

/** The median over the runs, after one that warms up. */
async function speed(bytes: number, task: () => unknown): Promise<number> {
	const times: number[] = [];
	for (let run = 0; run <= RUNS; run++) times.push(await timed(task));
	return bytes / 1e6 / (median(times.slice(1)) / 1000);
}

function parseAll(text: string): void {
	if (text.startsWith("{\n")) JSON.parse(text);
	else for (const line of text.split("\n")) if (line !== "") JSON.parse(line);
}

async function compared(files: readonly string[]) {
	let difference = 0;
	let requests = 0;
	for (const file of files) {
		const expected = independentCount(readFileSync(file, "utf8"));
		const counted = await countOf(file);
		requests += counted.requests;
		for (const key of ["requests", "input", "read", "write"] as const) {
			difference += Math.abs(counted[key] - expected[key]);
		}
	}
	return { difference, requests };
}

async function countOf(file: string): Promise<Count> {
	const count: Count = { requests: 0, input: 0, read: 0, write: 0 };
	for (const { entries } of await readSessions(file)) {
		for (const entry of entries) {
			if (entry.type !== "assistant") continue;
			const { input, read, write } = entry.billed;
			if (input + read + write === 0) continue;
			count.requests++;
			count.input += input;
			count.read += read;
			count.write += write;
		}
	}
	return count;
}

function generated(): Group[] {
	const folder = tempFolder();
	const pi = new SessionWriter();
	const codex = new CodexWriter().turn().user("begin");
	const opencode = new OpencodeSession().user("begin");
	pi.user("begin");
	for (let turn = 0; turn < TURNS; turn++) {
		const bill = { input: 100 + turn, read: 20_000 + turn };
		pi.assistant([pi.call(`c${turn}`, "read", { path: `src/${turn % 50}.ts` })], {
			input: bill.input,
			cacheRead: bill.read,
			output: 40,
		});
		pi.result(`c${turn}`, "read", OUTPUT);
		codex.item("reasoning", { summary: [], encrypted_content: "gAAAA".repeat(100) });
		codex.call(`c${turn}`, `sed -n 1,80p src/${turn % 50}.ts`).output(`c${turn}`, OUTPUT);
		codex.count({ input: bill.input + bill.read, cached: bill.read, output: 40 });
		const call = opencode.tool(`c${turn}`, "read", { filePath: `src/${turn % 50}.ts` }, OUTPUT);
		opencode.assistant([call], bill);
	}
	return [
		{ name: "generated: pi", files: [pi.save("pi.jsonl", folder)] },
		{ name: "generated: Codex", files: [codex.save("codex.jsonl", folder)] },
		{ name: "generated: opencode", files: [opencode.save("opencode.json", folder)] },
	];
}

/** By agent. Compressed files are unpacked into a temporary folder. */
async function real(): Promise<Group[]> {
	const { traces, quick } = options;
	if (quick) return [];
	const cases = "cases with real sessions";
	if (traces === undefined) return missing(cases, "give --traces <folder>") ?? [];
	const folder = tempFolder();
	const byAgent = new Map<AgentName, string[]>();
	for (const name of globSync("**/*.jsonl{,.gz}", { cwd: traces }).sort()) {
		const packed = readFileSync(join(traces, name));
		const file = join(folder, basename(name, ".gz"));
		writeFileSync(file, name.endsWith(".gz") ? gunzipSync(packed) : packed);
		const [session] = await readSessions(file).catch(() => []); // not of an agent that is counted
		if (session?.agent !== "pi" && session?.agent !== "codex") continue;
		byAgent.set(session.agent, [...(byAgent.get(session.agent) ?? []), file]);
	}
	if (byAgent.size === 0) return missing(cases, `${traces} has none`) ?? [];
	return Array.from(byAgent, ([agent, files]) => ({ name: `real: ${agent}`, files }));
}
