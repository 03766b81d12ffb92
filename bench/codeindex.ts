/**
 * The speed of indexing and of queries: a generated monorepo of 10,000 files, compared with a plain read of all of them.
 * And commands of `strata`: from a clone and from the package, compared with an old commit.
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { QueryOf, QuestionName } from "../src/codeindex/answers.ts";
import type { IndexQueries } from "../src/codeindex/code-index.ts";
import { type CodeIndex, openCodeIndex } from "../src/codeindex/index.ts";
import type { IndexReader } from "../src/codeindex/index-reader.ts";
import { queries } from "../src/codeindex/service/index-service.ts";
import { IndexStore } from "../src/codeindex/store/index-store.ts";
import { commandLines } from "./codeindex/command-line.ts";
import { peakMemory } from "./codeindex/memory.ts";
import { writeMonorepo } from "./codeindex/monorepo.ts";
import {
	type Line,
	median,
	missing,
	quantile,
	report,
	rounded,
	sized,
	tempFolder,
	timed,
} from "./support.ts";

const FILES = sized(10_000, 100);
const MB = 1024 * 1024;
const folder = tempFolder();
const root = join(folder, "monorepo");
const monorepo = writeMonorepo(root, { files: FILES, filesPerPackage: sized(100, 20) });
if (spawnSync("git", ["init", "-q"], { cwd: root }).status !== 0) {
	missing("indexing of a git repository", "git does not run");
}

const index = openCodeIndex({ root, folder: join(folder, "cache") });
const built = await building(index, "made-up monorepo", monorepo.bytes);
// After the memory of indexing was measured: these reads take memory, too.
const readingMs = await plainReadMs();
const figures = built.map((line) =>
	line.unit === "ms a file"
		? { ...line, baseline: { name: "reading them", value: readingMs / monorepo.files } }
		: line,
);
figures.push(...(await asking(index)));
const { database } = await index.status();
await index.close();
figures.push(...(await answering(database)));
report([...figures, ...(await commandLines())]);

/** A read of every file, one after the other. */
async function plainReadMs(): Promise<number> {
	const paths = globSync("packages/**/*.ts", { cwd: root });
	const read = () => {
		for (const path of paths) readFileSync(join(root, path), "utf8");
	};
	return median([await timed(read), await timed(read), await timed(read)]);
}

/** The first indexing: files per second, memory, stalls of the calling thread, and the database. */
async function building(code: CodeIndex, what: string, sourceBytes: number): Promise<Line[]> {
	const delay = monitorEventLoopDelay({ resolution: 5 });
	let seconds = Number.NaN;
	const peak = await peakMemory(process.pid, async () => {
		delay.enable();
		({ seconds } = await code.build());
		delay.disable();
	});
	const { bytes, files, symbols } = await code.status();
	const from = { files, symbols, seconds: rounded(seconds, 2) };
	return [
		// Milliseconds per file, so that a lower bound becomes an upper one: 600 files per second are 1.67.
		{
			case: `${what}: first indexing`,
			unit: "ms a file",
			value: (1000 * seconds) / files,
			digits: 2,
			target: rounded(1000 / 600, 2),
			from: { ...from, "files/s": Math.round(files / seconds) },
		},
		{ case: `${what}: memory at most`, unit: "MB", value: peak / MB, digits: 0, target: 800 },
		{
			case: `${what}: calling thread held up, at most`,
			unit: "ms",
			value: delay.max / 1e6,
			target: 50,
		},
		{
			case: `${what}: database`,
			unit: "× the source",
			value: bytes / sourceBytes,
			digits: 2,
			target: 0.75,
			from: { "source MB": rounded(sourceBytes / MB), "database MB": rounded(bytes / MB) },
		},
	];
}

interface Question<Name extends QuestionName> {
	method: Name;
	query: QueryOf<Name>;
}
type AnyQuestion = { [Name in QuestionName]: Question<Name> }[QuestionName];

/** The query function of a question, as the index thread calls it. */
async function queryFor<Name extends QuestionName>({ method, query }: Question<Name>) {
	const answer = await queries[method]();
	const readText = (path: string) => readFileSync(join(root, path), "utf8");
	return (reader: IndexReader): object => answer(reader, query, readText);
}

function put<Name extends QuestionName>(code: IndexQueries, { method, query }: Question<Name>) {
	return code[method](query);
}

