/**
 * Makes the pictures of the docs from the running program: starts a server with the demo model, sends its two prompts,
 * and photographs the page. `npm run screenshots`; needs Chromium (`CHROMIUM_PATH`, or where Linux has it).
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "playwright-core";

const MAIN = fileURLToPath(new URL("../bin/strata.js", import.meta.url));
const IMAGES = fileURLToPath(new URL("../docs/images/", import.meta.url));
const BROWSERS = [process.env.CHROMIUM_PATH, "/usr/bin/chromium", "/usr/bin/chromium-browser"];

const executablePath = BROWSERS.find((path) => path && existsSync(path));
if (!executablePath) {
	console.error("No Chromium was found: install it, or set CHROMIUM_PATH.");
	process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), "strata-screenshots-"));
const server = spawn(
	process.execPath,
	[MAIN, "serve", "--port", "0", "--json", "--demo", "always", "--data-dir", join(folder, "data")],
	{
		env: { ...process.env, PI_CODING_AGENT_DIR: join(folder, "agent"), PI_OFFLINE: "1" },
		stdio: ["ignore", "pipe", "inherit"],
	},
);
try {
	const { url, tokenFile } = await firstLine();
	const token = /^local:(\S+)$/m.exec(readFileSync(tokenFile, "utf8"))?.[1];
	const browser = await chromium.launch({ executablePath });
	const context = await browser.newContext({
		viewport: { width: 1280, height: 800 },
		colorScheme: "light",
	});
	const page = await context.newPage();
	await page.goto(`${url}#token=${token}`);
	await page.getByRole("button", { name: "Start a session" }).click();
	await page.getByRole("button", { name: "Send the first prompt" }).click();
	await waitForText(page, "Done: orders of exactly 50.00");
	const box = page.getByRole("textbox").first();
	await box.fill("And what do the logs say?");
	await box.press("Enter");
	await waitForText(page, "Every 37th order was slow");
	await page.getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "hidden" });
	await photograph(page, "dashboard");
	await page.setViewportSize({ width: 1280, height: 960 }); // with the charts of Cost
	for (const view of ["Context", "Cost"]) {
		await page.getByRole("link", { name: view, exact: true }).click();
		await page.waitForTimeout(1500); // charts are drawn when their figures arrive
		await photograph(page, view.toLowerCase());
	}
	await page.emulateMedia({ colorScheme: "dark" });
	await page.waitForTimeout(500);
	await photograph(page, "cost-dark");
	await browser.close();
} finally {
	server.kill("SIGTERM");
	await new Promise((resolve) => server.once("exit", resolve));
	rmSync(folder, { recursive: true, force: true });
}

/** The line that the server prints when it is ready. */
async function firstLine(): Promise<{ url: string; tokenFile: string }> {
	for await (const line of createInterface({ input: server.stdout })) return JSON.parse(line);
	throw new Error("the server ended before it was ready");
}

async function waitForText(page: Page, text: string): Promise<void> {
	await page.getByText(text).waitFor({ timeout: 60_000 });
	await page.waitForTimeout(500); // the last figures
}

async function photograph(page: Page, name: string): Promise<void> {
	await page.screenshot({ path: join(IMAGES, `${name}.png`) });
	console.log(`docs/images/${name}.png`);
}
