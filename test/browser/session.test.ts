import { isDeepStrictEqual } from "node:util";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { browserPath, expectAccessible } from "../support/browser.ts";
import { eventually, hasFocus, promptBox, useStrata } from "./strata-server.ts";

describe.skipIf(browserPath === undefined)("a session in the browser", () => {
	const strata = useStrata({ kota: { confirmIndex: false } });

	const stop = (page: Page) => page.getByRole("button", { name: "Stop", exact: true });

	test("Enter sends, Shift+Enter is a new line, and Stop ends the run", async () => {
		const { page, faults } = await strata.openNew();
		await promptBox(page).focus();
		await page.keyboard.type("first line");
		await page.keyboard.press("Shift+Enter");
		await page.keyboard.type("second line");
		await page.keyboard.press("Enter");
		await page.getByText("first line\nsecond line").waitFor();
		await eventually(() => promptBox(page).inputValue()).toBe("");
		await stop(page).click();
		await stop(page).waitFor({ state: "detached" });
		await page.getByRole("button", { name: "Send", exact: true }).waitFor();
		expect(await page.getByText("Done: orders of exactly").count()).toBe(0);
		expect(faults).toEqual([]);
	});

	test("what is said during a run waits in sight and can be taken back", async () => {
		const { page, faults } = await strata.openNew();
		await page.getByRole("button", { name: "Send the first prompt" }).click();
		await stop(page).waitFor();
		await promptBox(page).fill("and one more thing");
		await page.keyboard.press("Alt+Enter");
		const queue = page.getByRole("list", { name: "Queued messages" });
		await queue.getByText("and one more thing").waitFor();
		await page.getByRole("button", { name: "Take back" }).click();
		await queue.waitFor({ state: "detached" });
		await eventually(() => promptBox(page).inputValue()).toBe("and one more thing");
		await stop(page).click();
		expect(faults).toEqual([]);
	});

	test("two tabs on one session show the same, though one came in the middle of an answer", async () => {
		const first = await strata.openNew();
		await first.page.getByRole("button", { name: "Send the first prompt" }).click();
		await first.page.getByText("I am a scripted").waitFor();
		const second = await first.context.newPage();
		await second.goto(strata.server.url);
		await second.goto(first.page.url());
		await second.getByText("I am a scripted demo, not an AI: my words are fixed").waitFor();
		await Promise.all(
			[first.page, second].map((page) => page.getByText("Done: orders of exactly").waitFor()),
		);
		await Promise.all(
			[first.page, second].map((page) => stop(page).waitFor({ state: "detached" })),
		);
		const both = async () => [await rowsOf(first.page), await rowsOf(second)];
		await eventually(both).toSatisfy(([one, other]) => isDeepStrictEqual(one, other));

		// A change in one tab shows in the other.
		await second.getByTitle("Rename this session").click();
		await second.getByRole("textbox", { name: "Name" }).fill("two tabs");
		await second.keyboard.press("Enter");
		await first.page.getByRole("heading", { name: "two tabs" }).waitFor();
		expect(first.faults).toEqual([]);
	});

	test("a link that is opened in a new tab needs no token of its own", async () => {
		const { page, context, faults } = await strata.openNew();
		const second = await context.newPage();
		await second.goto(page.url());
		await second.getByText("Connected", { exact: true }).waitFor();
		await promptBox(second).waitFor();
		// It has the token for itself now.
		await page.close();
		await second.reload();
		await second.getByText("Connected", { exact: true }).waitFor();
		await eventually(() => second.evaluate(() => localStorage.getItem("strata.token"))).toBeNull();
		expect(faults).toEqual([]);
	});

	test("without a token the page says one thing: where it is to be had", async () => {
		const url = strata.server.url.replace(/#.*/, "");
		const { page } = await strata.open({}, url);
		for (const hash of ["#/", "#/sessions/s/conversation", "#/sessions/s/cost", "#/server"]) {
			await page.goto(url + hash);
			await page.reload();
			const alert = page.getByRole("alert");
			await alert.waitFor();
			await eventually(() => alert.innerText()).toContain(
				"Not connected: a valid token is needed.",
			);
			await eventually(() => alert.innerText()).toContain("strata serve");
			await eventually(() => alert.count()).toBe(1);
			await eventually(() =>
				page.getByText(/Searching|could not be|No messages|Loading/).count(),
			).toBe(0);
			await page.getByLabel("Token").waitFor();
		}
		await expectAccessible(page);
	});

	test("a restart of the server is survived: the page comes back by itself and goes on", async () => {
		const { page, faults } = await strata.openNew();
		await page.getByRole("button", { name: "Send the first prompt" }).click();
		await page.getByText("I am a scripted").waitFor();
		await strata.server.stop();
		await page.getByText(/Reconnecting/).waitFor();
		// A message typed now is sent when the server is back.
		await strata.server.start();
		await page.getByText("Connected").waitFor();
		await stop(page).waitFor({ state: "detached" });
		await page.getByText("Orders of exactly 50.00 should get the discount.").waitFor();
		await promptBox(page).fill("Please go on.");
		await page.keyboard.press("Enter");
		await page.getByText("Logs next: a day at a time.").waitFor();
		await stop(page).click();
		expect(faults).toEqual([]);
	});

	test("questions of an extension are answered by keyboard, and close in every tab", async () => {
		const { page, context, faults } = await strata.openNew();
		const other = await context.newPage();
		await other.goto(strata.server.url);
		await other.goto(page.url());
		await page.getByText("ready", { exact: true }).waitFor();
		await page.getByText("one\ntwo").waitFor();

		await say(page, "/ask select");
		await other.getByRole("dialog", { name: "Which?" }).waitFor();
		await expectAccessible(page);
		await page.getByRole("dialog").getByRole("button", { name: "right" }).press("Enter");
		await Promise.all(
			[page, other].map((tab) => tab.getByRole("dialog").waitFor({ state: "detached" })),
		);

		await say(page, "/ask input");
		await eventually(() =>
			hasFocus(page.getByRole("dialog", { name: "Name?" }).getByRole("textbox")),
		).toBe(true);
		await page.keyboard.type("Ada");
		await page.keyboard.press("Enter");
		await page.getByRole("dialog").waitFor({ state: "detached" });

		await say(page, "/ask editor");
		const text = page.getByRole("dialog", { name: "Text?" }).getByRole("textbox", { name: "Text" });
		await eventually(() => text.inputValue()).toBe("draft");
		await eventually(() => hasFocus(text)).toBe(true);
		await page.keyboard.press("Escape");
		await page.getByRole("dialog").waitFor({ state: "detached" });
		await page.getByText("answer × 3").waitFor();

		await say(page, "/ask confirm");
		const sure = page.getByRole("dialog", { name: "Sure?" });
		await sure.getByText("Really sure?").waitFor();
		// Enter alone says no: yes is a step away.
		const no = sure.getByRole("button", { name: "No" });
		await eventually(() => hasFocus(no)).toBe(true);
		await page.keyboard.press("Tab");
		await page.keyboard.press("Enter");
		await sure.waitFor({ state: "detached" });
		await page.getByText("answer × 4").waitFor();

		await say(page, "/tell");
		await page.getByRole("status").getByText("look").waitFor();
		await eventually(() => promptBox(page).inputValue()).toBe("typed");
		expect(faults).toEqual([]);
	});

	test("a shell command shows its output in both tabs", async () => {
		const { page, context, faults } = await strata.openNew();
		const other = await context.newPage();
		await other.goto(strata.server.url);
		await other.goto(page.url());
		await promptBox(other).waitFor();
		await say(page, "!echo strata-$((40 + 2))");
		for (const tab of [page, other]) {
			const row = tab.getByRole("button", { name: "$ echo strata-" });
			await row.click();
			await tab.getByText("strata-42").waitFor();
		}
		expect(faults).toEqual([]);
	});

	test("the tree leads back to an earlier message, whose words are there to be changed", async () => {
		const { page, faults } = await strata.openNew();
		await say(page, "Find the discount.");
		await page.getByText("Done: orders of exactly").waitFor();
		await stop(page).waitFor({ state: "detached" });
		await page.getByRole("button", { name: "Tree" }).click();
		const entry = page
			.getByRole("dialog")
			.getByRole("article")
			.filter({ hasText: "Find the discount." });
		await entry.waitFor();
		await page.getByRole("dialog").getByText("you are here", { exact: true }).waitFor();
		await expectAccessible(page);
		await entry.getByRole("button", { name: "Go here" }).click();
		await page.getByRole("dialog").waitFor({ state: "detached" });
		await page.getByText("Done: orders of exactly").waitFor({ state: "detached" });
		await eventually(() => promptBox(page).inputValue()).toBe("Find the discount.");
		await eventually(() => hasFocus(promptBox(page))).toBe(true);

		// A fork goes on in a file of its own, from before that message.
		const session = page.url();
		await page.getByRole("button", { name: "Tree" }).click();
		await entry.getByRole("button", { name: "Fork" }).click();
		await page.getByRole("dialog").waitFor({ state: "detached" });
		await eventually(() => promptBox(page).inputValue()).toBe("Find the discount.");
		expect(page.url()).toBe(session);
		const said = page.getByRole("feed").getByText("Find the discount.", { exact: true });
		await eventually(() => said.count()).toBe(0);
		await page.getByRole("heading", { name: "Fork: Find the discount." }).waitFor();
		// The session that it comes from is in the list, too.
		await page.getByText("The session that it comes from is open beside it.").waitFor();
		await page.getByRole("link", { name: "Sessions", exact: true }).click();
		const origin = page.getByRole("row").filter({ hasText: "“Find the discount.”" });
		await origin.first().waitFor();
		await page.getByRole("link", { name: "Fork: Find the discount." }).waitFor();
		expect(faults).toEqual([]);
	});

	test("a session is deleted after a question, and a page on it says so", async () => {
		const { page, context, faults } = await strata.openNew();
		const id = /sessions\/([^/]+)/.exec(page.url())?.[1];
		const list = await context.newPage();
		await list.goto(strata.server.url);
		const row = list.getByRole("row").filter({ has: list.locator(`a[href*="${id}"]`) });
		await row.getByRole("button", { name: /^Delete/ }).click();
		await list.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
		await row.waitFor({ state: "detached" });
		await page.getByText("no longer exists").waitFor();
		expect(faults).toEqual([]);
	});

	async function say(page: Page, text: string): Promise<void> {
		await promptBox(page).fill(text);
		await promptBox(page).press("Enter");
	}

	/** The number of rows, and the text of the last one. Each tab draws only the rows in view. */
	async function rowsOf(page: Page): Promise<{ count: string | null; last: string[] }> {
		const rows = page.getByRole("feed").getByRole("article");
		const count = await rows.last().getAttribute("aria-setsize");
		return { count, last: (await rows.allInnerTexts()).slice(-12) };
	}
});
