/**
 * The page in a real browser, on a session of 5,000 entries: the time to the first content, the longest task while it is
 * scrolled (by the clock and by processor time), the time to switch views, and the time of a keystroke while an answer streams in.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { build } from "vite";
import { createClient } from "../src/protocol/client.ts";
import { browserPath } from "../test/support/browser.ts";
import { type Line, median, missing, quantile, report, sized, tempFolder } from "./support.ts";

const ENTRIES = sized(5_000, 200);
const ROUNDS = sized(7, 1);
const SCROLLS = sized(200, 10);
const KEYS = sized(60, 5);
const VIEWS = ["Context", "Cost", "Changes", "Conversation"];

if (browserPath === undefined) {
	missing("the page", "no Chromium was found: install it or set CHROMIUM_PATH");
	report([{ case: "not measured: no browser", unit: "", value: 0 }]);
} else {
	const server = await startServer();
	const browser = await chromium.launch({ executablePath: browserPath });
	try {
		report(await measure(browser, server));
	} finally {
		await browser.close();
		await server.stop();
	}
}

type Server = Awaited<ReturnType<typeof startServer>>;

async function measure(browser: Browser, { url, address }: Server): Promise<Line[]> {
	const firstMs: number[] = [];
	for (let round = 0; round < ROUNDS; round++) {
		const page = await openPage(browser, url);
		firstMs.push(await firstContentMs(page, address));
		await page.context().close();
	}
	const page = await openPage(browser, url);
	await firstContentMs(page, address);
	await browser.startTracing(page, { categories: ["toplevel"] });
	const tasks = await longestTaskMs(page);
	const worked = longestWorkMs(await browser.stopTracing());
	const switches = await switchesMs(page);
	const keys = await keystrokesMs(page);
	await page.context().close();
	const about = { entries: ENTRIES };
	return [
		{
			case: "first content of a session",
			unit: "ms",
			value: median(firstMs),
			target: 1_000,
			from: { ...about, rounds: ROUNDS },
		},
		{
			case: "longest task while scrolling",
			unit: "ms",
			value: tasks,
			target: 50,
			from: { ...about, steps: SCROLLS },
		},
		{
			case: "longest task while scrolling, processor time",
			unit: "ms",
			value: worked,
			target: 50,
			from: { ...about, steps: SCROLLS },
		},
		{
			case: "switching to another view",
			unit: "ms",
			value: median(switches),
			target: 200,
			from: {
				...about,
				fastest: Math.round(Math.min(...switches)),
				"90 %": Math.round(quantile(switches, 0.9)),
				switches: switches.length,
			},
		},
		{
			case: "a keystroke while an answer streams in",
			unit: "ms",
			value: quantile(keys, 0.95),
			target: 16,
			from: { ...about, median: Number(median(keys).toFixed(1)), keys: keys.length },
		},
	];
}

/** A tab that is connected, on the list of sessions, in a context of its own. */
async function openPage(browser: Browser, url: string): Promise<Page> {
	const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
	await page.goto(url);
	await page.getByText("Connected", { exact: true }).waitFor();
	return page;
}

/** From the click on a session to its first drawn message. */
function firstContentMs(page: Page, address: string): Promise<number> {
	return page.evaluate(async (to) => {
		const start = performance.now();
		location.hash = to;
		await new Promise<void>((resolve) => {
			const look = () => {
				if (
					document.querySelector(".conversation .list-row .answer, .conversation .list-row .call")
				)
					resolve();
				else requestAnimationFrame(look);
			};
			look();
		});
		return performance.now() - start;
	}, address);
}

