/** The claims of shortening results at birth. Without a trace, only speed and memory are measured. */
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Birth, birthPolicies, type CallResult, defaultBirth } from "../src/birth/index.ts";
import { rebuildRequests, replayPolicies, runPolicy } from "../src/economy/replay/index.ts";
import { rulesFor } from "../src/economy/rules.ts";
import { resultTextOf } from "../src/importers/index.ts";
import { readSessionFile } from "../test/support/read-session-file.ts";
import { READ_RATIOS, sessionFile } from "./economy/trace.ts";
import { type Line, median, report, sized } from "./support.ts";

const KB = 1024;
const RESULTS = sized(1000, 20);
const ROUNDS = sized(40, 3);

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const trace = sessionFile();
report([
	...speedLines(),
	await memoryLine(),
	await mostMemoryLine(),
	...(trace ? await traceLines(trace) : []),
]);

/** In a session with a thousand results of 50 KB: half of a result, or a quarter, stands in an earlier one. */
function speedLines(): Line[] {
	const birth = new Birth(defaultBirth);
	addTo(birth, 0, RESULTS);
	let seed = 10_000;
	const cases = [
		["50 KB", 50 * KB, 2],
		["1 MB", KB * KB, 10],
	] as const;
	const kinds = [
		["code", ""],
		["progress", ", a quarter progress"],
		["numbers", ", a quarter lines with numbers"],
	] as const;
	return cases.flatMap(([name, size, target]) =>
		kinds.map(([kind, what]): Line => {
			const ms: number[] = [];
			let shown = 0;
			for (let round = 0; round < ROUNDS; round++) {
				// What the round before added: older results are evicted by long ones.
				const repeated = codeOf(round === 0 ? RESULTS - 1 : seed, size / 2);
				const fresh = codeOf(++seed, kind === "code" ? size / 2 : size / 4);
				const noise = noiseOf(kind, size / 4, seed);
				// As a tool returns it: one flat string.
				const text = Buffer.from(`${repeated}\n${noise}${fresh}`).toString();
				const result = resultOf(`new-${kind}-${name}-${round}`, text);
				const start = performance.now();
				const short = birth.shorten(result);
				birth.add(result, short?.text);
				ms.push(performance.now() - start);
				shown = short?.text.length ?? text.length;
			}
			return {
				case: `a result of ${name}, half of it new${what}`,
				unit: "ms",
				value: median(ms),
				digits: 2,
				target,
				from: { results: RESULTS, rounds: ROUNDS, shown },
			};
		}),
	);
}

/** The memory of one session, before and after ten times as many results. */
async function memoryLine(): Promise<Line> {
	const before = await usedBytes();
	const birth = new Birth(defaultBirth);
	addTo(birth, 0, RESULTS);
	const few = (await usedBytes()) - before;
	addTo(birth, RESULTS, RESULTS * 10);
	const many = (await usedBytes()) - before;
	birth.shorten(resultOf("last", "keeps the session alive until here"));
	return {
		case: "memory after 10,000 results of 50 KB, against 1,000",
		unit: "×",
		value: many / few,
		digits: 2,
		target: 1.1,
		from: { "MB after 1,000": megabytes(few), "MB after 10,000": megabytes(many) },
	};
}

/** All bounds are reached at once: many results, of short lines, of characters that take two bytes. */
async function mostMemoryLine(): Promise<Line> {
	const { maxIndexedLines, maxIndexedChars, maxIndexedResults } = defaultBirth.dedupe;
	const [lines, chars] = [maxIndexedLines, maxIndexedChars].map((most) =>
		Math.floor(most / maxIndexedResults),
	) as [number, number];
	const before = await usedBytes();
	const birth = new Birth(defaultBirth);
	const count = sized(maxIndexedResults * 2, 100);
	for (let at = 0; at < count; at++) {
		const line = `第 ${at} `.padEnd(Math.floor(chars / lines) - 1, "x");
		birth.add(resultOf(`of-a-length-that-ids-have-${at}`, Array(lines).fill(line).join("\n")));
	}
	const used = (await usedBytes()) - before;
	birth.shorten(resultOf("last", "keeps the session alive until here"));
	return {
		case: "memory of a session at all bounds",
		unit: "MB",
		value: megabytes(used),
		digits: 1,
		target: 32,
		from: { results: count, "lines of each": lines, "characters of each": chars },
	};
}

