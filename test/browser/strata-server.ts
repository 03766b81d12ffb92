import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { askingExtension } from "../server/sessions/asking-extension.ts";
import {
	browserPath,
	launchBrowser,
	openTab,
	type Tab,
	type TabOptions,
} from "../support/browser.ts";
import { buildDashboard } from "../support/build-dashboard.ts";
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
	const root = tempDir("serve");
	const agentDir = join(root, "agent");
	const folder = join(root, "folder");
	mkdirSync(join(agentDir, "extensions"), { recursive: true });
	mkdirSync(folder);
	writeFileSync(join(agentDir, "extensions", "asks.ts"), askingExtension);
	writeFileSync(join(agentDir, "strata.json"), JSON.stringify(settings));
	let port = 0;
	let token = "";
	let child: ChildProcess | undefined;

	async function start(): Promise<void> {
		const started = spawn(process.execPath, [PROGRAM, JSON.stringify({ root, pageFolder, port })], {
			env: { ...process.env, PI_CODING_AGENT_DIR: agentDir },
			stdio: ["pipe", "pipe", "inherit"],
		});
		child = started;
		({ port, token } = JSON.parse(await firstLine(started.stdout)));
	}

	async function stop(): Promise<void> {
		const stopped = child;
		child = undefined;
		if (!stopped || stopped.exitCode !== null) return;
		const ended = once(stopped, "exit");
		stopped.stdin?.end();
		await ended;
	}

	await start();
	return {
		get url() {
			return `http://127.0.0.1:${port}/#token=${token}`;
		},
		get port() {
			return port;
		},
		agentDir,
		folder,
		start,
		stop,
	};
}

const PROGRAM = fileURLToPath(new URL("../support/serve-page.ts", import.meta.url));

async function firstLine(output: Readable): Promise<string> {
	for await (const line of createInterface(output)) return line;
	throw new Error("the server ended before it was ready");
}

/** A server and a browser for all tests of a file. */
export interface StrataPage {
	readonly server: StrataServer;
	/** Opens a tab on the page, with the token unless another address is given. */
	open(options?: TabOptions, url?: string): Promise<Tab>;
	/** Opens a tab, makes a session on the demo's sample project and shows it. */
	openNew(options?: TabOptions): Promise<Tab>;
	/** Opens a tab and shows the stored session that begins with these words. */
	openStored(words: string, options?: TabOptions): Promise<Tab>;
	/** Writes a session file where the server finds it. `cwd`: by default the server's folder. */
	writeSession(name: string, lines: readonly object[], cwd?: string): void;
}

/** Starts both before the tests of a file, if there is a browser, and ends both after them. */
export function useStrata(settings: object = {}): StrataPage {
	let server: StrataServer | undefined;
	let browser: Browser | undefined;

	beforeAll(async () => {
		if (browserPath === undefined) return;
		const folder = await buildDashboard();
		[server, browser] = await Promise.all([startStrata(folder, settings), launchBrowser()]);
	});
	afterAll(async () => {
		await browser?.close();
		await server?.stop();
	});

	const running = () => {
		if (!server || !browser) throw new Error("there is no browser");
		return { server, browser };
	};
	const open = (options: TabOptions = {}, url = running().server.url) =>
		openTab(running().browser, url, options);
	return {
		get server() {
			return running().server;
		},
		open,
		async openNew(options) {
			const tab = await open(options);
			const { page } = tab;
			await page.getByRole("button", { name: /^(Start a session|New session)$/ }).click();
			// Only the very first session is created without a dialog.
			const dialog = page.getByRole("dialog");
			await dialog.or(promptBox(page)).waitFor();
			if (await dialog.isVisible()) await dialog.getByRole("button", { name: "Start" }).click();
			await promptBox(page).waitFor();
			await page.getByRole("button", { name: "Send the first prompt" }).waitFor();
			return tab;
		},
		async openStored(words, options) {
			const tab = await open(options);
			const { page } = tab;
			await page.getByRole("button", { name: "Open a stored session" }).click();
			await page.getByRole("dialog").getByRole("button", { name: words }).first().click();
			await promptBox(page).waitFor();
			return tab;
		},
		writeSession(name, lines, cwd = running().server.folder) {
			const { agentDir } = running().server;
			const place = join(agentDir, "sessions", "--sample--");
			mkdirSync(place, { recursive: true });
			const id = crypto.randomUUID();
			const timestamp = new Date(0).toISOString();
			const header = { type: "session", version: 3, id, timestamp, cwd };
			const text = [header, ...lines].map((line) => JSON.stringify(line)).join("\n");
			writeFileSync(join(place, `${name}.jsonl`), `${text}\n`);
		},
	};
}

/** The prompt box. Found by its name: its role changes while commands are proposed. */
export function promptBox(page: Page) {
	return page.getByLabel("Message", { exact: true });
}

/**
 * Polls `look` until the expectation holds: a busy machine takes its time. `message` names the subject. That something
 * never happens is expected with `expect`, after a later event.
 */
export function eventually<Seen>(look: () => Seen, message = "") {
	return expect.poll(look, { message });
}

/** Whether something has the focus of its page. */
export function hasFocus(locator: Locator): Promise<boolean> {
	return locator.evaluate((element) => element === document.activeElement);
}
