import { type ChildProcessByStdio, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { PATIENCE_MS } from "./patience.ts";
import { atEnd, tempDir } from "./temp.ts";

/** How a child pi is started. */
export interface PiProcessOptions {
	/** Arguments of the command line, after those the helper adds itself. */
	args?: readonly string[];
	/** Project folder. Default: a temp folder. */
	cwd?: string;
	/** pi's user folder. Default: a temp folder. */
	agentDir?: string;
	env?: Record<string, string>;
	/** The Node to run on, and the file of pi's command line. Default: this Node, the pi under test. */
	program?: readonly [node: string, cli: string];
	/** Limit of each single wait, in milliseconds. Default: `PATIENCE_MS`. */
	timeoutMs?: number;
}

/** One line of pi's RPC protocol. */
export type RpcRecord = { type: string; [key: string]: unknown };

/** pi's answer to a command. */
export type RpcAnswer = RpcRecord & {
	command: string;
	success: boolean;
	data?: unknown;
	error?: string;
};

/**
 * Starts pi's command line in RPC mode as a child process and waits until it answers. Inside a test
 * it is closed when the test ends.
 */
export async function startPiProcess(options: PiProcessOptions = {}): Promise<PiProcess> {
	const pi = new PiProcess(options);
	atEnd(() => pi.close());
	await pi.request({ type: "get_state" });
	return pi;
}

/**
 * Runs pi's command line to its end, as for `runPi(["install", path])` or `runPi(["-p", "hi"])`. Throws if it takes
 * longer than it may: its partial output is no answer.
 */
export async function runPi(
	args: readonly string[],
	options: Omit<PiProcessOptions, "args"> = {},
): Promise<{ status: number | null; stdout: string; stderr: string }> {
	const { child, timeoutMs } = spawnPi({ ...options, args });
	child.stdin.end(); // in print mode pi reads its input to the end first
	const output = { stdout: collect(child.stdout), stderr: collect(child.stderr) };
	let isLate = false;
	const timer = setTimeout(() => {
		isLate = true;
		child.kill("SIGKILL");
	}, timeoutMs);
	const status = await exitOf(child).finally(() => clearTimeout(timer));
	if (isLate) {
		throw new Error(
			`pi was still running after ${timeoutMs} ms. Its stderr:\n${output.stderr.text}`,
		);
	}
	return { status, stdout: output.stdout.text, stderr: output.stderr.text };
}

/** A pi child process in RPC mode. */
export class PiProcess {
	readonly cwd: string;
	readonly agentDir: string;
	/** All records but answers, in the order they came. */
	readonly events: RpcRecord[] = [];

	readonly #child: PiChild;
	readonly #exit: Promise<number | null>;
	readonly #stderr: { text: string };
	readonly #timeoutMs: number;
	readonly #answers = new Map<string, RpcAnswer>();
	readonly #listeners = new Set<() => void>();
	#ended: string | undefined;
	#lastId = 0;
	#matched = 0;

	constructor(options: PiProcessOptions) {
		const args = ["--mode", "rpc", ...(options.args ?? [])];
		const { child, cwd, agentDir, timeoutMs } = spawnPi({ ...options, args });
		this.cwd = cwd;
		this.agentDir = agentDir;
		this.#child = child;
		this.#timeoutMs = timeoutMs;
		this.#stderr = collect(child.stderr);
		this.#exit = exitOf(child).finally(() => {
			this.#end("pi ended");
		});
		this.#exit.catch(() => {}); // reported by the wait in flight, or by close()
		child.stdin.on("error", () => {}); // a write to a pi that has ended: its exit says more
		onLines(child.stdout, (line) => this.#receive(line));
	}

	/** Sends a command and returns pi's answer to it, `success: false` included. */
	async request(command: RpcRecord, timeoutMs?: number): Promise<RpcAnswer> {
		this.#lastId += 1;
		const id = `request-${this.#lastId}`;
		this.send({ ...command, id });
		return this.#until(`the answer to ${command.type}`, () => this.#answers.get(id), timeoutMs);
	}

	/** Sends a record that has no answer, such as an `extension_ui_response`. */
	send(record: RpcRecord): void {
		this.#child.stdin.write(`${JSON.stringify(record)}\n`);
	}

	/**
	 * Waits for an event. Events that came before the call count too, but only those after the last
	 * one that was waited for: so two waits for `agent_settled` mean two runs.
	 */
	waitFor(predicate: (event: RpcRecord) => boolean, timeoutMs?: number): Promise<RpcRecord> {
		const find = () => {
			const index = this.events.findIndex((event, i) => i >= this.#matched && predicate(event));
			if (index < 0) return undefined;
			this.#matched = index + 1;
			return this.events[index];
		};
		return this.#until("an event", find, timeoutMs);
	}

	/** Ends pi cleanly, or by force if it does not end, and returns its exit status. */
	async close(): Promise<number | null> {
		this.#child.stdin.end();
		const timer = setTimeout(() => this.#child.kill("SIGKILL"), PATIENCE_MS);
		return this.#exit.finally(() => clearTimeout(timer));
	}

	/** Ends pi as the kernel would, and waits until it is gone. */
	async kill(): Promise<void> {
		this.#child.kill("SIGKILL");
		await this.#exit;
	}

	#receive(line: string): void {
		let record: RpcRecord;
		try {
			record = JSON.parse(line);
		} catch {
			this.#end(`pi wrote "${line}", which is not a record,`);
			return;
		}
		if (record.type === "response") this.#answers.set(String(record.id), record as RpcAnswer);
		else this.events.push(record);
		this.#wake();
	}

	#end(reason: string): void {
		this.#ended ??= reason;
		this.#wake();
	}

	#wake(): void {
		for (const listener of this.#listeners) listener();
	}

	/** Checks again at each record until there is a result, pi has ended, or time is up. */
	#until<T>(what: string, find: () => T | undefined, timeoutMs = this.#timeoutMs): Promise<T> {
		return new Promise<T>((resolve, reject) => {
			const look = (reason?: string) => {
				const found = find();
				if (found === undefined && reason === undefined) return;
				this.#listeners.delete(listener);
				clearTimeout(timer);
				if (found !== undefined) resolve(found);
				else reject(new Error(`${reason} before ${what}. Its stderr:\n${this.#stderr.text}`));
			};
			const listener = () => look(this.#ended);
			const timer = setTimeout(() => look(`${timeoutMs} ms passed`), timeoutMs);
			this.#listeners.add(listener);
			listener();
		});
	}
}

