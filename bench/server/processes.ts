import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeTokens } from "../../test/server/support/flood-session.ts";
import { sized } from "../support.ts";

/** A server in a process of its own. */
export interface ServerProcess {
	readonly port: number;
	readonly pid: number;
	/** From its start to the line that reports readiness. */
	readonly readyMs: number;
	/** Where its standard error went, so far. */
	complaints(): string;
	stop(): Promise<void>;
	/** As a crash. */
	kill(): Promise<void>;
}

const ECHO = fileURLToPath(new URL("./echo-server.ts", import.meta.url));
const MAIN = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));

export function startEcho(): Promise<ServerProcess> {
	return start([ECHO], {});
}

/** Starts `strata serve` in `folder`. The server is measured, not its limits, so those are raised. */
export function startStrata(
	folder: string,
	given: { nodeOptions?: string[]; tokens?: Record<string, string>; words?: string[] } = {},
): Promise<ServerProcess> {
	const { nodeOptions = [], tokens, words = [] } = given;
	const limits = ["commandsPerMinute=1000000000", "maxPendingPerClient=100000", "maxSessions=1000"];
	// In a clone the first start builds the dashboard, which takes longer than a quick run.
	const page = sized([], ["--no-dashboard"]);
	const auth = tokens ? ["--token-file", writeTokens(folder, tokens)] : ["--auth", "none"];
	const args = ["serve", "--port", "0", ...auth, "--json", ...page, ...words];
	const env = { PI_CODING_AGENT_DIR: join(folder, "agent"), PI_OFFLINE: "1" };
	return start([...nodeOptions, MAIN, ...args, ...limits.flatMap((one) => ["--limit", one])], env);
}

const folders: string[] = [];
const children = new Set<ChildProcess>();
process.once("exit", () => {
	for (const child of children) child.kill("SIGKILL");
	for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A new folder with pi's user folder in it, whose model is served at `providerUrl`. */
export function createFolder(providerUrl = "http://127.0.0.1:9"): string {
	const folder = realpathSync(mkdtempSync(join(tmpdir(), "strata-bench-server-")));
	const agentDir = join(folder, "agent");
	mkdirSync(agentDir);
	const model = { id: "bench", contextWindow: 200_000, maxTokens: 64_000 };
	const provider = {
		baseUrl: providerUrl,
		api: "anthropic-messages",
		apiKey: "k",
		models: [model],
	};
	writeFileSync(join(agentDir, "models.json"), JSON.stringify({ providers: { bench: provider } }));
	const settings = { defaultProvider: "bench", defaultModel: "bench" };
	writeFileSync(join(agentDir, "settings.json"), JSON.stringify(settings));
	folders.push(folder);
	return folder;
}

/** The processor time of a process so far, in milliseconds; NaN where the system does not report it. */
export function processorMs(pid: number): number {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		// The name, in brackets, may hold anything; ticks are hundredths of a second.
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		return (Number(fields[11]) + Number(fields[12])) * 10;
	} catch {
		return Number.NaN;
	}
}

/** NaN where the system does not report it. */
export function residentBytes(pid: number): number {
	try {
		const status = readFileSync(`/proc/${pid}/status`, "utf8");
		return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
	} catch {
		return Number.NaN;
	}
}

async function start(args: string[], env: Record<string, string>): Promise<ServerProcess> {
	const begun = performance.now();
	const child = spawn(process.execPath, args, {
		env: { ...process.env, ...env },
		stdio: ["ignore", "pipe", "pipe"],
	});
	children.add(child);
	let complaints = "";
	child.stderr.on("data", (chunk) => {
		complaints += chunk;
	});
	const port = await portOf(child, () => complaints);
	const end = async (signal: NodeJS.Signals) => {
		const gone = new Promise((resolve) => child.once("exit", resolve));
		child.kill(signal);
		await gone;
		children.delete(child);
	};
	return {
		port,
		pid: child.pid ?? 0,
		readyMs: performance.now() - begun,
		complaints: () => complaints,
		stop: () => end("SIGTERM"),
		kill: () => end("SIGKILL"),
	};
}

function portOf(child: ChildProcess, complaints: () => string): Promise<number> {
	return new Promise((resolve, reject) => {
		let out = "";
		child.stdout?.on("data", (chunk) => {
			out += chunk;
			const line = out.split("\n").find((text) => text.includes('"type":"ready"'));
			if (line !== undefined) resolve(JSON.parse(line).port);
		});
		child.once("exit", () => reject(new Error(`it ended before it was ready: ${complaints()}`)));
	});
}