async function usedBytes(): Promise<number> {
	collectGarbage();
	await setTimeout(50); // freed buffers are swept in the background
	collectGarbage();
	const { heapUsed, arrayBuffers } = process.memoryUsage();
	return heapUsed + arrayBuffers;
}

async function traceLines(file: string): Promise<Line[]> {
	const session = await readSessionFile(file, { detail: "texts" });
	const appendOnly = replayPolicies.find(({ name }) => name === "append-only");
	if (!appendOnly) throw new Error('there is no policy "append-only"');
	return READ_RATIOS.flatMap((readRatio) => {
		const requests = rebuildRequests(session, (name) => ({
			name,
			rules: rulesFor(name, { readRatio }),
			prices: undefined,
			contextWindow: 200_000,
		}));
		const without = runPolicy(appendOnly, requests);
		return birthPolicies(resultTextOf).map((policy): Line => {
			const outcome = runPolicy(policy, requests);
			const dearer = outcome.requests.filter(
				(request, at) => sum(request) > sum(without.requests[at]),
			);
			return {
				case: `trace: ${policy.name}, reads at ${readRatio}`,
				unit: "× without",
				value: outcome.cost / without.cost,
				digits: 3,
				...(policy.name === "birth-quiet" && { target: 0.9 }),
				from: { requests: outcome.requests.length, "larger requests": dearer.length },
			};
		});
	});
}

function sum(request: { input: number; read: number; write: number } | undefined): number {
	return request ? request.input + request.read + request.write : 0;
}

function addTo(birth: Birth, from: number, to: number): void {
	for (let at = from; at < to; at++) birth.add(resultOf(`old-${at}`, codeOf(at, 50 * KB)));
}

function resultOf(id: string, text: string): CallResult {
	return { id, tool: "bash", input: { command: `cat ${id}` }, text };
}

/** Lines like those of code, the same for the same seed. */
function codeOf(seed: number, chars: number): string {
	let state = seed * 7919 + 1;
	const next = (below: number) => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return (state >>> 8) % below;
	};
	const word = () => next(2 ** 24).toString(36);
	const lines: string[] = [];
	for (let length = 0; length < chars; ) {
		const line = `${"\t".repeat(next(4))}const ${word()} = call(${word()}, ${word()});`;
		lines.push(line);
		length += line.length + 1;
	}
	return Buffer.from(lines.join("\n").slice(0, chars)).toString();
}

function noiseOf(kind: "code" | "progress" | "numbers", chars: number, seed: number): string {
	if (kind === "code") return "";
	return kind === "progress" ? progressOf(chars) : numberedOf(chars, seed);
}

/** A third each: a bar that is drawn again, equal lines, and colours. */
function progressOf(chars: number): string {
	const bar = Array.from(
		{ length: chars / 90 },
		(_, at) => `\u001b[32mfetching\u001b[0m ${at} kB`,
	).join("\r");
	const waiting = "waiting for the server to start\n".repeat(chars / 96);
	const colours = "\u001b[1mbuilt\u001b[0m some module of the program\n".repeat(chars / 120);
	return `${bar}\n${waiting}${colours}`;
}

/** Half of the lines are folded. The others have numbers that vary freely, and stay. */
function numberedOf(chars: number, seed: number): string {
	const lines: string[] = [];
	for (let length = 0, at = 0; length < chars; at++) {
		const isFolded = (at >>> 6) % 2 === 0;
		const free = Math.imul(at + seed * 7919, 2_654_435_761) >>> 20;
		const line = isFolded ? `compiling module ${at} of 40000` : `src/main.ts:${free}: call()`;
		lines.push(line);
		length += line.length + 1;
	}
	return `${lines.join("\n")}\n`;
}

function megabytes(bytes: number): number {
	return Number((bytes / KB / KB).toFixed(1));
}
