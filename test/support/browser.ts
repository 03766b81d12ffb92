import { existsSync } from "node:fs";
import axe from "axe-core";
import {
	type Browser,
	type BrowserContext,
	type BrowserContextOptions,
	chromium,
	type Page,
} from "playwright-core";
import { expect } from "vitest";
import { PATIENCE_MS } from "./patience.ts";
import { atEnd } from "./temp.ts";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The browser of this machine: `CHROMIUM_PATH`, or a usual place on Linux. */
export const browserPath = [process.env.CHROMIUM_PATH, ...PLACES].find(
	(path) => path !== undefined && path !== "" && existsSync(path),
);
if (browserPath === undefined) {
	console.warn(
		"Browser tests are skipped: no Chromium was found. Install it or set CHROMIUM_PATH.",
	);
}

/** Starts the browser; the caller closes it. */
export function launchBrowser(): Promise<Browser> {
	return chromium.launch({ executablePath: browserPath ?? "" });
}

/** A tab that records its errors. */
export interface Tab {
	page: Page;
	context: BrowserContext;
	/** Errors and warnings of the console, exceptions, and requests that the page's policy refused. */
	faults: string[];
}

/** How a tab is opened: in its own context, or in that of other tabs. */
export type TabOptions = BrowserContextOptions & { context?: BrowserContext };

/** Opens a tab, in a context of its own unless one is given. It is closed when the test ends. */
export async function openTab(
	browser: Browser,
	url: string,
	{ context, ...options }: TabOptions = {},
): Promise<Tab> {
	const used = context ?? (await browser.newContext({ colorScheme: "dark", ...options }));
	used.setDefaultTimeout(PATIENCE_MS);
	const page = await used.newPage();
	const faults: string[] = [];
	page.on("console", (message) => {
		if (message.type() !== "error" && message.type() !== "warning") return;
		// An unreachable server is not a fault of the page: the browser itself logs it.
		if (/WebSocket connection to .* failed/.test(message.text())) return;
		faults.push(message.text());
	});
	page.on("pageerror", (error) => faults.push(String(error)));
	atEnd(() => (context ? page.close() : used.close()));
	await page.goto(url);
	return { page, context: used, faults };
}

/** Expects that axe finds only minor faults on the page. */
export async function expectAccessible(page: Page): Promise<void> {
	// Evaluated by the debugger: the page's policy forbids script elements.
	await page.evaluate(axe.source);
	const found = await page.evaluate(async () => {
		const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(document, {
			resultTypes: ["violations"],
			// For voice control: visible labels must be speakable. The rule is still experimental in axe.
			rules: { "label-content-name-mismatch": { enabled: true } },
		});
		return violations.map(({ id, impact, nodes }) => ({
			id,
			impact,
			nodes: nodes.slice(0, 5).map(({ html, failureSummary }) => `${html}: ${failureSummary}`),
		}));
	});
	expect(found.filter(({ impact }) => impact !== "minor")).toEqual([]);
}
