/** The demo's dollars are made up: wherever one is shown, the page says so beside it. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { browserPath } from "../support/browser.ts";
import { promptBox, useStrata } from "./strata-server.ts";

/** What a reader takes in at a glance: a mark in it counts for all amounts in it. */
const UNITS =
	".card, .bill, .session-figures, .list-row, .toast, .dialog, .banner, .widget, .statuses, tr, p, li";

/** The amounts on the page without a mark in their unit, each with the unit's text. */
function unmarked(page: Page): Promise<string[]> {
	return page.evaluate((units) => {
		const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		const found: string[] = [];
		while (walker.nextNode()) {
			const text = walker.currentNode;
			if (!/\$\d/.test(text.textContent ?? "")) continue;
			let unit = text.parentElement?.closest(units);
			const isMarked = (element: Element) => /made[ -]up/i.test(element.textContent ?? "");
			// A row or a paragraph may be marked by the card that it is in.
			while (unit && !isMarked(unit)) unit = unit.parentElement?.closest(units);
			if (!unit) found.push(text.parentElement?.textContent?.slice(0, 120) ?? "");
		}
		return found;
	}, UNITS);
}

/** How many amounts are shown. */
function amounts(page: Page): Promise<number> {
	return page.evaluate(() => document.body.innerText.match(/\$\d/g)?.length ?? 0);
}

describe.skipIf(browserPath === undefined)("the demo's dollars", () => {
	const strata = useStrata({ kota: { confirmIndex: false } });

	test("are marked as made up in every view", async () => {
		const { page, faults } = await strata.openNew();
		const view = (name: string) =>
			page
				.getByRole("navigation", { name: "Session views" })
				.getByRole("link", { name, exact: true })
				.click();
		const pageOf = (name: string) =>
			page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }).click();
		const seen: Record<string, number> = {};
		const look = async (name: string) => {
			expect(await unmarked(page), name).toEqual([]);
			seen[name] = await amounts(page);
		};
		await page.getByRole("button", { name: "Send the first prompt" }).click();
		await page.getByText("Done: orders of exactly").waitFor();
		await page.getByRole("button", { name: "Send the second prompt" }).click();
		await page.getByText("Every 37th order was slow").waitFor();
		await page.getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "detached" });
		await page.locator(".bill").last().waitFor();
		await look("conversation");

		await view("Context");
		await page.getByRole("region", { name: "Pieces of the context" }).waitFor();
		await look("context");
		await view("Cost");
		await page.getByRole("region", { name: "Saved against pi alone" }).waitFor();
		await page.getByRole("button", { name: /^Requests as a table/ }).click();
		await page.getByRole("region", { name: "The latest requests" }).waitFor();
		await page.getByRole("region", { name: "Misses", exact: true }).waitFor();
		await page.getByRole("region", { name: "Saved by each system" }).waitFor();
		await look("cost");
		await page.getByRole("link", { name: "Replay under other policies" }).click();
		await page.getByRole("region", { name: "Policies" }).waitFor();
		await page.getByRole("button", { name: /^Show all/ }).click();
		await look("replay");
		await page.goBack();
		await view("Changes");
		await page.getByRole("heading", { name: "1 file changed" }).waitFor();
		await look("changes");
		await view("Code");
		await page.getByRole("region", { name: "Index" }).waitFor();
		await look("code");

		await view("Conversation");
		for (const [command, answer] of [
			["/strata", "pi-strata compared with pi alone"],
			["/strata cost", /by turn \(prompts and answers/],
			["/kota pruning", /^pruning: on/],
		] as const) {
			await promptBox(page).fill(`${command} `);
			await page.keyboard.press("Enter");
			await page.getByText(answer).first().waitFor();
		}
		await look("commands");

		await pageOf("Sessions");
		await page
			.getByRole("link", { name: /^shop-/ })
			.first()
			.waitFor();
		// The cost of a session is loaded after the list.
		await page.locator("main").getByText(/\$\d/).first().waitFor();
		await look("sessions");
		await pageOf("Usage");
		// Today and in all leave the demo out.
		await page.getByText(/No run of pi with a real model/).waitFor();
		await page.getByText(/Those of the demo are left out/).waitFor();
		await look("usage");
		await pageOf("Server");
		await page.getByRole("region", { name: "The latest commands" }).waitFor();
		await look("server");
		await pageOf("Traffic");
		await page.getByRole("heading", { name: "Traffic" }).waitFor();
		await look("traffic");
		expect(seen).toMatchObject({ context: 1, changes: 1, code: 1, sessions: 1, usage: 0 });
		expect(seen.conversation).toBeGreaterThanOrEqual(3);
		expect(seen.cost).toBeGreaterThan(40);
		expect(seen.replay).toBeGreaterThan(4);
		expect(seen.commands).toBeGreaterThan(5);
		expect(faults).toEqual([]);
	});
});
