import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { browserPath, expectAccessible } from "../support/browser.ts";
import { sessionLines } from "./session-lines.ts";
import { eventually, hasFocus, promptBox, useStrata } from "./strata-server.ts";
import { passFrames, watchFrames } from "./watch-frames.ts";

const bar = (page: Page) => page.getByRole("search");
const box = (page: Page) => bar(page).getByRole("textbox", { name: "Find in the conversation" });
const count = (page: Page) => bar(page).getByRole("status").innerText();
/** Opens the bar by its key. */
const openBar = async (page: Page) => {
	await page.keyboard.press("Control+f");
	await eventually(() => hasFocus(box(page))).toBe(true);
};
/** The element with the focus after a key, before the next frame or key. */
const focusedAfter = (page: Page, key: { key: string; ctrlKey?: true }) =>
	page.evaluate(async (pressed) => {
		document.activeElement?.dispatchEvent(
			new KeyboardEvent("keydown", { ...pressed, bubbles: true }),
		);
		for (let turns = 0; turns < 20; turns++) await undefined;
		return document.activeElement?.getAttribute("aria-label");
	}, key);
/** The row that is marked, and whether its marked words are in view. */
const marked = (page: Page) =>
	page.evaluate(() => {
		const row = document.querySelector(".found-mark.is-current")?.closest("article");
		const list = row?.closest(".list")?.getBoundingClientRect();
		const words = [...(CSS.highlights.get("found-here") ?? [])].map((range) => {
			const { top, bottom } = (range as Range).getBoundingClientRect();
			return { text: (range as Range).toString(), isInView: isWithin(top, bottom) };
		});
		function isWithin(top: number, bottom: number): boolean {
			return list !== undefined && bottom > top && top >= list.top && bottom <= list.bottom;
		}
		return { row: row?.dataset.key, words };
	});

const turns = Array.from({ length: 1_250 }, (_, at) => [
	{ role: "user" as const, text: `Question ${at}: what about file ${at}?` },
	{
		role: "assistant" as const,
		text: `Looking at ${at}. ${"Some words. ".repeat(at % 40)}`,
		call: { name: "read", path: `src/file-${at}.ts` },
	},
	{
		role: "toolResult" as const,
		text: `${`content of ${at}\n`.repeat(100)}${at % 250 === 7 ? "A Needle\n" : ""}`,
	},
	{ role: "assistant" as const, text: `Answer ${at}.` },
]);