type PiChild = ChildProcessByStdio<Writable, Readable, Readable>;

function spawnPi(options: PiProcessOptions) {
	const cwd = options.cwd ?? tempDir("cwd");
	const agentDir = options.agentDir ?? tempDir("agent");
	const env = {
		...withoutSecrets(process.env),
		PI_CODING_AGENT_DIR: agentDir,
		PI_OFFLINE: "1",
		...options.env,
	};
	const [node, cli] = options.program ?? [process.execPath, piCli()];
	const child = spawn(node, [cli, ...(options.args ?? [])], {
		cwd,
		env,
		stdio: ["pipe", "pipe", "pipe"],
	});
	return { child, cwd, agentDir, timeoutMs: options.timeoutMs ?? PATIENCE_MS };
}

/** The file behind the `pi` command of the pi under test (see pi-sdk.ts). */
function piCli(): string {
	const sdk = process.env.PI_SDK ?? "@earendil-works/pi-coding-agent";
	const manifest = findPackageJSON(sdk, import.meta.url);
	if (!manifest) throw new Error(`No package.json above "${sdk}": set PI_SDK to a file of pi`);
	return join(dirname(manifest), JSON.parse(readFileSync(manifest, "utf8")).bin.pi);
}

/** A test must not reach a provider with the keys of its user. */
function withoutSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
	return Object.fromEntries(Object.entries(env).filter(([name]) => !/(KEY|TOKEN)$/.test(name)));
}

function exitOf(child: PiChild): Promise<number | null> {
	return new Promise((resolve, reject) => {
		child.once("error", reject);
		child.once("close", resolve); // after the last output, unlike "exit"
	});
}

function collect(stream: Readable): { text: string } {
	const collected = { text: "" };
	stream.setEncoding("utf8").on("data", (chunk: string) => {
		collected.text += chunk;
	});
	return collected;
}

/** Splits at LF only: the protocol allows U+2028 in a record, where `readline` would split too. */
function onLines(stream: Readable, listener: (line: string) => void): void {
	let rest = "";
	stream.setEncoding("utf8").on("data", (chunk: string) => {
		const lines = (rest + chunk).split("\n");
		rest = lines.pop() ?? "";
		for (const line of lines) if (line.trim() !== "") listener(line);
	});
}
