import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { limitsFrom, type RunningServer, startServer } from "../../src/server/index.ts";
import { askingExtension } from "../server/sessions/asking-extension.ts";
import {
	browserPath,
	buildDashboard,
	launchBrowser,
	openTab,
	type Tab,
	type TabOptions,
} from "../support/browser.ts";
import { tempDir } from "../support/temp.ts";

/** A real server with the scripted demo model, an extension that asks, and the page on it. */
export interface StrataServer {
	/** The address of the page, with the token. */
	readonly url: string;
	readonly port: number;
	/** Where pi keeps sessions and extensions. */
	readonly agentDir: string;
	/** Where sessions start that belong to no sample project. */
	readonly folder: string;
	/** Stops it, as a restart would. */
	stop(): Promise<void>;
	/** Starts it again on the same port with the same data. */
	start(): Promise<void>;
}

/** Starts a server that serves the page of `pageFolder`. `settings` are those of `strata.json`. The caller stops it. */
export async function startStrata(
	pageFolder: string,
	settings: object = {},
): Promise<StrataServer> {
	const root = tempDir("strata-serve-");
	const agentDir = join(root, "agent");
	const folder = join(root, "folder");
	mkdirSync(join(agentDir, "extensions"), { recursive: true });
	mkdirSync(folder);
	writeFileSync(join(agentDir, "extensions", "asks.ts"), askingExtension);
	writeFileSync(join(agentDir, "strata.json"), JSON.stringify(settings));
	process.env.PI_CODING_AGENT_DIR = agentDir;
	let port = 0;
	let running: RunningServer | undefined;

	async function start(): Promise<void> {
		running = await startServer({
			dataDir: join(root, "data"),
			agentDir,
			cwd: folder,
			demo: "always",
			allowProjectTrust: false,
			listen: { port, host: "127.0.0.1" },
			auth: { tokenFile: join(root, "tokens") },
			origins: [],
			limits: limitsFrom(["drainMs=200"]),
			pageFolder,
			warn: () => {},
		});
		await running.ready;
		port = running.port ?? 0;
	}

	await start();
	return {
		get url() {
			return `http://127.0.0.1:${port}/#token=${running?.token}`;
		},
		get port() {
			return port;
		},
		agentDir,
		folder,
		start,
		async stop() {
			await running?.stop("the test stops it");
		},
	};
}

/** A server and a browser for all tests of a file. */
export interface StrataPage {
	readonly server: StrataServer;
	/** Opens a tab on the page. */
	open(options?: TabOptions): Promise<Tab>;
	/** Writes a session file where the server finds it. */
	writeSession(name: string, lines: readonly object[]): void;
}

/** Starts both before the tests of a file, if there is a browser, and ends both after them. */
export function useStrata(settings: object = {}): StrataPage {
	let server: StrataServer | undefined;
	let browser: Browser | undefined;

	beforeAll(async () => {
		if (browserPath === undefined) return;
		const folder = await buildDashboard();
		[server, browser] = await Promise.all([startStrata(folder, settings), launchBrowser()]);
	}, 120_000);
	afterAll(async () => {
		await browser?.close();
		await server?.stop();
	}, 60_000);

	const running = () => {
		if (!server || !browser) throw new Error("there is no browser");
		return { server, browser };
	};
	return {
		get server() {
			return running().server;
		},
		open: (options = {}) => openTab(running().browser, running().server.url, options),
		writeSession(name, lines) {
			const { agentDir, folder } = running().server;
			const place = join(agentDir, "sessions", "--sample--");
			mkdirSync(place, { recursive: true });
			const id = crypto.randomUUID();
			const timestamp = new Date(0).toISOString();
			const header = { type: "session", version: 3, id, timestamp, cwd: folder };
			const text = [header, ...lines].map((line) => JSON.stringify(line)).join("\n");
			writeFileSync(join(place, `${name}.jsonl`), `${text}\n`);
		},
	};
}