/** The longest task, or 0 if none took the 50 ms from which browsers report them. */
function longestTaskMs(page: Page): Promise<number> {
	return page.evaluate(async (steps) => {
		const list = document.querySelector(".conversation .list");
		if (!list) throw new Error("there is no list");
		let longest = 0;
		const observer = new PerformanceObserver((entries) => {
			for (const { duration } of entries.getEntries()) longest = Math.max(longest, duration);
		});
		// What loading has left to do is no scrolling.
		await new Promise((resolve) => setTimeout(resolve, 1_000));
		observer.observe({ type: "longtask" });
		for (let step = 0; step < steps; step++) {
			// Mostly steps of a wheel, sometimes a jump.
			list.scrollTop -= step % 20 === 19 ? list.scrollHeight / 15 : 400;
			await new Promise((resolve) => requestAnimationFrame(resolve));
		}
		await new Promise((resolve) => setTimeout(resolve, 100));
		observer.disconnect();
		return longest;
	}, SCROLLS);
}

interface TraceEvent {
	readonly name: string;
	readonly ph: string;
	readonly pid: number;
	readonly tid: number;
	/** Processor time, in µs. */
	readonly tdur?: number;
	readonly args?: { readonly name?: string };
}

/** The processor time of the longest task of a page's main thread. On a busy machine, the wall clock counts others, too. */
function longestWorkMs(trace: Buffer): number {
	const { traceEvents }: { traceEvents: TraceEvent[] } = JSON.parse(trace.toString());
	const mains = new Set(
		traceEvents
			.filter(({ ph, args }) => ph === "M" && args?.name === "CrRendererMain")
			.map(({ pid, tid }) => `${pid} ${tid}`),
	);
	const tasks = traceEvents.filter(
		({ name, pid, tid }) => /RunTask$/.test(name) && mains.has(`${pid} ${tid}`),
	);
	if (tasks.length === 0) throw new Error("the trace has no tasks");
	return tasks.reduce((most, { tdur = 0 }) => Math.max(most, tdur / 1000), 0);
}

/** From the click on a tab to the content of its view. The code of the views is loaded already. */
async function switchesMs(page: Page): Promise<number[]> {
	const times: number[] = [];
	for (let round = 0; round <= ROUNDS; round++) {
		for (const name of VIEWS) {
			const ms = await page.evaluate(async (view) => {
				const tabs = [...document.querySelectorAll<HTMLAnchorElement>(".tabs a")];
				const start = performance.now();
				tabs.find(({ textContent }) => textContent === view)?.click();
				await new Promise<void>((resolve) => {
					const look = () => {
						const shown =
							view === "Conversation"
								? document.querySelector(".conversation .list-row")
								: document.querySelector(`section.sheet[aria-label="${view}"] .view-section`);
						if (shown) resolve();
						else requestAnimationFrame(look);
					};
					look();
				});
				return performance.now() - start;
			}, name);
			// The first round loads the answers.
			if (round > 0) times.push(ms);
		}
	}
	return times;
}

/** The time that the page works on each key while the demo answers: its handlers, drawing and layout. */
async function keystrokesMs(page: Page): Promise<number[]> {
	const box = page.getByLabel("Message", { exact: true });
	await box.fill("Please find out why orders of exactly 50.00 get no discount.");
	await box.press("Enter");
	await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
	await page.evaluate(() => {
		const times: number[] = [];
		(globalThis as unknown as { times: number[] }).times = times;
		let start = 0;
		addEventListener("keydown", () => (start = performance.now()), { capture: true });
		// The last listener: what the others have changed is drawn by now.
		addEventListener("input", ({ target }) => {
			(target as HTMLElement).getBoundingClientRect();
			times.push(performance.now() - start);
		});
	});
	await box.focus();
	for (let key = 0; key < KEYS; key++) await page.keyboard.type("x", { delay: 15 });
	const times = await page.evaluate(() => (globalThis as unknown as { times: number[] }).times);
	await page.getByRole("button", { name: "Stop", exact: true }).click();
	return times;
}

