import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { createClient } from "../../src/protocol/client.ts";
import { pngOf } from "../dashboard/pictures.ts";
import { browserPath, expectAccessible } from "../support/browser.ts";
import { atEnd } from "../support/temp.ts";
import { type Picture, sessionLines } from "./session-lines.ts";
import { eventually, hasFocus, useStrata } from "./strata-server.ts";
import { passFrames, watchFrames } from "./watch-frames.ts";

const png = (...of: Parameters<typeof pngOf>): Picture => ({
	mimeType: "image/png",
	data: pngOf(...of).toString("base64"),
});
const text = (mimeType: string, words: string): Picture => ({
	mimeType,
	data: Buffer.from(words).toString("base64"),
});

/** How large each picture in the list is drawn, and in which colour. */
const drawn = (page: Page) =>
	page.locator(".list canvas").evaluateAll((all) =>
		(all as HTMLCanvasElement[]).map((canvas) => {
			const copy = document.createElement("canvas").getContext("2d");
			copy?.drawImage(canvas, 0, 0);
			return {
				width: Math.round(canvas.getBoundingClientRect().width),
				height: Math.round(canvas.getBoundingClientRect().height),
				colour: [...(copy?.getImageData(1, 1, 1, 1).data ?? [])],
			};
		}),
	);
const areDrawn = (page: Page) =>
	eventually(() => page.locator("canvas[aria-busy=true]").count()).toBe(0);

const BLUE = [40, 110, 180, 255];
const RED = [200, 40, 40, 255];

describe.skipIf(browserPath === undefined)("pictures in a conversation", () => {
	const strata = useStrata();

	test("show in what was said and in results, small at first and large when chosen", async () => {
		strata.writeSession(
			"pictures",
			sessionLines([
				{
					role: "user",
					text: "what is in these pictures?",
					pictures: [png(640, 480), png(16, 16, [200, 40, 40]), png(200, 3_000)],
				},
				{ role: "assistant", text: "I look.", call: { name: "read", path: "shot.png" } },
				{ role: "toolResult", text: "Read image file", pictures: [png(1_200, 300)] },
				{ role: "assistant", text: "Blue." },
			]),
		);
		const { page, faults } = await strata.openStored("what is in these");
		await page.getByText("Blue.").waitFor();
		await eventually(() => drawn(page)).toEqual([
			{ width: 320, height: 240, colour: BLUE },
			{ width: 16, height: 16, colour: RED },
			{ width: 16, height: 240, colour: BLUE },
		]);
		await expectAccessible(page);

		const first = page.getByRole("button", { name: /^Image, image\/png, .*640 × 480$/ });
		await first.focus();
		await page.keyboard.press("Enter");
		const dialog = page.getByRole("dialog", { name: /640 × 480/ });
		await dialog.getByRole("img").waitFor();
		await eventually(async () => (await dialog.getByRole("img").boundingBox())?.width).toBe(640);
		await expectAccessible(page);
		await page.keyboard.press("Escape");
		await dialog.waitFor({ state: "detached" });
		await eventually(() => hasFocus(first)).toBe(true);

		// The tall one fits the page, too.
		await page.getByRole("button", { name: /200 × 3000$/ }).click();
		const tall = page.getByRole("dialog").getByRole("img");
		await eventually(async () => (await tall.boundingBox())?.height).toBeLessThan(720);
		await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();

		await page.getByRole("button", { name: /^read shot.png/ }).click();
		await page.getByRole("button", { name: /1200 × 300$/ }).waitFor();
		expect(faults).toEqual([]);
	});

	test("that are something else, damaged or too much to draw are told in words", async () => {
		const bomb = pngOf(1, 1);
		bomb.writeUInt32BE(60_000, 16);
		bomb.writeUInt32BE(60_000, 20);
		const whole = pngOf(64, 64, "noise").toString("base64");
		const svg = "<svg xmlns='http://www.w3.org/2000/svg' onload='window.pwned=1'/>";
		const pictures = [
			text("image/svg+xml", svg),
			text("image/png", svg),
			text("text/html", "<script>window.pwned=2</script>"),
			{ mimeType: 'image/png" onerror="window.pwned=3', data: whole },
			{ mimeType: "image/png", data: `${whole.slice(0, 4_000)}"><script>` },
			// A head of a picture, and nothing behind it.
			{ mimeType: "image/png", data: whole.slice(0, 400) },
			{ mimeType: "image/png", data: bomb.toString("base64") },
		];
		strata.writeSession(
			"hostile-pictures",
			sessionLines([{ role: "user", text: "hostile pictures", pictures }]),
		);
		const { page, faults } = await strata.openStored("hostile pictures");
		await page.getByText("Image, image/svg+xml: cannot be displayed").waitFor();
		await page.getByText(/60000 × 60000: too large to display/).waitFor();
		await page
			.getByText(/damaged/)
			.first()
			.waitFor();
		await areDrawn(page);
		await passFrames(page);
		expect(await drawn(page)).toEqual([]);
		const made = page.locator("main").locator("img, script, iframe, object, embed");
		expect(await made.count()).toBe(0);
		expect(await page.evaluate(() => (globalThis as { pwned?: number }).pwned)).toBeUndefined();
		expect(faults).toEqual([]);
	});

	test("that are too long for an event are loaded when they are asked for", async () => {
		const { page, faults } = await strata.openNew();
		const { url } = strata.server;
		const client = createClient({
			url: new URL("/", url).href,
			token: /token=(.+)$/.exec(url)?.[1] ?? "",
		});
		atEnd(() => client.close());
		const sessionId = /sessions\/([^/]+)/.exec(page.url())?.[1] ?? "";
		const images = [png(20, 20, [200, 40, 40]), png(400, 300, "noise")].map((picture) => ({
			type: "image" as const,
			...picture,
		}));
		await client.request("prompt", { sessionId, message: "Look at both.", images });
		await page.getByText("Look at both.").waitFor();
		await eventually(() => drawn(page)).toEqual([{ width: 20, height: 20, colour: RED }]);
		await page.getByRole("button", { name: "Stop", exact: true }).click();
		await page.getByRole("button", { name: "Load", exact: true }).click();
		await page.getByRole("button", { name: /400 × 300$/ }).waitFor();
		await eventually(() => drawn(page)).toMatchObject([{ width: 20 }, { width: 320, height: 240 }]);
		expect(faults).toEqual([]);
	});

	test("of ten megabytes wait to be asked for, and do not stop the page", async () => {
		const large = pngOf(1_900, 1_800, "noise");
		expect(large.length).toBeGreaterThan(10_000_000);
		const picture = { mimeType: "image/png", data: large.toString("base64") };
		strata.writeSession(
			"large-pictures",
			sessionLines([
				{ role: "user", text: "a large picture", pictures: [picture] },
				{ role: "assistant", text: "Seen." },
			]),
		);
		const { page, faults } = await strata.openStored("a large picture");
		await page.getByText(/Image, image\/png, 10.3 MB, 1900 × 1800/).waitFor();
		await passFrames(page);
		expect(await drawn(page)).toEqual([]);
		const watch = await watchFrames(page);
		await page.getByRole("button", { name: "Show", exact: true }).click();
		await eventually(() => drawn(page)).toMatchObject([{ width: 253, height: 240 }]);
		await page.getByRole("button", { name: /^Image/ }).click();
		await page.getByRole("dialog").getByRole("img").waitFor();
		await areDrawn(page);
		console.log(
			`a picture of 10 MB: the longest frame took ${(await watch.longestMs()).toFixed(0)} ms`,
		);
		expect(faults).toEqual([]);
	});
});
