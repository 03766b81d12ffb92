import { spawn } from "node:child_process";
import { createConnection } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { packageFolder, packageVersion } from "../core/package-info.ts";
import { configuredFolder } from "../core/places.ts";
import { runningServer, type ServerAddress } from "../core/server-address.ts";
import { loadTokens } from "../core/token-file.ts";
import { CannotConnect, type Transport, webSocketTransport } from "../protocol/client.ts";
import {
	type Command,
	FLAG,
	type OptionValues,
	TEXT,
	type Terminal,
	UsageError,
} from "./command.ts";
import { serverFolder } from "./serve.ts";

/** A server that was started for editors ends when none was connected, and none of its sessions ran, for this long. */
const IDLE_SECONDS = 600;
/** Pi and its extensions load, on a slow disk. */
const START_MS = 60_000;
const LOOK_MS = 50;
const MAX_ERROR_CHARACTERS = 2_000;

export const acp: Command = {
	name: "acp",
	usage: "[--url <address>] [--token-file <file>] [--data-dir <folder>] [--demo]",
	details: [
		"",
		"Serves pi's sessions to an editor that speaks the Agent Client Protocol, such as Zed, on standard input and",
		"output. The editor starts it: in Zed's settings, agent_servers with the command strata and the argument acp.",
		"It uses the server of this user that is running (strata serve), or starts one in the background, which ends",
		`${IDLE_SECONDS / 60} minutes after the last editor. Sessions and their runs go on when the editor restarts.`,
		"--url names another server; the first token of --token-file is sent to it. --demo uses the scripted demo",
		"model in a sample project, with data of its own.",
	],
	options: { url: TEXT, "token-file": TEXT, "data-dir": TEXT, demo: FLAG },
	async run(values, _words, terminal) {
		const transport = transportTo(values, terminal);
		const { serveStdio } = await import("../acp/index.ts");
		await serveStdio({ transport, version: packageVersion() });
		// A run that was not answered yet goes on in the server.
		return 0;
	},
};

function transportTo(values: OptionValues, terminal: Terminal): Transport {
	const path = (name: string) => {
		const value = values[name];
		return value === undefined ? undefined : configuredFolder(String(value), terminal.cwd);
	};
	const { url } = values;
	const tokenFile = path("token-file");
	if (url !== undefined) {
		for (const name of ["data-dir", "demo"]) {
			if (values[name] !== undefined) throw new UsageError(`--${name} has no effect with --url`);
		}
		return transportOf({ pid: 0, url: String(url), tokenFile });
	}
	if (tokenFile !== undefined) throw new UsageError("--token-file needs --url");
	const own = serverFolder(terminal.env);
	const dataDir = path("data-dir") ?? (values.demo ? join(own, "acp-demo") : own);
	const words = ["--data-dir", dataDir, ...(values.demo ? ["--demo", "always"] : [])];
	return {
		async open(listener) {
			const address =
				(await runningServer(dataDir)) ?? (await startedServer(dataDir, words, terminal));
			return await transportOf(address).open(listener);
		},
	};
}

function transportOf({ url, socket, tokenFile }: ServerAddress): Transport {
	if (url === undefined) {
		if (socket !== undefined) return socketTransport(socket);
		throw new CannotConnect(
			"the running server has neither a port nor a socket: start it without --stdio",
		);
	}
	return {
		async open(listener) {
			const token = tokenFile === undefined ? undefined : (await loadTokens(tokenFile)).first.token;
			return await webSocketTransport(url, token).open(listener);
		},
	};
}

/** One JSON object per line. Only a line feed ends a line. */
function socketTransport(path: string): Transport {
	return {
		open: (listener) =>
			new Promise((resolve, reject) => {
				const socket = createConnection(path).setEncoding("utf8");
				let rest = "";
				socket.on("data", (chunk: string) => {
					const lines = (rest + chunk).split("\n");
					rest = lines.pop() ?? "";
					for (const line of lines) listener.message(line);
				});
				socket.on("error", reject); // no effect once open; `close` follows
				socket.on("close", () => listener.closed({}));
				socket.on("connect", () => {
					resolve({
						send: (text) => void socket.write(`${text}\n`),
						close: () => void socket.destroy(),
					});
				});
			}),
	};
}

/**
 * Starts a server that outlives this process. If another process was faster, its server is used, and ours ends because the
 * folder is locked.
 */
async function startedServer(
	dataDir: string,
	words: readonly string[],
	{ env }: Terminal,
): Promise<ServerAddress> {
	const args = ["serve", "--port", "0", "--no-dashboard", "--stop-when-idle", String(IDLE_SECONDS)];
	const child = spawn(
		process.execPath,
		[join(packageFolder(), "bin", "strata.js"), ...args, ...words],
		// The editor's folder may be deleted while the server runs.
		{ cwd: homedir(), env, detached: true, stdio: ["ignore", "ignore", "pipe"] },
	);
	let printed = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		printed = (printed + text).slice(-MAX_ERROR_CHARACTERS);
	});
	let why: string | undefined;
	child.once("error", (error) => {
		why = error.message;
	});
	child.once("exit", (code) => {
		why ??= printed.trim().split("\n").at(-1) || `it ended with status ${code}`;
	});
	try {
		for (const sinceMs = performance.now(); performance.now() - sinceMs < START_MS; ) {
			const address = await runningServer(dataDir);
			if (address) return address;
			// The one that holds the folder may not listen yet.
			if (why !== undefined && !why.includes("another server")) break;
			await sleep(LOOK_MS);
		}
	} finally {
		// It must not depend on us: neither wait for its end, nor for what it prints.
		child.unref();
		child.stderr.destroy();
	}
	throw new CannotConnect(`the server could not be started: ${why ?? "it does not answer"}`);
}
