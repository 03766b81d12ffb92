import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { browserPath, expectAccessible } from "../support/browser.ts";
import { sessionLines } from "./session-lines.ts";
import { eventually, promptBox, useStrata } from "./strata-server.ts";

describe.skipIf(browserPath === undefined)("what is sent from the prompt box", () => {
	const strata = useStrata();
	const waiting = (page: Page) => page.getByRole("list", { name: "Waiting to be sent" });
	const stopCommand = (page: Page) => page.getByRole("button", { name: "Stop command" });
	const said = (page: Page, text: string) => page.locator(".said").getByText(text, { exact: true });
	const toast = (page: Page, text: RegExp) => page.locator(".toast").getByText(text);
	const openStored = (name: string) => {
		strata.writeSession(name, sessionLines([{ role: "user", text: `stored ${name}` }]));
		return strata.openStored(`stored ${name}`);
	};
	/** Types and sends. */
	const send = async (page: Page, text: string) => {
		await promptBox(page).fill(text);
		await promptBox(page).press("Enter");
	};

	test("a shell command is stopped by a button or by Escape, and says so", async () => {
		const { page, faults } = await openStored("shell");
		await send(page, "!echo begun; sleep 300");
		await page.getByText("running…").waitFor();
		await expectAccessible(page);
		await stopCommand(page).click();
		await page.getByText("cancelled").waitFor();
		await stopCommand(page).waitFor({ state: "detached" });
		await page.getByRole("button", { name: "$ echo begun; sleep 300" }).click();
		await page.getByText("begun", { exact: true }).waitFor();

		await send(page, "!!sleep 301");
		await stopCommand(page).waitFor();
		// Another page on the session can stop it, too.
		const other = await page.context().newPage();
		await other.goto(page.url());
		await stopCommand(other).waitFor();
		await promptBox(page).press("Escape");
		await eventually(() => page.getByText("cancelled").count()).toBe(2);
		await stopCommand(other).waitFor({ state: "detached" });
		expect(faults).toEqual([]);
	});

	test("an unknown command stays in the box, and its neighbours are named", async () => {
		const { page, faults } = await openStored("unknown");
		await send(page, "/renmae it");
		await toast(page, /no command "\/renmae"\. Did you mean "\/rename"/).waitFor();
		await eventually(() => promptBox(page).inputValue()).toBe("/renmae it");
		await send(page, "/tree");
		await toast(page, /\/tree is not available here\. Use the Tree button/).waitFor();
		await eventually(() => promptBox(page).inputValue()).toBe("/tree");
		expect(await page.locator(".said").count()).toBe(1);
		expect(faults).toEqual([]);
	});

	test("a command of the page is carried out, and is text behind a space", async () => {
		const { page, faults } = await strata.openNew();
		await send(page, "/name by a command");
		await page.getByRole("heading", { name: "by a command" }).waitFor();
		await send(page, "/compact");
		await toast(page, /compact/i).waitFor(); // there is nothing to compact yet
		await eventually(() => promptBox(page).inputValue()).toBe("/compact");
		await send(page, " /compact is a word here");
		await said(page, "/compact is a word here").waitFor();
		await promptBox(page).fill("/comp");
		await page.getByRole("option", { name: "/compact" }).waitFor();
		expect(faults).toEqual([]);
	});

	test("/new leaves the session that was there in the list, and Ctrl+K finds stored ones", async () => {
		const { page, faults } = await openStored("left behind");
		await send(page, "/thinking high");
		await toast(page, /no thinking level “high”. It is “off” now/).waitFor();
		await send(page, "/new");
		await toast(page, /The session as it was is still open/).waitFor();
		await page.getByRole("link", { name: "Sessions", exact: true }).click();
		await page.getByRole("row").filter({ hasText: "“stored left behind”" }).waitFor();

		strata.writeSession("asleep", sessionLines([{ role: "user", text: "stored asleep" }]));
		await page.keyboard.press("Control+K");
		await page.keyboard.type("asleep");
		const dialog = page.getByRole("dialog", { name: "Go to" });
		await dialog.getByRole("option", { name: /“stored asleep”.*stored session/ }).waitFor();
		await page.keyboard.press("Enter");
		await said(page, "stored asleep").waitFor();
		expect(faults).toEqual([]);
	});

	test("while the server is away waits in sight, and is said once when it is back", async () => {
		const { page } = await strata.openNew();
		await page.getByText("Connected", { exact: true }).waitFor();
		await strata.server.stop();
		await page.getByText(/^Reconnecting/).waitFor();
		await send(page, "said while away");
		await waiting(page).getByText("said while away").waitFor();
		await waiting(page).getByText("Waiting for the server").waitFor();
		await eventually(() => promptBox(page).inputValue()).toBe("");
		expect(await said(page, "said while away").count()).toBe(0);
		await send(page, "!echo waited too");
		await waiting(page).getByText("!echo waited too").waitFor();
		expect(await page.getByText("running…").count()).toBe(0);
		await expectAccessible(page);
		// Another view, and back.
		await page.getByRole("link", { name: "Sessions", exact: true }).click();
		await page.goBack();
		await waiting(page).getByRole("listitem").nth(1).waitFor();
		await eventually(() => waiting(page).getByRole("listitem").count()).toBe(2);

		await strata.server.start();
		await said(page, "said while away").waitFor();
		await page.getByRole("button", { name: "$ echo waited too" }).waitFor();
		await waiting(page).waitFor({ state: "detached" });
		// Pi writes the shell command into the file when the run is over.
		const stop = page.getByRole("button", { name: "Stop", exact: true });
		await stop.click();
		await stop.waitFor({ state: "detached" });
		await page.reload();
		await said(page, "said while away").waitFor();
		await page.getByRole("button", { name: "$ echo waited too" }).first().waitFor();
		await eventually(() => said(page, "said while away").count()).toBe(1);
		await eventually(() => page.getByRole("button", { name: "$ echo waited too" }).count()).toBe(1);
	});

	test("while the server is away is sent by the page that is loaded when it is back", async () => {
		const { page, context } = await strata.openNew();
		await page.getByText("Connected", { exact: true }).waitFor();
		const address = page.url();
		// The page is there, and its connection is not.
		await page.routeWebSocket(/^ws:/, (socket) => socket.close());
		await page.goto(`${strata.server.url.split("#")[0]}#/server`);
		await page.reload();
		await page.goto(address);
		await promptBox(page).waitFor();
		await send(page, "said before the reload");
		await waiting(page).getByText("said before the reload").waitFor();
		await page.reload();
		await waiting(page).getByText("said before the reload").waitFor();

		const storage = await page.evaluate(() => ({ ...sessionStorage }));
		const next = await context.newPage();
		await next.addInitScript((kept) => {
			for (const [key, value] of Object.entries(kept)) sessionStorage.setItem(key, value);
		}, storage);
		await next.goto(address);
		await said(next, "said before the reload").waitFor();
		await waiting(next).waitFor({ state: "detached" });
		await eventually(() => said(next, "said before the reload").count()).toBe(1);
	});
});
