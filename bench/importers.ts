/**
 * How fast session files are read, one after the other and as a folder in workers; what `strata replay` of 1 GB takes;
 * and whether the sums equal an independent count to the token. The folder of traces holds session files of pi, Claude
 * Code and Codex (`.jsonl`, also `.jsonl.gz`), at any depth; files of other agents are left out.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { forEachFile } from "../src/core/file-workers.ts";
import { knownModel, replaySessions } from "../src/economy/replay/index.ts";
import { readSessions } from "../src/importers/index.ts";
import { SessionWriter } from "../test/economy/replay/session-writer.ts";
import { OpencodeSession } from "../test/importers/opencode-writer.ts";
import { type Count, independentCount } from "./importers/independent-count.ts";
import { readFile } from "./importers/read-file.ts";
import type { ReplayCost } from "./importers/replay-process.ts";
import {
	bytesIn,
	claudeSession,
	codexSession,
	type Group,
	OUTPUT,
	realSessions,
	repeated,
} from "./importers/sessions.ts";
import {
	type Line,
	median,
	options,
	report,
	rounded,
	sized,
	tempFolder,
	timed,
} from "./support.ts";

const RUNS = sized(7, 2);
const TURNS = sized(4_000, 40);
/** A folder of so much is read in workers. Smaller ones are read repeatedly. */
const FOLDER_BYTES = sized(2e8, 1);
const REPLAYED_BYTES = sized(1e9, 1);
/** Of a generated file in a folder: 1 to 2 MB. */
const FOLDER_TURNS = sized(150, 20);

const real = options.quick ? new Map() : await realSessions();
const realGroups = ["pi", "claude-code", "codex"].flatMap((agent): Group[] => {
	const files = real.get(agent);
	return files ? [{ name: `real: ${agent}`, files }] : [];
});
const lines: Line[] = [];
for (const group of [...generated(), ...realGroups]) lines.push(...(await fileLines(group)));
for (const group of realGroups) lines.push(await deviationLine(group));
const folderGroups = folders();
for (const group of folderGroups) lines.push(await folderLine(group));
for (const group of folderGroups.filter(isMixed)) lines.push(...(await replayLines(group)));
report(lines);

