/** What is done with a session, without a mouse: every key is a real one, and the focus is always seen. */
import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { browserPath } from "../support/browser.ts";
import { expectFocus, expectSomeFocus, walkTo } from "./focus.ts";
import { eventually, promptBox, useStrata } from "./strata-server.ts";

describe.skipIf(browserPath === undefined)("by keyboard alone", () => {
	const strata = useStrata({ kota: { confirmIndex: false } });

	/** A session in which the demo has edited a file. */
	async function openDone() {
		const tab = await strata.openNew();
		await runDemo(tab.page, "first", "Done: orders of exactly");
		return tab;
	}

	async function runDemo(page: Page, which: "first" | "second", lastWords: string) {
		const button = page.getByRole("button", { name: `Send the ${which} prompt` });
		await walkTo(page, button, "Shift+Tab");
		await page.keyboard.press("Enter");
		await page.getByText(lastWords).waitFor();
		await page.getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "detached" });
		await expectSomeFocus(page);
	}

	const dialogOf = (page: Page) => page.getByRole("dialog");

	test("pieces are pinned, dropped, restored, added to the working set and shown in the conversation; notices dismissed", async () => {
		const { page, faults } = await openDone();
		await runDemo(page, "second", "Every 37th order was slow");
		const dialog = dialogOf(page);
		const pieces = page.getByRole("region", { name: "Pieces of the context" });
		const order = page.getByRole("button", { name: 'read(path="src/order.ts")' });
		const day = page.getByRole("button", { name: 'read(path="logs/day-3.log")' });
		const pinned = pieces.getByText("pinned", { exact: true });
		const stub = pieces.getByText("a stub from the next request on");
		const act = async (name: string, piece: Locator) => {
			await page.keyboard.press("Enter");
			await walkTo(page, dialog.getByRole("button", { name, exact: true }));
			await page.keyboard.press("Space");
			await dialog.waitFor({ state: "detached" });
			await expectFocus(piece);
		};
		await page.keyboard.press("Alt+2");
		await expectSomeFocus(page);
		await walkTo(page, order);
		// A dialog that is left leaves the focus where it was.
		await page.keyboard.press("Enter");
		await dialog.waitFor();
		await page.keyboard.press("Escape");
		await dialog.waitFor({ state: "detached" });
		await expectFocus(order);

		await act("Pin", order);
		await pinned.waitFor();
		await act("Unpin", order);
		await pinned.waitFor({ state: "detached" });
		await walkTo(page, day);
		await act("Drop", day);
		await stub.waitFor();
		await act("Keep it", day);
		await stub.waitFor({ state: "detached" });
		await pinned.waitFor();
		await walkTo(page, order, "Shift+Tab");
		await act("Add to the working set", order);
		await page.getByText(/Added src\/order\.ts\. The working set has 1 file/).waitFor();

		// Notices that have the focus stay; the last one gives it back.
		await page.keyboard.press("Alt+0");
		const dismiss = page.getByRole("button", { name: "Dismiss" });
		await expectFocus(dismiss.last());
		for (let left = await dismiss.count(); left > 0; left--) {
			await expectFocus(dismiss.last());
			await page.keyboard.press("Enter");
			await eventually(() => dismiss.count()).toBe(left - 1);
		}
		await expectFocus(order);

		await page.keyboard.press("Enter");
		await walkTo(page, dialog.getByRole("link", { name: "Show in the conversation" }));
		await page.keyboard.press("Enter");
		await page
			.locator(".list-row:has(> .found-mark.is-current)")
			.getByText("src/order.ts")
			.first()
			.waitFor();
		await expectFocus(promptBox(page));
		expect(faults).toEqual([]);
	});

	test("the tree leads back to an entry, and forks", async () => {
		const { page, faults } = await openDone();
		const dialog = dialogOf(page);
		const tree = page.getByRole("button", { name: "Tree" });
		const openTree = async () => {
			await walkTo(page, tree, "Shift+Tab");
			await page.keyboard.press("Enter");
			await dialog.getByText("you are here", { exact: true }).waitFor();
		};
		const entry = dialog.getByRole("article").filter({ hasText: /^You/ }).first();
		const model = dialog
			.getByRole("article")
			.filter({ hasText: /^Model/ })
			.first();
		await openTree();
		await walkTo(page, model.getByRole("button", { name: "Go here" }));
		await page.keyboard.press("Enter");
		await dialog.waitFor({ state: "detached" });
		await page.getByText("Done: orders of exactly").waitFor({ state: "detached" });
		// No words come back with it: the focus is where it was.
		await expectFocus(tree);

		await openTree();
		await walkTo(page, entry.getByRole("button", { name: "Fork" }), "Shift+Tab");
		await page.keyboard.press("Enter");
		await dialog.waitFor({ state: "detached" });
		await page.getByRole("heading", { name: /^Fork: / }).waitFor();
		await eventually(() => promptBox(page).inputValue()).not.toBe("");
		await expectFocus(promptBox(page));
		expect(faults).toEqual([]);
	});

	test("a session file is picked and replayed", async () => {
		const { page, faults } = await openDone();
		await page.keyboard.press("Control+K");
		await dialogOf(page).waitFor();
		await page.keyboard.type("replay");
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { name: "Replay", exact: true }).waitFor();
		await expectSomeFocus(page);
		const files = page.getByRole("region", { name: "Session files", exact: true });
		await walkTo(page, files.getByRole("button").first());
		await page.keyboard.press("Enter");
		await page.getByRole("region", { name: "Policies" }).waitFor();
		await expectSomeFocus(page);
		await walkTo(page, page.getByRole("button", { name: /^Show all \d+ policies/ }), "Shift+Tab");
		await page.keyboard.press("Enter");
		await expectFocus(page.getByRole("button", { name: "Show only the main policies" }));
		expect(faults).toEqual([]);
	});

	test("a notice behind a dialog is in front of it, and dismissed there", async () => {
		const { page, faults } = await strata.openNew();
		await page.keyboard.type("/tell");
		await page.keyboard.press("Enter");
		await page.locator(".toast").waitFor();
		await page.keyboard.press("Control+K");
		const dismiss = dialogOf(page).getByRole("button", { name: "Dismiss" });
		await walkTo(page, dismiss);
		await page.keyboard.press("Enter");
		await dismiss.waitFor({ state: "detached" });
		await expectSomeFocus(page);
		// By mouse, too.
		await page.keyboard.press("Escape");
		await expectFocus(promptBox(page));
		await promptBox(page).fill("/tell");
		await page.keyboard.press("Enter");
		await page.locator(".toast").waitFor();
		await page.keyboard.press("Control+K");
		await dismiss.click();
		await dismiss.waitFor({ state: "detached" });
		expect(await dialogOf(page).count()).toBe(1);
		expect(faults).toEqual([]);
	});
});
