/** The claims of hooks: how long an agent waits after each call of a tool. Half of each new result repeats an earlier one. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openProxy } from "../src/cli/proxy.ts";
import type { ClaudeHook } from "../src/hook/index.ts";
import { bashCall, ClaudeSession, readCall } from "../test/hook/claude-session.ts";
import { type Line, median, report, sized } from "./support.ts";

const ROUNDS = sized(20, 2);
const STRATA = fileURLToPath(new URL("../bin/strata.js", import.meta.url));
const KB = 1024;

type Times = Omit<Line, "case">;

/** Plays Claude Code, and keeps its events. */
class Player {
	readonly session = new ClaudeSession();
	#event = "";
	#count = 0;

	constructor() {
		const keep = async (event: unknown) => {
			this.#event = JSON.stringify(event);
			return { output: "", savedTokens: 0 };
		};
		this.session.hook = { handle: keep } as unknown as ClaudeHook;
	}

	async next(size: number): Promise<string> {
		const at = this.#count++;
		const text = `${codeOf(at >> 1, size / 2)}\n${codeOf(at + 1_000_000, size / 2)}`;
		const file = join(this.session.project, `${at >> 1}.ts`);
		const isRead = (at >> 1) % 2 === 0;
		await this.session.call(isRead ? readCall(file, text) : bashCall(`cat ${file}`, text));
		return this.#event;
	}
}

/** 200 results fill a window of 200,000 tokens, 1,000 one of a million. */
const lines: Line[] = [];
for (const [count, isClaimed] of [
	[sized(200, 10), true],
	[sized(1000, 20), false],
] as const) {
	const player = new Player();
	for (let at = 0; at < count; at++) await player.next(4 * KB);
	const of = `${count.toLocaleString("en-US")} results`;
	const target = (ms: number) => (isClaimed ? { target: ms } : {});
	lines.push({
		case: `as a command, after ${of}`,
		...(await commandTimes(player)),
		...target(200),
	});
	const { first, others } = await httpTimes(player);
	lines.push({ case: `over HTTP, after ${of}`, ...others, ...target(10) });
	lines.push({ case: `over HTTP, the first event after ${of}`, ...first });
}
report(lines);

async function commandTimes(player: Player): Promise<Times> {
	const ms: number[] = [];
	let shortened = 0;
	for (let round = 0; round < ROUNDS; round++) {
		const event = await player.next(50 * KB);
		const start = performance.now();
		const output = await run(event, player);
		ms.push(performance.now() - start);
		if (output !== "") shortened++;
	}
	return { unit: "ms", value: median(ms), from: { rounds: ROUNDS, shortened } };
}

async function run(event: string, { session }: Player): Promise<string> {
	const child = spawn(process.execPath, [STRATA, "hook", "claude-code"], {
		env: { ...process.env, ...session.env },
		stdio: ["pipe", "pipe", "inherit"],
	});
	child.stdin.end(event);
	const parts: Buffer[] = [];
	child.stdout.on("data", (part: Buffer) => parts.push(part));
	await once(child, "close");
	return Buffer.concat(parts).toString();
}

async function httpTimes(player: Player): Promise<{ first: Times; others: Times }> {
	const { env, project: cwd } = player.session;
	const silent = { print: () => {}, write: () => {}, printError: () => {} };
	const { running, close } = await openProxy({ env, cwd, ...silent }, { port: 0, savings: "off" });
	const ms: number[] = [];
	let shortened = 0;
	for (let round = 0; round <= ROUNDS; round++) {
		const body = await player.next(50 * KB);
		const start = performance.now();
		const url = `http://127.0.0.1:${running.port}/hook/claude-code`;
		const answer = await (await fetch(url, { method: "POST", body })).text();
		ms.push(performance.now() - start);
		if (answer !== "{}") shortened++;
	}
	await close();
	const [value = 0, ...others] = ms;
	const from = { rounds: ROUNDS, shortened };
	return {
		first: { unit: "ms", value, from: { rounds: 1 } },
		others: { unit: "ms", value: median(others), digits: 1, from },
	};
}

function codeOf(seed: number, size: number): string {
	const lines: string[] = [];
	for (let at = 0, length = 0; length < size; at++) {
		const line = `\tconst value${seed}_${at} = compute(${seed * 31 + at}, "argument ${at}");`;
		lines.push(line);
		length += line.length + 1;
	}
	return lines.join("\n");
}