/** The questions by their case names. */
function questions(): Record<string, AnyQuestion> {
	const { hub, hubSymbol, sample } = monorepo;
	return {
		search: { method: "search", query: { query: "handle part service", contextLines: 1 } },
		"dependents of the most used file, depth 3": {
			method: "dependencies",
			query: { path: hub, direction: "dependents", depth: 3 },
		},
		"usages of the most used symbol": { method: "usages", query: { symbol: hubSymbol, file: hub } },
		"outline of a file": { method: "outline", query: { file: sample } },
		"source of the most used symbol": {
			method: "symbol",
			query: { symbol: hubSymbol, file: hub },
		},
		"impact of the most used file": { method: "impact", query: { modify: [hub] } },
		"task context": { method: "taskContext", query: { files: [sample], includeSymbols: true } },
		"symbol map of 2,000 tokens": { method: "symbolMap", query: { budgetTokens: 2000 } },
	};
}

/** Questions about all files right after an edit, including the freshness check and the messages between threads. */
async function asking(code: CodeIndex): Promise<Line[]> {
	const lines: Line[] = [];
	for (const [name, question] of Object.entries(questions())) {
		const ask = () => put(code, question);
		// From the second time on the list of files is cached.
		for (let warmup = 0; warmup < sized(3, 1); warmup++) await ask();
		const edited: number[] = [];
		const before = process.cpuUsage();
		for (let round = 0; round < sized(15, 1); round++) {
			const text = `export const added${name.length}_${round} = ${round};\n`;
			appendFileSync(join(root, monorepo.sample), text);
			edited.push(await timed(ask));
		}
		const { user, system } = process.cpuUsage(before);
		lines.push({
			case: `${name}: whole call, one file just edited`,
			unit: "ms",
			value: median(edited),
			target: 90,
			baseline: { name: "reading all files", value: readingMs },
			from: {
				"slowest, ms": rounded(Math.max(...edited)),
				"processor time, ms": rounded((user + system) / 1000 / edited.length),
			},
		});
	}
	return lines;
}

/** The queries alone, in the index thread. */
async function answering(database: string): Promise<Line[]> {
	const store = await IndexStore.open(database);
	const lines: Line[] = [];
	for (const [name, question] of Object.entries(questions())) {
		const query = await queryFor(question);
		const times: number[] = [];
		for (let round = 0; round < sized(110, 12); round++) {
			times.push(await timed(async () => store.read(query)));
		}
		const [first = Number.NaN] = times;
		const warm = times.slice(10);
		lines.push({
			case: `${name}: the query itself, p99`,
			unit: "ms",
			value: quantile(warm, 0.99),
			target: 30,
			baseline: { name: "reading all files", value: readingMs },
			from: { "median, ms": rounded(median(warm)), "the very first, ms": rounded(first) },
		});
	}
	lines.push(await answeringAnything(store));
	store.close();
	return lines;
}

/** Questions about random files and symbols, as in a session; the largest is among them. */
async function answeringAnything(store: IndexStore): Promise<Line> {
	const paths = store.read((reader) => [...reader.files.values()].map(({ path }) => path));
	const times: number[] = [];
	for (let round = 0; round < sized(1100, 112); round++) {
		const path = paths[(round * 7919) % paths.length] as string;
		const name = `handleFeature${(round * 31) % 90}Part${(round * 17) % 70}`;
		const asked: AnyQuestion[] = [
			{ method: "dependencies", query: { path, depth: 1 + (round % 3) } },
			{ method: "usages", query: { symbol: name } },
			{ method: "search", query: { query: `handle part ${round % 70}`, contextLines: 1 } },
			{ method: "taskContext", query: { files: [path], includeSymbols: true } },
			{ method: "impact", query: { modify: [path] } },
			{ method: "dependencies", query: { path: monorepo.hub, direction: "dependents", depth: 3 } },
		];
		const query = await queryFor(asked[round % asked.length] as AnyQuestion);
		times.push(await timed(async () => store.read(query)));
	}
	const warm = times.slice(100);
	return {
		case: "any question, about files and symbols at random: the query itself, p99",
		unit: "ms",
		value: quantile(warm, 0.99),
		target: 30,
		baseline: { name: "reading all files", value: readingMs },
		from: { questions: warm.length, "median, ms": rounded(median(warm)) },
	};
}