describe.skipIf(browserPath === undefined)("finding words in a conversation", () => {
	const strata = useStrata({ kota: { confirmIndex: false } });

	test("leads through all of five thousand entries, folded output included", async () => {
		strata.writeSession("needles", sessionLines(turns.flat()));
		const { page, faults } = await strata.openStored("Question 0");
		await page.getByText("Answer 1249.").waitFor();
		await promptBox(page).focus();
		await openBar(page);
		await expectAccessible(page);

		const watch = await watchFrames(page);
		const from = performance.now();
		await page.keyboard.type("needle");
		await eventually(() => count(page)).toBe("5 of 5");
		const ms = performance.now() - from;
		const longest = await watch.longestMs();
		console.log(
			`5,000 entries, 2 MB: found ${ms.toFixed(0)} ms after the first letter, longest frame ${longest.toFixed(0)} ms`,
		);
		// The reader was at the end: the nearest above is shown, unfolded, far into its output.
		await eventually(() => marked(page)).toEqual({
			row: "assistant:4029000/1",
			words: [{ text: "Needle", isInView: true }],
		});

		await page.keyboard.press("Enter");
		await eventually(() => count(page)).toBe("1 of 5");
		await eventually(() => marked(page)).toEqual({
			row: "assistant:29000/1",
			words: [{ text: "Needle", isInView: true }],
		});
		await page.keyboard.press("Enter");
		await page.keyboard.press("Shift+Enter");
		await page.keyboard.press("Shift+Enter");
		await eventually(() => count(page)).toBe("5 of 5");
		await eventually(async () => (await marked(page)).row).toBe("assistant:4029000/1");
		// A match that was only passed is folded again.
		await bar(page).getByRole("button", { name: "Previous match" }).click();
		await eventually(() => count(page)).toBe("4 of 5");
		await eventually(async () => (await marked(page)).words).toHaveLength(1);
		await eventually(() => page.getByRole("button", { expanded: true }).count()).toBe(1);
		await expectAccessible(page);

		// Scrolling of the reader is not undone.
		const list = page.getByRole("region", { name: "Messages" });
		await list.evaluate((element) => {
			element.scrollTop -= 3_000;
		});
		await passFrames(page);
		await list.evaluate((element) => {
			element.scrollTop += 2_900;
		});
		await passFrames(page);
		const place = await list.evaluate((element) => element.scrollTop);
		await passFrames(page);
		expect(await list.evaluate((element) => element.scrollTop)).toBe(place);

		await box(page).focus();
		await page.keyboard.press("Enter");
		await eventually(() => count(page)).toBe("5 of 5");
		await page.keyboard.press("Escape");
		await bar(page).waitFor({ state: "detached" });
		await eventually(() => hasFocus(promptBox(page))).toBe(true);
		// The match stays visible.
		await page.getByText("A Needle").waitFor();
		await eventually(async () => (await marked(page)).words).toEqual([]);
		expect(faults).toEqual([]);
	});

	test("says when there is nothing, and goes on when the conversation does", async () => {
		const { page, faults } = await strata.openNew();
		await page.getByRole("button", { name: "Find" }).click();
		await box(page).fill("discount");
		await eventually(() => count(page)).toBe("No matches");
		await page.getByRole("button", { name: "Send the first prompt" }).click();
		await eventually(() => count(page)).toMatch(/^1 of \d+$/);
		await eventually(async () => (await marked(page)).row).toBeDefined();
		const first = (await marked(page)).row;
		const before = Number((await count(page)).split(" ").at(-1));
		await eventually(async () => Number((await count(page)).split(" ").at(-1))).toBeGreaterThan(
			before + 3,
		);
		// The reader stays at the match while rows are added below.
		await eventually(async () => (await marked(page)).row).toBe(first);
		await eventually(async () => (await marked(page)).words[0]?.isInView).toBe(true);
		expect(faults).toEqual([]);
	});

	test("shows words in the middle of a long answer and at the end of a line of ten million letters", async () => {
		const long = `${"word ".repeat(2_000_000)}the very end`;
		strata.writeSession(
			"far",
			sessionLines([
				{ role: "user", text: "far away" },
				{ role: "assistant", text: `${"line\n\n".repeat(1_500)}an **island** here\n\nmore` },
				{ role: "user", text: long },
				{ role: "assistant", text: "Bye." },
			]),
		);
		const { page, faults } = await strata.openStored("far away");
		await page.getByText("Bye.").waitFor();
		await openBar(page);
		await page.keyboard.type("an island here");
		await eventually(() => count(page)).toBe("1 of 1");
		await page.keyboard.press("Control+a");
		await page.keyboard.type("island");
		await eventually(async () => (await marked(page)).words).toEqual([
			{ text: "island", isInView: true },
		]);
		await page.keyboard.press("Control+a");
		await page.keyboard.type("Very End");
		await eventually(async () => (await marked(page)).words).toEqual([
			{ text: "very end", isInView: true },
		]);
		await eventually(() => page.evaluate(() => document.body.innerText.length)).toBeLessThan(
			200_000,
		);
		// After scrolling away, Enter leads back to the match, even if it is the only one.
		await page.getByRole("region", { name: "Messages" }).evaluate((list) => {
			list.scrollTop -= 450;
		});
		await eventually(async () => (await marked(page)).words[0]?.isInView).toBe(false);
		await page.keyboard.press("Enter");
		await eventually(async () => (await marked(page)).words[0]?.isInView).toBe(true);
		// The prompt box had the focus before, since the session was opened.
		await page.keyboard.press("Escape");
		await eventually(() => hasFocus(promptBox(page))).toBe(true);
		expect(faults).toEqual([]);
	});

	test("has the focus before the next key comes, and has given it back before the one after Escape", async () => {
		strata.writeSession("keys", sessionLines([{ role: "user", text: "quick keys" }]));
		const { page, faults } = await strata.openStored("quick keys");
		await page.getByText("quick keys").waitFor();
		await promptBox(page).focus();
		const find = { key: "f", ctrlKey: true } as const;
		expect(await focusedAfter(page, find)).toBe("Find in the conversation");
		expect(await focusedAfter(page, { key: "Escape" })).toBe("Message");
		expect(faults).toEqual([]);
	});

	test("fits on a phone, and Escape leads back to where one was", async () => {
		strata.writeSession("phone", sessionLines([{ role: "user", text: "on a small phone" }]));
		const { page, faults } = await strata.openStored("on a small phone", {
			viewport: { width: 360, height: 640 },
		});
		const button = page.getByRole("button", { name: "Find" });
		const list = page.getByRole("region", { name: "Messages" });
		// The rest of the page is laid out.
		await page.getByLabel("Model").waitFor();
		await page.getByText("one\ntwo").waitFor();
		const before = await list.boundingBox();
		await button.click();
		await box(page).fill("PHONE");
		await eventually(() => count(page)).toBe("1 of 1");
		await eventually(() => list.boundingBox()).toEqual(before);
		const place = await bar(page).getByRole("form").boundingBox();
		expect(place?.x).toBeGreaterThanOrEqual(0);
		expect((place?.x ?? 0) + (place?.width ?? 0)).toBeLessThanOrEqual(360);
		await expectAccessible(page);
		await page.keyboard.press("Escape");
		await bar(page).waitFor({ state: "detached" });
		await eventually(() => hasFocus(button)).toBe(true);
		// In another view there is nothing of it.
		await openBar(page);
		await page.getByRole("link", { name: "Context", exact: true }).click();
		await bar(page).waitFor({ state: "detached" });
		await eventually(() => button.count()).toBe(0);
		expect(faults).toEqual([]);
	});
});
