import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { eventually, hasFocus } from "./strata-server.ts";

/** Far more keys than any walk of the tests needs. */
const MAX_KEYS = 400;

/** Presses a key until the element has the focus, as who has no mouse does. Expects that one sees where it is then. */
export async function walkTo(
	page: Page,
	target: Locator,
	key: "Tab" | "Shift+Tab" = "Tab",
): Promise<void> {
	await target.waitFor();
	for (let keys = 0; keys < MAX_KEYS && !(await hasFocus(target)); keys++) {
		await page.keyboard.press(key);
	}
	await expectFocus(target);
}

/** Expects that the element has the focus in the end, in view and outlined. */
export async function expectFocus(target: Locator): Promise<void> {
	await eventually(() => hasFocus(target), `${target} has the focus`).toBe(true);
	const seen = () =>
		target.evaluate((element) => {
			const { outlineStyle, outlineWidth } = getComputedStyle(element);
			const { left, right, top, bottom } = element.getBoundingClientRect();
			return {
				isOutlined: outlineStyle !== "none" && Number.parseFloat(outlineWidth) > 0,
				isInView: right > 0 && left < innerWidth && bottom > 0 && top < innerHeight,
			};
		});
	await eventually(seen, `${target} is seen`).toEqual({ isOutlined: true, isInView: true });
}

/** Expects that the focus is on an element of the page in the end, not lost to its body. */
export async function expectSomeFocus(page: Page): Promise<void> {
	const focused = () => page.evaluate(() => document.activeElement?.tagName ?? "none");
	await eventually(focused, "what has the focus").not.toMatch(/^(BODY|HTML|none)$/);
	expect(await page.locator(":focus").count()).toBe(1);
}
