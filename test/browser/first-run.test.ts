import { describe, expect, test } from "vitest";
import { browserPath, expectAccessible } from "../support/browser.ts";
import { eventually, hasFocus, useStrata } from "./strata-server.ts";

describe.skipIf(browserPath === undefined)("somebody who comes for the first time", () => {
	const strata = useStrata();

	test("starts the demo with two clicks and reads what it does", async () => {
		const { page, faults } = await strata.open();
		const start = page.getByRole("button", { name: "Start a session" });
		await start.waitFor();
		await eventually(() => page.url()).not.toContain("token");
		await expectAccessible(page);

		await start.click();
		const banner = page.getByText(
			"from a script, not from an AI. The script works on a sample project created for this session.",
		);
		await banner.waitFor();
		await page.getByRole("button", { name: "Send the first prompt" }).click();
		await page.getByRole("button", { name: "Stop" }).waitFor();
		await page.getByText("I am a scripted demo").waitFor();

		await page.getByText("Done: orders of exactly 50.00 get the discount now.").waitFor();
		await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
		await expectAccessible(page);

		const edit = page.getByRole("button", { name: "edit src/discount.ts" });
		await eventually(() => edit.getAttribute("aria-expanded")).toBe("false");
		await edit.click();
		await page.getByText("total >= DISCOUNT_FROM").waitFor();
		await eventually(() =>
			page.getByRole("button", { name: "Send the first prompt" }).count(),
		).toBe(0);

		await page.getByRole("button", { name: "Send the second prompt" }).click();
		await page.getByText("Logs next").waitFor();
		await page.getByText("Every 37th order was slow").waitFor();
		await eventually(() => page.getByRole("button", { name: /^Send the .* prompt$/ }).count()).toBe(
			0,
		);
		expect(faults).toEqual([]);
	});

	test("is told where the demo works when asking for another session", async () => {
		const { page, faults } = await strata.open();
		await page.getByRole("button", { name: "New session" }).click();
		const dialog = page.getByRole("dialog");
		await dialog.getByText("The demo creates a new sample project for the session").waitFor();
		await eventually(() => dialog.getByLabel("Folder").count()).toBe(0);
		// Nothing is to be filled in: Enter starts.
		await eventually(() => hasFocus(dialog.getByRole("button", { name: "Start" }))).toBe(true);
		await expectAccessible(page);
		expect(faults).toEqual([]);
	});

	test("finds the session in the list, with its model and what it cost", async () => {
		const { page, faults } = await strata.open();
		const row = page.getByRole("row", { name: /shop-/ });
		await row.getByText("strata-demo/scripted").waitFor();
		await row.getByText(/^\$0\.\d+$/).waitFor();
		await row.getByText("Idle").waitFor();
		await expectAccessible(page);
		await page.emulateMedia({ colorScheme: "light" });
		await expectAccessible(page);
		expect(faults).toEqual([]);
	});

	test("can use every page on a telephone: nothing is wider than it", async () => {
		const { page, faults } = await strata.open({ viewport: { width: 360, height: 700 } });
		const link = page.getByRole("link", { name: /shop-/ });
		await link.waitFor();
		await eventually(() => overflowOf(page)).toBe(0);
		await link.click();
		await page.getByText("Done: orders of exactly").waitFor();
		await eventually(() => overflowOf(page)).toBe(0);
		for (const view of ["Context", "Cost", "Code"]) {
			await page.getByRole("link", { name: view, exact: true }).click();
			await page.getByRole("region", { name: view, exact: true }).waitFor();
			await eventually(() => overflowOf(page), view).toBe(0);
		}
		expect(faults).toEqual([]);
	});

	test("who brings no token is told what to do, and gets in with one", async () => {
		const [address = "", token = ""] = strata.server.url.split("#token=");
		const { page } = await strata.open();
		await page.evaluate(() => sessionStorage.clear());
		await page.goto(`${address}#token=wrong`);
		await page.reload();
		await page.getByText("Open the address that").waitFor();
		await page.getByLabel("Token").fill(token);
		await page.getByRole("button", { name: "Connect" }).click();
		await page.getByText("Connected").waitFor();
	});
});

function overflowOf(page: import("playwright-core").Page): Promise<number> {
	return page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth));
}
