import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { CONVERSATION, SESSION_ID, sampleAnswers } from "../dashboard/views/sample-answers.ts";
import { startViewServer, type ViewServer } from "../dashboard/views/view-server.ts";
import {
	browserPath,
	launchBrowser,
	openTab,
	type Tab,
	type TabOptions,
} from "../support/browser.ts";
import { buildDashboard } from "../support/build-dashboard.ts";
import { atEnd } from "../support/temp.ts";
import { passFrames } from "./watch-frames.ts";

/** Where each page of the dashboard is. */
export const ADDRESSES = {
	sessions: "#/",
	conversation: `#/sessions/${SESSION_ID}/conversation`,
	context: `#/sessions/${SESSION_ID}/context`,
	cost: `#/sessions/${SESSION_ID}/cost`,
	code: `#/sessions/${SESSION_ID}/code`,
	usage: "#/usage",
	server: "#/server",
	replay: "#/replay",
	traffic: "#/traffic",
	report: `#/traffic/${CONVERSATION}`,
} as const;
export type View = keyof typeof ADDRESSES;
export const VIEWS = Object.keys(ADDRESSES) as View[];

/** The built page with a fake server, and a browser. */
export interface ViewPages {
	readonly folder: string;
	readonly browser: Browser;
	start(): Promise<ViewServer>;
	/** Shows a view with all it can show; another server may be given. */
	open(
		view: View,
		options?: TabOptions & { server?: ViewServer },
	): Promise<Tab & { server: ViewServer }>;
}

/** Builds the page and starts a browser before the tests of a file, if there is one, and ends it after them. */
export function useViews(): ViewPages {
	let folder = "";
	let browser: Browser | undefined;
	const running = () => {
		if (!browser) throw new Error("there is no browser");
		return browser;
	};

	beforeAll(async () => {
		if (browserPath === undefined) return;
		[folder, browser] = await Promise.all([buildDashboard(), launchBrowser()]);
	});
	afterAll(() => browser?.close());

	async function start(): Promise<ViewServer> {
		const server = await startViewServer(folder, sampleAnswers());
		atEnd(() => server.close());
		return server;
	}

	return {
		get folder() {
			return folder;
		},
		get browser() {
			return running();
		},
		start,
		async open(view, { server: given, ...options } = {}) {
			const server = given ?? (await start());
			const tab = await openTab(running(), server.url + ADDRESSES[view], {
				colorScheme: "light",
				...options,
			});
			if (!given) await fill(tab.page, view);
			return { server, ...tab };
		},
	};
}

/** Waits until a view has its answers, and makes it show all it can. */
export async function fill(page: Page, view: View): Promise<void> {
	if (view === "sessions") await page.getByRole("link", { name: /^Sample/ }).waitFor();
	if (view === "conversation") await page.getByRole("heading", { name: /^Sample/ }).waitFor();
	if (view === "context")
		await page.getByRole("region", { name: "Pieces of the context" }).waitFor();
	if (view === "cost") {
		await page.getByRole("region", { name: "Working set", exact: true }).waitFor();
		await page.getByRole("button", { name: "Read cache" }).click();
	}
	if (view === "code") {
		await page.getByRole("searchbox").fill("journal");
		await page.keyboard.press("Enter");
		await page.getByText("Found: 2 files").waitFor();
		await page.getByRole("button", { name: "src/store/journal.ts", exact: true }).click();
		await page.getByRole("button", { name: "openJournal" }).click();
		await page.getByRole("region", { name: "Dependency graph" }).waitFor();
		await page.getByRole("region", { name: "Usages" }).waitFor();
	}
	if (view === "usage") await page.getByRole("region", { name: "Cost by day" }).waitFor();
	if (view === "server") {
		await page
			.getByRole("region", { name: "History", exact: true })
			.locator(".chart svg[height]")
			.first()
			.waitFor();
		await page.getByRole("region", { name: "The latest commands" }).waitFor();
		await page.locator(".tile").first().waitFor();
	}
	if (view === "replay") {
		await page.getByRole("button", { name: "rename the store" }).click();
		await page.getByRole("region", { name: "Policies" }).waitFor();
	}
	if (view === "traffic")
		await page.getByRole("region", { name: "Conversations of agents" }).waitFor();
	if (view === "report") {
		await page.getByRole("button", { name: "Requests as a table" }).click();
		await page.getByRole("region", { name: "The latest requests" }).waitFor();
	}
	// Charts are drawn after the page.
	await passFrames(page);
}

/** The figures at the top of a view by their names. */
export async function figures(page: Page): Promise<Record<string, string>> {
	const pairs = await page
		.locator(".figure")
		.evaluateAll((all) =>
			all.map((one) => [
				one.querySelector("dt")?.textContent ?? "",
				one.querySelector(".figure-value")?.textContent ?? "",
			]),
		);
	return Object.fromEntries(pairs);
}

/** The text of a table's body, row by row. */
export function cells(page: Page, label: string): Promise<string[][]> {
	return page
		.getByRole("region", { name: label, exact: true })
		.locator("tbody tr")
		.evaluateAll((rows) =>
			rows.map((row) => [...row.children].map((cell) => (cell.textContent ?? "").trim())),
		);
}
