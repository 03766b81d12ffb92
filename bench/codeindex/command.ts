/** `strata` as a process of its own, as at a terminal. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A `strata` with its own caches: of code that was compiled, and of indexes. */
export class StrataCommand {
	readonly #bin: string;
	readonly #cwd: string;
	readonly #cache: string;
	readonly #agent: string;

	/** `root` is a clone or an installed package, `cwd` the project that is asked about, `folder` for its caches. */
	constructor(root: string, { cwd, folder }: { readonly cwd: string; readonly folder: string }) {
		this.#bin = join(root, "bin", "strata.js");
		this.#cwd = cwd;
		this.#cache = join(folder, "cache");
		this.#agent = join(folder, "agent");
		mkdirSync(this.#agent, { recursive: true });
		// Without a user, a first question indexes only with this.
		writeFileSync(join(this.#agent, "strata.json"), '{ "kota": { "confirmIndex": false } }');
	}

	start(...args: string[]): RunningCommand {
		const env = {
			...process.env,
			XDG_CACHE_HOME: this.#cache,
			PI_CODING_AGENT_DIR: this.#agent,
		};
		const child = spawn(process.execPath, [this.#bin, ...args], {
			cwd: this.#cwd,
			env,
			stdio: ["ignore", "pipe", "pipe"],
		});
		return new RunningCommand(child);
	}

	/** Resolves to its output when it has ended. */
	run(...args: string[]): Promise<string> {
		return this.start(...args).end;
	}

	/** Compiled code stays. */
	forgetIndexes(): void {
		rmSync(join(this.#cache, "pi-strata", "codeindex"), { recursive: true, force: true });
	}
}

class RunningCommand {
	readonly pid: number;
	/** Resolves at the first byte of its answer. */
	readonly answered: Promise<void>;
	readonly end: Promise<string>;

	constructor(child: ChildProcess) {
		this.pid = child.pid ?? -1;
		let output = "";
		let errors = "";
		child.stderr?.on("data", (chunk) => {
			errors += chunk;
		});
		this.end = new Promise((resolve, reject) => {
			child.once("error", reject);
			child.once("close", (status) => {
				if (status === 0) resolve(output);
				else reject(new Error(`strata ended with ${status}: ${errors}`));
			});
		});
		this.answered = new Promise((resolve, reject) => {
			child.stdout?.on("data", (chunk) => {
				output += chunk;
				resolve();
			});
			this.end.then(() => resolve(), reject);
		});
	}
}
