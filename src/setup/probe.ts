import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { describeError, errnoOf } from "../core/errno.ts";
import { property } from "../core/property.ts";

export type Probed =
	| { readonly ok: true; readonly version: string; readonly ms: number }
	/** Completes "it …". */
	| { readonly ok: false; readonly why: string };

/** Far more than a start takes, and less than an agent waits. */
const PROBE_MS = 15_000;

const HELLO = {
	...{ jsonrpc: "2.0", id: 1, method: "initialize" },
	params: {
		...{ protocolVersion: "2025-06-18", capabilities: {} },
		clientInfo: { name: "strata doctor", version: "1" },
	},
};

/** Starts a server as an agent does, and waits for its first answer. Never rejects. */
export async function probeServer(
	words: readonly string[],
	options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly timeoutMs?: number },
): Promise<Probed> {
	const [program = "", ...args] = words;
	const { cwd, env, timeoutMs = PROBE_MS } = options;
	const startedMs = performance.now();
	const done = Promise.withResolvers<Probed>();
	const fail = (why: string) => done.resolve({ ok: false, why });
	const child = spawn(program, args, {
		cwd,
		env,
		stdio: ["pipe", "pipe", "ignore"],
		windowsHide: true,
	});
	const timer = setTimeout(() => fail(`does not answer within ${timeoutMs / 1000} s`), timeoutMs);
	child.once("error", (error) =>
		fail(`cannot be started (${errnoOf(error) ?? describeError(error)})`),
	);
	child.once("exit", (status, signal) => fail(`ends at once (${signal ?? `status ${status}`})`));
	child.stdin.on("error", () => undefined); // its end is reported by `exit`
	createInterface(child.stdout).once("line", (line) => {
		const info = property(property(parsed(line), "result"), "serverInfo");
		if (property(info, "name") !== "strata") return fail("answers, but not as strata");
		const ms = Math.round(performance.now() - startedMs);
		done.resolve({ ok: true, version: String(property(info, "version")), ms });
	});
	child.stdin.write(`${JSON.stringify(HELLO)}\n`);
	try {
		return await done.promise;
	} finally {
		clearTimeout(timer);
		child.stdin.destroy();
		child.kill("SIGKILL");
	}
}

function parsed(line: string): unknown {
	try {
		return JSON.parse(line);
	} catch {
		return undefined;
	}
}
