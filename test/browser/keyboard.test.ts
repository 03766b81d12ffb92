/** The prompt box, the palette and the keys. */
import { describe, expect, test } from "vitest";
import { browserPath, expectAccessible } from "../support/browser.ts";
import { sessionLines } from "./session-lines.ts";
import { eventually, hasFocus, promptBox, useStrata } from "./strata-server.ts";

/** The smallest PNG: one pixel. */
const PIXEL =
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe.skipIf(browserPath === undefined)("the keyboard", () => {
	const strata = useStrata({ kota: { confirmIndex: false } });

	test("the box has the focus; the arrow up brings back what was sent, the arrow down the draft", async () => {
		const { page, faults } = await strata.openNew();
		await eventually(() => hasFocus(promptBox(page))).toBe(true);
		for (const text of ["!echo one", "!echo two"]) {
			await page.keyboard.type(text);
			await page.keyboard.press("Enter");
			await page.locator(".call.is-done", { hasText: text.slice(1) }).waitFor();
		}
		const shown = () => promptBox(page).inputValue();
		await page.keyboard.press("ArrowUp");
		await eventually(shown).toBe("!echo two");
		await page.keyboard.press("ArrowUp");
		await eventually(shown).toBe("!echo one");
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("ArrowDown");
		await eventually(shown).toBe("");
		expect(faults).toEqual([]);
	});

	test("@ proposes files of the project", async () => {
		const { page, faults } = await strata.openNew();
		await promptBox(page).focus();
		await page.keyboard.type("look at @disc");
		const files = page.getByRole("listbox", { name: "Files" });
		await files
			.getByRole("option", { name: /discount\.ts/ })
			.first()
			.waitFor();
		await expectAccessible(page);
		await page.keyboard.press("Enter");
		await eventually(() => promptBox(page).inputValue()).toBe("look at @src/discount.ts ");
		await page.keyboard.type("please");
		await eventually(() => promptBox(page).inputValue()).toBe("look at @src/discount.ts please");
		expect(faults).toEqual([]);
	});

	test("pictures and text files can be pasted", async () => {
		const { page, faults } = await strata.openNew();
		await promptBox(page).focus();
		await promptBox(page).evaluate((box, pixel) => {
			const data = new DataTransfer();
			const picture = Uint8Array.from(atob(pixel), (letter) => letter.charCodeAt(0));
			data.items.add(new File([picture], "dot.png", { type: "image/png" }));
			data.items.add(new File(["a note"], "note.txt", { type: "text/plain" }));
			data.items.add(new File([new Uint8Array([0, 255])], "data.bin"));
			box.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, cancelable: true }));
		}, PIXEL);
		const list = page.getByRole("list", { name: "Pictures to send" });
		await list.getByText("dot.png").waitFor();
		await eventually(() => promptBox(page).inputValue()).toBe("note.txt:\n```\na note\n```\n");
		await page.getByText("data.bin is neither a picture").waitFor();
		await expectAccessible(page);
		await page.keyboard.press("Enter");
		await page.locator(".said .picture").waitFor();
		await list.waitFor({ state: "detached" });
		expect(faults).toEqual([]);
	});

	test("Escape stops a run and a shell command", async () => {
		const { page, faults } = await strata.openNew();
		await promptBox(page).fill("!sleep 60");
		await page.keyboard.press("Enter");
		await page.getByRole("button", { name: "Stop command" }).waitFor();
		await page.keyboard.press("Escape");
		await page.locator(".call.is-cancelled").waitFor();
		await page.getByRole("button", { name: "Send the first prompt" }).click();
		await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
		await page.locator("main").focus();
		await page.keyboard.press("Escape");
		await page.getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "detached" });
		expect(await page.getByText("Done: orders of exactly").count()).toBe(0);
		expect(faults).toEqual([]);
	});

	test("Ctrl+K leads to views, sessions and commands, and ? lists the keys", async () => {
		const { page, faults } = await strata.openNew();
		await promptBox(page).focus();
		await page.keyboard.press("Control+K");
		const dialog = page.getByRole("dialog", { name: "Go to" });
		await dialog.waitFor();
		await dialog.getByRole("option", { name: /Context/ }).waitFor();
		await expectAccessible(page);
		await page.keyboard.type("cost");
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { name: "Cost" }).waitFor();
		await page.keyboard.press("Alt+4");
		await page.getByText("No file has been edited").waitFor();
		await page.keyboard.press("Control+K");
		await page.keyboard.type("compact");
		await page.keyboard.press("Enter");
		await eventually(() => promptBox(page).inputValue()).toBe("/compact ");
		await eventually(() => hasFocus(promptBox(page))).toBe(true);
		await page.locator("main").focus();
		await page.keyboard.press("?");
		await page.getByRole("dialog", { name: "Keys" }).waitFor();
		await expectAccessible(page);
		await page.keyboard.press("Escape");
		await page.getByRole("dialog").waitFor({ state: "detached" });
		expect(faults).toEqual([]);
	});

	test("Ctrl+K finds a session by its first message, and the box has the focus then", async () => {
		for (const words of ["about the turtles", "about the hares"]) {
			const text = `Tell me ${words}`;
			strata.writeSession(words, sessionLines([{ role: "user", text }]));
			const { page } = await strata.openStored(text);
			await page.close();
		}
		const { page, faults } = await strata.open();
		const goTo = async (words: string) => {
			await page.keyboard.press("Control+K");
			const dialog = page.getByRole("dialog", { name: "Go to" });
			await page.keyboard.type(words);
			await dialog.getByRole("option", { name: words }).waitFor();
			await eventually(() => dialog.getByRole("option").count()).toBe(1);
			await page.keyboard.press("Enter");
			await dialog.waitFor({ state: "detached" });
			await page.getByText(`Tell me about the ${words}`).waitFor();
			await eventually(() => hasFocus(promptBox(page))).toBe(true);
		};
		// From a link of the list of sessions, from a session, and from a view of the same session.
		await page.getByRole("link", { name: "Sessions", exact: true }).focus();
		await goTo("turtles");
		await page.getByRole("link", { name: "Cost", exact: true }).focus();
		await goTo("hares");
		await page.getByRole("link", { name: "Cost", exact: true }).click();
		await page.getByRole("heading", { name: "Cost" }).waitFor();
		await goTo("hares");
		await page.locator("main").focus();
		await goTo("hares");
		expect(faults).toEqual([]);
	});

	test("the tabs and the title stay where they are when the view changes", async () => {
		const { page, faults } = await strata.openNew();
		const tabs = page.getByRole("navigation", { name: "Session views" }).getByRole("link");
		const places = () =>
			tabs.evaluateAll((all) => all.map((tab) => Math.round(tab.getBoundingClientRect().x)));
		await page.getByText("nothing sent yet").waitFor();
		const before = await places();
		for (const name of ["Context", "Cost", "Changes", "Code", "Conversation"]) {
			await tabs.filter({ hasText: name }).click();
			await page.locator(`.tabs a[aria-current]`, { hasText: name }).waitFor();
			expect(await places()).toEqual(before);
		}
		expect(faults).toEqual([]);
	});
});