/** A server with the demo's model, and a long session in one of its sample projects. */
async function startServer() {
	const root = tempFolder();
	const pageFolder = join(root, "page");
	const source = fileURLToPath(new URL("../src/dashboard", import.meta.url));
	await build({
		root: source,
		logLevel: "error",
		build: { outDir: pageFolder, emptyOutDir: true },
	});
	for (const name of ["agent", "folder"]) mkdirSync(join(root, name));
	const program = fileURLToPath(new URL("../test/support/serve-page.ts", import.meta.url));
	const argument = JSON.stringify({ root, pageFolder, port: 0 });
	const child = spawn(process.execPath, [program, argument], {
		env: { ...process.env, HOME: root, PI_CODING_AGENT_DIR: join(root, "agent") },
		stdio: ["pipe", "pipe", "inherit"],
	});
	const { port, token } = JSON.parse(await firstLine());
	const url = `http://127.0.0.1:${port}/#token=${token}`;
	const client = createClient({ url });
	const { data: sample } = await client.request("create_session");
	const file = join(root, "agent", "sessions", "--long--", "long.jsonl");
	mkdirSync(join(file, ".."), { recursive: true });
	writeFileSync(file, sessionText(sample.sessionInfo.cwd));
	const { data: opened } = await client.request("load_session", { sessionPath: file });
	client.close();
	return {
		url,
		address: `#/sessions/${encodeURIComponent(opened.sessionId)}/conversation`,
		async stop() {
			const ended = once(child, "exit");
			child.stdin.end();
			await ended;
		},
	};

	async function firstLine(): Promise<string> {
		for await (const line of createInterface(child.stdout)) return line;
		throw new Error("the server ended before it was ready");
	}
}

/** A session file of prompts, reads, edits and answers with code. */
function sessionText(cwd: string): string {
	const lines: object[] = [
		{ type: "session", version: 3, id: crypto.randomUUID(), timestamp: time(0), cwd },
	];
	for (let at = 0; at < ENTRIES; at++) {
		const parentId = at === 0 ? null : `e${at - 1}`;
		lines.push({
			type: "message",
			id: `e${at}`,
			parentId,
			timestamp: time(at),
			message: message(at),
		});
	}
	return `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
}

function time(at: number): string {
	return new Date(1_700_000_000_000 + at * 1000).toISOString();
}

function message(at: number): object {
	const timestamp = 1_700_000_000_000 + at * 1000;
	const text = (words: string) => [{ type: "text", text: words }];
	const path = `src/part-${at % 40}.ts`;
	switch (at % 5) {
		case 0:
			return { role: "user", timestamp, content: text(`Step ${at}: please look at ${path}.`) };
		case 1:
		case 3: {
			const name = at % 5 === 1 ? "read" : "edit";
			const args = name === "read" ? { path } : { path, edits: [{ oldText: "a", newText: "b" }] };
			const call = { type: "toolCall", id: `c${at}`, name, arguments: args };
			return answer(timestamp, [...text("I look at it."), call], "toolUse");
		}
		case 2:
			return result(at, "read", Array(40).fill(`const value${at} = "text"; // line`).join("\n"));
		default:
			return at % 10 === 4
				? result(at, "edit", "Done.")
				: answer(timestamp, text(`**Done.**\n\n\`\`\`ts\nconst x = ${at};\n\`\`\`\n`), "stop");
	}
}

function result(at: number, toolName: string, output: string): object {
	const patch = "--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-two\n+three\n four\n";
	return {
		role: "toolResult",
		timestamp: 1_700_000_000_000 + at * 1000,
		toolCallId: `c${at - 1}`,
		toolName,
		content: [{ type: "text", text: output }],
		isError: false,
		...(toolName === "edit" && { details: { diff: "", patch } }),
	};
}

function answer(timestamp: number, content: object[], stopReason: string): object {
	const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.001 };
	const usage = { input: 5, output: 20, cacheRead: 900, cacheWrite: 40, totalTokens: 965, cost };
	const model = { api: "anthropic-messages", provider: "strata-demo", model: "scripted" };
	return { role: "assistant", timestamp, content, ...model, usage, stopReason };
}
