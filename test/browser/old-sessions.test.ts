/** Sessions whose folder or model is gone: what they say can still be read. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { browserPath, expectAccessible } from "../support/browser.ts";
import { type Said, sessionLines } from "./session-lines.ts";
import { eventually, promptBox, useStrata } from "./strata-server.ts";

const RETIRED = { provider: "acme", model: "retired-1" };
const USAGE = {
	...{ input: 200, output: 50, cacheRead: 4_000, cacheWrite: 800, totalTokens: 5_050 },
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** A few turns that begin with these words. */
function said(words: string): Said[] {
	return Array.from({ length: 3 }, (_, at): Said[] => [
		{ role: "user", text: at === 0 ? words : `${words}, part ${at + 1}` },
		{ role: "assistant", text: "", call: { name: "read", path: `src/part-${at}.ts` } },
		{ role: "toolResult", text: "const a = 1;\n" },
		{ role: "assistant", text: `Answer ${at + 1} to ${words}.` },
	]).flat();
}

describe.skipIf(browserPath === undefined)("an old session", () => {
	const strata = useStrata();

	async function openOld(words: string) {
		const tab = await strata.open();
		const { page } = tab;
		await page.getByRole("button", { name: "Open a stored session" }).click();
		await page.getByRole("dialog").getByRole("button", { name: words }).first().click();
		await page.getByText(`Answer 3 to ${words}.`).waitFor();
		return tab;
	}

	const view = (page: Page, name: string) =>
		page
			.getByRole("navigation", { name: "Session views" })
			.getByRole("link", { name, exact: true })
			.click();

	test("whose model no longer exists shows its conversation, context and bills, without a price", async () => {
		strata.writeSession(
			"retired",
			sessionLines(said("old words"), { model: RETIRED, usage: USAGE }),
		);
		const { page, faults } = await openOld("old words");
		await page
			.getByText(/model acme\/retired-1 is not available: the next message goes to/)
			.waitFor();
		await page.getByText("2 requests, 5–6").waitFor();

		await view(page, "Cost");
		const soFar = page.getByRole("region", { name: "So far" });
		await soFar.waitFor();
		const turns = page.getByRole("region", { name: "Turns", exact: true });
		await eventually(() => turns.locator("tbody tr").count()).toBe(3);
		// No price of the model is known, so none is shown.
		await eventually(() => soFar.textContent()).toContain("tokens");
		expect(await soFar.textContent()).not.toContain("$");
		await expectAccessible(page);

		await view(page, "Context");
		await page.getByRole("region", { name: "Pieces of the context" }).waitFor();
		await expectAccessible(page);
		expect(faults).toEqual([]);
	});

	test("whose folder and model are gone is read-only, and says why", async () => {
		const gone = join(strata.server.folder, "gone");
		mkdirSync(gone);
		strata.writeSession(
			"gone",
			sessionLines(said("lost words"), { model: RETIRED, usage: USAGE }),
			gone,
		);
		rmSync(gone, { recursive: true });
		const { page, faults } = await openOld("lost words");
		await page.getByText("Read-only.").waitFor();
		await page.getByText(/Opened read-only: .*folder/).waitFor();
		await page.getByText("2 requests, 5–6").waitFor();
		expect(await promptBox(page).count()).toBe(0);
		// Opened again from its address, as from a bookmark.
		await page.reload();
		await page.getByText("Answer 3 to lost words.").waitFor();
		await expectAccessible(page);
		expect(faults).toEqual([]);
	});
});
