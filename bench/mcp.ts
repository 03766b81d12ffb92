/**
 * The claims of `strata mcp`: from the start of its process to the answer to `initialize` and to the first question, and a
 * call over standard input and output compared with the same call in pi. The project is our own source, indexed.
 */
import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { CodeSystem } from "../src/code/system.ts";
import { createPiHost } from "../src/extension/pi-host.ts";
import { Session } from "../src/session/index.ts";
import { startPi } from "../test/support/pi-session.ts";
import { buildPackage } from "./startup/build-package.ts";
import {
	compare,
	type Line,
	median,
	missing,
	options,
	report,
	rounded,
	sized,
	tempFolder,
} from "./support.ts";

const ROUNDS = sized(15, 2);
const WARMUP = sized(3, 1);
const CALLS = { kota_usages: { symbol: "oneLine" }, kota_search: { query: "page token" } };

const own = fileURLToPath(new URL("..", import.meta.url));
const folder = tempFolder();
const agentDir = join(folder, "agent");
const project = join(folder, "project");
mkdirSync(agentDir);
cpSync(join(own, "src", options.quick ? "text" : ""), join(project, "src"), { recursive: true });
mkdirSync(join(project, ".git"));
const blobs = { dir: join(folder, "blobs") };
writeFileSync(join(agentDir, "strata.json"), JSON.stringify({ blobs }));
const cache = join(folder, "cache");
const env = { ...process.env, XDG_CACHE_HOME: cache, PI_CODING_AGENT_DIR: agentDir };
// The index of this process, in pi, is that of the commands.
process.env.XDG_CACHE_HOME = cache;

if (options.quick) missing("the compiled package", "compiling takes longer than a quick run");
const STRATA = join(options.quick ? own : buildPackage(folder), "bin", "strata.js");
const indexed = spawnSync(process.execPath, [STRATA, "index"], {
	cwd: project,
	env,
	encoding: "utf8",
});
if (indexed.status !== 0) throw new Error(indexed.stderr);

/** `strata mcp` as an agent starts it, and messages as they go over its pipes. */
class McpProcess {
	readonly startedMs = performance.now();
	readonly #child: ChildProcessByStdio<Writable, Readable, null>;
	readonly #answers = new Map<number, (message: { result?: object; error?: object }) => void>();
	readonly #exited: Promise<unknown>;
	#count = 0;

	constructor() {
		const stdio = ["pipe", "pipe", "inherit"] as const;
		this.#child = spawn(process.execPath, [STRATA, "mcp"], {
			cwd: project,
			env,
			stdio: [...stdio],
		});
		this.#exited = once(this.#child, "exit");
		createInterface(this.#child.stdout).on("line", (line) => {
			const message = JSON.parse(line);
			this.#answers.get(message.id)?.(message);
		});
	}

	async request(method: string, params: object): Promise<object> {
		const id = ++this.#count;
		const answer = new Promise<{ result?: object; error?: object }>((resolve) => {
			this.#answers.set(id, resolve);
		});
		this.#send({ id, method, params });
		const { result, error } = await answer;
		if (!result) throw new Error(JSON.stringify(error));
		return result;
	}

	async initialize(): Promise<void> {
		const clientInfo = { name: "bench", version: "1" };
		const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
		await this.request("initialize", params);
		this.#send({ method: "notifications/initialized" });
	}

	async call(name: string, input: object): Promise<void> {
		const result = await this.request("tools/call", { name, arguments: input });
		if ("isError" in result && result.isError) throw new Error(JSON.stringify(result));
	}

	async close(): Promise<void> {
		this.#child.stdin.end();
		await this.#exited;
	}

	#send(message: object): void {
		this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
	}
}

report([...(await startLines()), ...(await callLines())]);

async function startLines(): Promise<Line[]> {
	const node: number[] = [];
	const initialized: number[] = [];
	const answered: number[] = [];
	for (let round = 0; round < WARMUP + ROUNDS; round++) {
		const startMs = performance.now();
		spawnSync(process.execPath, ["-e", "0"], { env });
		const nodeMs = performance.now() - startMs;
		const server = new McpProcess();
		await server.initialize();
		const initializedMs = performance.now() - server.startedMs;
		await server.call("kota_usages", CALLS.kota_usages);
		const answeredMs = performance.now() - server.startedMs;
		await server.close();
		if (round < WARMUP) continue;
		node.push(nodeMs);
		initialized.push(initializedMs);
		answered.push(answeredMs);
	}
	const line = (name: string, ms: readonly number[], target: number): Line => ({
		case: name,
		unit: "ms",
		value: median(ms),
		target,
		baseline: { name: "node -e 0", value: median(node) },
		from: { fastest: rounded(Math.min(...ms)), rounds: ROUNDS },
	});
	return [
		line("from the start to the answer to initialize", initialized, 150),
		line("from the start to the first answer, indexed project", answered, 400),
	];
}

async function callLines(): Promise<Line[]> {
	const inPi = await piTools();
	const server = new McpProcess();
	await server.initialize();
	const lines: Line[] = [];
	for (const [name, input] of Object.entries(CALLS)) {
		const { ratio, ...from } = await compare({
			baseline: () => inPi.call(name, input),
			candidate: () => server.call(name, input),
			rounds: 100,
		});
		lines.push({
			...{ case: `${name}, compared with pi`, unit: "× the call in pi" },
			...{ value: ratio, digits: 2, target: 1.2, from: { ...from } },
		});
	}
	await server.close();
	await inPi.close();
	return lines;
}

/** The tools as pi has them: what it executes when a model calls one, without the model. */
async function piTools() {
	type Tool = Parameters<ReturnType<typeof createPiHost>["registerTool"]>[0];
	type Context = Parameters<Tool["execute"]>[4];
	const tools = new Map<string, Tool>();
	let context: Context | undefined;
	const pi = await startPi({
		...{ cwd: project, agentDir },
		extensions: [
			{
				name: "kota",
				factory: (api) => {
					api.on("session_start", (_event, ctx) => {
						context = ctx as Context;
					});
					const host = createPiHost(api);
					const session = new Session(
						{
							...host,
							registerTool(tool) {
								tools.set(tool.name, tool as Tool);
								host.registerTool(tool);
							},
						},
						api,
					);
					session.run([new CodeSystem(session)], () => {});
				},
			},
		],
	});
	return {
		async call(name: string, input: object) {
			const tool = tools.get(name);
			if (!tool || !context) throw new Error(`pi has no ${name}`);
			await tool.execute("call", input as never, undefined, undefined, context);
		},
		close: () => pi.close(),
	};
}
