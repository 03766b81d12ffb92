import type { CDPSession, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { browserPath, expectAccessible } from "../support/browser.ts";
import { sessionLines } from "./session-lines.ts";
import { eventually, useStrata } from "./strata-server.ts";
import { passFrames } from "./watch-frames.ts";

const HTML = '<img src=x onerror="window.pwned=1"><script>window.pwned=2</script><b>bold?</b>';
const ANSI = "\u001b[31mred\u001b[0m \u001b]0;title\u0007\u001b[2J bell\u0007";
const TURNED = "invoice\u202efdp.exe \u200b שלום";
const LINK = "[https://good.example](https://evil.example/x) [run](javascript:window.pwned=3)";

const ENTRY = { timestamp: new Date(9000).toISOString() };

describe.skipIf(browserPath === undefined)("a hostile session", () => {
	const strata = useStrata();

	test("shows as text, harmlessly and at once", async () => {
		const long = `${"x".repeat(10_000_000)}END`;
		strata.writeSession("hostile", [
			...sessionLines([
				{ role: "user", text: `hostile ${HTML}` },
				{ role: "assistant", text: `${HTML}\n\n\`\`\`\n${HTML}\n\`\`\`\n\n${LINK}` },
				{ role: "assistant", text: `Turned: ${TURNED}`, call: { name: `read${HTML}`, path: HTML } },
				{ role: "toolResult", text: `${ANSI}\n${HTML}` },
				{ role: "user", text: "a long line follows" },
				{ role: "assistant", text: long },
				{ role: "user", text: long },
				{ role: "assistant", text: "the last word" },
			]),
			{
				...ENTRY,
				id: "n",
				parentId: "e7",
				type: "session_info",
				name: `${HTML} ${"W".repeat(300)}`,
			},
		]);
		const { page, faults } = await strata.openStored("hostile");
		await page.getByText("the last word").waitFor();
		await top(page);
		await page.getByText("hostile <img src=x onerror=").waitFor();
		await page.getByRole("button", { name: /^read<img/ }).click();
		await page.getByText("␛]0;title·␛[2J bell␇").waitFor();
		await page.getByText("invoice⟨U+202E⟩fdp.exe ⟨U+200B⟩ שלום").waitFor();
		await expectAccessible(page);

		expect(await page.evaluate(() => (globalThis as { pwned?: number }).pwned)).toBeUndefined();
		const made = page.locator("main").locator("img, script, iframe, object, embed, b");
		expect(await made.count()).toBe(0);
		const links = () =>
			page
				.locator(".markdown a")
				.evaluateAll((all) =>
					all.map((link) => [
						link.getAttribute("href"),
						link.getAttribute("rel"),
						link.nextSibling?.textContent,
					]),
				);
		await eventually(links).toEqual([
			["https://evil.example/x", "noopener noreferrer", " (evil.example)"],
		]);

		// A line of ten million letters is shown in part, with a way to more of it.
		await page.getByRole("button", { name: /^Jump/ }).click();
		await page.getByText("the last word").waitFor();
		const note = page.locator(".note", { hasText: "Session name" });
		const outside = () => note.evaluate((own) => own.scrollWidth - own.clientWidth);
		await eventually(outside).toBeLessThanOrEqual(0);
		const more = page.getByRole("button", { name: /^Show more \(10M/ });
		await more.first().waitFor();
		const letters = () => page.evaluate(() => document.body.innerText.length);
		const shown = await letters();
		expect(shown).toBeLessThan(200_000);
		await more.first().click();
		await eventually(letters).toBeGreaterThan(shown);
		expect(await letters()).toBeLessThan(400_000);
		const wider = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
		await eventually(wider).toBeLessThanOrEqual(0);

		// The turns of the Cost view are named by the same messages.
		await page.getByRole("link", { name: "Cost", exact: true }).click();
		const turns = page.getByRole("region", { name: "Turns", exact: true });
		await turns.getByText("hostile <img src=x onerror=").waitFor();
		await eventually(() => turns.locator("tbody tr").count()).toBe(3);
		expect(await letters()).toBeLessThan(20_000);
		expect(await turns.locator("img, script, iframe, object, embed, b").count()).toBe(0);
		expect(await page.evaluate(() => (globalThis as { pwned?: number }).pwned)).toBeUndefined();
		await eventually(wider).toBeLessThanOrEqual(0);
		await expectAccessible(page);
		expect(faults).toEqual([]);
	});

	test("a session of five thousand entries draws few rows and scrolls through all of them", async () => {
		const said = Array.from({ length: 1250 }, (_, at) => [
			{ role: "user" as const, text: `Question ${at}: what about file ${at}?` },
			{
				role: "assistant" as const,
				text: `Looking at ${at}. ${"Some words. ".repeat(at % 40)}`,
				call: { name: "read", path: `src/file-${at}.ts` },
			},
			{ role: "toolResult" as const, text: `content of ${at}\n`.repeat(at % 60) },
			{
				role: "assistant" as const,
				text: `Answer ${at}.\n\n- one\n- two\n\n\`\`\`ts\nconst x = ${at};\n\`\`\``,
			},
		]).flat();
		strata.writeSession("longest", sessionLines(said));
		const { page, faults } = await strata.openStored("Question 0");
		await page.getByText("Answer 1249.").waitFor();
		expect(await rowCount(page)).toBeLessThanOrEqual(150);
		const count = () => page.getByRole("article").last().getAttribute("aria-setsize");
		await eventually(async () => Number(await count())).toBeGreaterThanOrEqual(5000);

		const { frames, slow, workMs, most } = await scrollUp(page);
		console.log(
			`5,000 entries: ${frames} frames of a screen each, ${workMs.toFixed(1)} ms of work a frame, ${slow} frames over 50 ms, ${most} rows drawn at most`,
		);
		expect(most).toBeLessThanOrEqual(150);
		await top(page);
		await page.getByText("Question 0: what about file 0?").waitFor();

		// The visible row keeps its place, whatever heights were estimated above.
		await page.getByRole("region", { name: "Messages" }).evaluate((list) => {
			list.scrollTop = list.scrollHeight / 2;
		});
		await passFrames(page);
		const before = await firstInView(page);
		await page.setViewportSize({ width: 900, height: 700 });
		await eventually(() => page.evaluate(() => innerWidth)).toBe(900);
		await passFrames(page);
		expect(await firstInView(page)).toBe(before);
		expect(faults).toEqual([]);
	});
});

const rowCount = (page: Page) => page.getByRole("article").count();

async function top(page: Page): Promise<void> {
	await page.getByRole("region", { name: "Messages" }).evaluate(async (list) => {
		for (let tries = 0; tries < 20 && list.scrollTop > 0; tries++) {
			list.scrollTop = 0;
			await new Promise((resolve) => requestAnimationFrame(resolve));
		}
	});
}

/** The row at the upper edge of the list. */
function firstInView(page: Page): Promise<string | null> {
	return page.getByRole("region", { name: "Messages" }).evaluate((list) => {
		const edge = list.getBoundingClientRect().top;
		const rows = [...list.querySelectorAll("article")];
		return rows.find((row) => row.getBoundingClientRect().bottom > edge)?.dataset.key ?? null;
	});
}

/** Scrolls up one screen per frame, and measures the frames: time in scripts, styles and layout. */
async function scrollUp(page: Page) {
	const cdp = await page.context().newCDPSession(page);
	await cdp.send("Performance.enable");
	const before = await workOf(cdp);
	const list = page.getByRole("region", { name: "Messages" });
	const seen = await list.evaluate(async (element) => {
		const times: number[] = [];
		let most = 0;
		let last = performance.now();
		while (times.length < 300 && element.scrollTop > 0) {
			element.scrollTop -= element.clientHeight;
			await new Promise((resolve) => requestAnimationFrame(resolve));
			const now = performance.now();
			times.push(now - last);
			last = now;
			most = Math.max(most, element.querySelectorAll("article").length);
		}
		return { frames: times.length, slow: times.filter((ms) => ms > 50).length, most };
	});
	return { ...seen, workMs: ((await workOf(cdp)) - before) / seen.frames };
}

async function workOf(cdp: CDPSession): Promise<number> {
	const { metrics } = await cdp.send("Performance.getMetrics");
	const counted = metrics.filter(({ name }) => /^(Script|Layout|RecalcStyle)Duration$/.test(name));
	return counted.reduce((sum, { value }) => sum + value * 1000, 0);
}