async function fileLines({ name, files }: Group): Promise<Line[]> {
	const bytes = bytesIn(files);
	const read = await speed(bytes, async () => {
		for (const file of files) await readSessions(file);
	});
	const parsed = await speed(bytes, () => {
		for (const file of files) parseAll(readFileSync(file, "utf8"));
	});
	const { difference, requests } = await compared(files);
	return [
		{
			case: `${name}: reading, one core`,
			unit: "MB/s",
			value: read,
			better: "higher",
			baseline: { name: "parsing the JSON", value: parsed },
			from: { files: files.length, megabytes: rounded(bytes / 1e6), runs: RUNS },
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

/** How well the simulated cache reproduces the bills. A larger deviation has its reasons in the report. */
async function deviationLine({ name, files }: Group): Promise<Line> {
	const checks = [];
	for (const file of files) {
		const sessions = await readSessions(file);
		const { reports } = replaySessions(sessions, { policies: [], modelFor: knownModel });
		checks.push(...reports.map(({ check }) => check));
	}
	const percents = checks.map(({ deviation }) => 100 * Math.abs(deviation));
	return {
		case: `${name}: simulated cost against the bill, median difference`,
		unit: "%",
		digits: 2,
		value: median(percents),
		target: 2,
		from: {
			sessions: checks.length,
			largest: rounded(Math.max(...percents), 2),
			"above 2 %, with reasons": checks.filter(({ reasons }) => reasons).length,
		},
	};
}

/** As `strata replay` reads a folder: workers start with each run. */
async function folderLine({ name, files: some }: Group): Promise<Line> {
	const files = repeated(some, FOLDER_BYTES);
	const jobs = files.map((path) => ({ path, size: statSync(path).size }));
	const entry = new URL("./importers/read-worker.ts", import.meta.url);
	const work = { entry, handler: async () => readFile };
	const bytes = bytesIn(files);
	const before = process.cpuUsage();
	const value = await speed(bytes, () =>
		forEachFile<(typeof jobs)[number], number>(jobs, work, async (_, run) => void (await run())),
	);
	const { user, system } = process.cpuUsage(before);
	const from = {
		files: files.length,
		megabytes: rounded(bytes / 1e6),
		runs: RUNS,
		"MB per second of processor time": rounded(((RUNS + 1) * bytes) / (user + system)),
	};
	return { case: `${name}: reading a folder, all cores`, unit: "MB/s", value, atLeast: 100, from };
}

async function replayLines({ name, files }: Group): Promise<Line[]> {
	const folder = tempFolder();
	const bytes = copyInto(folder, files, REPLAYED_BYTES);
	const child = fork(fileURLToPath(new URL("./importers/replay-process.ts", import.meta.url)), [
		folder,
	]);
	const ended = once(child, "exit");
	const cost = (await Promise.race([once(child, "message"), ended]))[0] as ReplayCost | number;
	if (typeof cost !== "object") throw new Error(`strata replay ended with status ${cost}`);
	await ended;
	const { requests, cpuSeconds, peakMegabytes, seconds } = cost;
	const from = { megabytes: rounded(bytes / 1e6), requests, "processor s": rounded(cpuSeconds) };
	return [
		{
			case: `${name}: replaying a folder of 1 GB, all cores`,
			unit: "MB/s",
			value: bytes / 1e6 / seconds,
			better: "higher",
			from,
		},
		{
			case: `${name}: memory of replaying a folder of 1 GB`,
			unit: "MB",
			value: peakMegabytes,
			target: 300,
			from,
		},
	];
}

/** Each copy has requests of its own, so that none is left out as counted before. */
function copyInto(folder: string, files: readonly string[], most: number): number {
	let bytes = 0;
	for (let copy = 0; bytes < most; copy++) {
		for (const [at, file] of files.entries()) {
			const text = readFileSync(file, "utf8");
			const renamed = text.replaceAll(
				/"(?=(?:m|msg_|resp_|thread-)\d|01[0-9a-f]{6}-)/g,
				`"${copy}-`,
			);
			writeFileSync(join(folder, `${copy}-${at}.jsonl`), renamed);
			bytes += Buffer.byteLength(renamed);
			if (bytes >= most) break;
		}
	}
	return bytes;
}

/** The median over the runs, after one that warms up. */
async function speed(bytes: number, task: () => unknown): Promise<number> {
	const times: number[] = [];
	for (let run = 0; run <= RUNS; run++) times.push(await timed(task));
	return bytes / 1e6 / (median(times.slice(1)) / 1000);
}

function parseAll(text: string): void {
	if (text.startsWith("{\n")) JSON.parse(text);
	else for (const line of text.split("\n")) parseLine(line);
}

function parseLine(line: string): void {
	try {
		JSON.parse(line);
	} catch {
		// Blank, or damaged: a real file may have such lines.
	}
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
		const call = opencode.tool(`c${turn}`, "read", { filePath: `src/${turn % 50}.ts` }, OUTPUT);
		opencode.assistant([call], bill);
	}
	const claude = claudeSession("", TURNS).save("claude.jsonl", folder);
	const codex = codexSession("1", TURNS).save("codex.jsonl", folder);
	return [
		{ name: "generated: pi", files: [pi.save("pi.jsonl", folder)] },
		{ name: "generated: Claude Code", files: [claude] },
		{ name: "generated: Codex", files: [codex] },
		{ name: "generated: opencode", files: [opencode.save("opencode.json", folder)] },
	];
}

function folders(): Group[] {
	const folder = tempFolder();
	const numbers = Array.from({ length: sized(20, 2) }, (_, number) => String(number));
	const claude = numbers.map((id) =>
		claudeSession(id, FOLDER_TURNS).save(`claude ${id}.jsonl`, folder),
	);
	const codex = numbers.map((id) =>
		codexSession(id, FOLDER_TURNS).save(`codex ${id}.jsonl`, folder),
	);
	const groups = [
		{ name: "generated: Claude Code", files: claude },
		{ name: "generated: Codex", files: codex },
		{ name: "generated: mixed", files: [...claude, ...codex] },
		...realGroups.filter(({ name }) => name !== "real: pi"),
	];
	const all = realGroups.flatMap(({ files }) => files);
	return all.length > 0 ? [...groups, { name: "real: mixed", files: all }] : groups;
}

function isMixed({ name }: Group): boolean {
	return name.endsWith(": mixed");
}
