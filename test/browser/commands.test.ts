import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { browserPath, expectAccessible } from "../support/browser.ts";
import { sessionLines } from "./session-lines.ts";
import { eventually, hasFocus, promptBox, useStrata } from "./strata-server.ts";
import { passFrames } from "./watch-frames.ts";

const list = (page: Page) => page.getByRole("listbox", { name: "Commands" });
const options = (page: Page) => list(page).getByRole("option");
/** The option that the prompt box says is chosen. */
const chosen = (page: Page) =>
	promptBox(page).evaluate((box) => {
		const id = box.getAttribute("aria-activedescendant");
		const option = id === null ? null : document.getElementById(id);
		return option?.getAttribute("aria-selected") === "true" ? option.textContent : null;
	});

describe.skipIf(browserPath === undefined)("commands in the prompt box", () => {
	const strata = useStrata();
	const open = async (name: string, options?: Parameters<typeof strata.openStored>[1]) => {
		strata.writeSession(name, sessionLines([{ role: "user", text: `stored ${name}` }]));
		return strata.openStored(`stored ${name}`, options);
	};

	test("are proposed after a slash, chosen by arrows and taken by Tab or Enter", async () => {
		const { page, faults } = await open("keys");
		const box = promptBox(page);
		await box.focus();
		// The rest of the form is laid out.
		await page.getByLabel("Model").waitFor();
		await page.getByText("one\ntwo").waitFor();
		const before = await page.getByRole("form", { name: "Prompt" }).boundingBox();
		await page.keyboard.type("/");
		await list(page).waitFor();
		await eventually(() => page.getByRole("form", { name: "Prompt" }).boundingBox()).toEqual(
			before,
		);
		await expectAccessible(page);
		await eventually(() => box.getAttribute("role")).toBe("combobox");
		await eventually(() => box.getAttribute("aria-expanded")).toBe("true");
		await eventually(() => box.getAttribute("aria-controls")).toBe(
			await list(page).getAttribute("id"),
		);

		await page.keyboard.type("ren");
		await eventually(() => options(page).allInnerTexts()).toHaveLength(2);
		await eventually(() => chosen(page)).toContain("/rename");
		await eventually(() => chosen(page)).toContain("names the session");
		await page.keyboard.press("ArrowDown");
		await eventually(() => chosen(page)).toContain("/renew");
		await page.keyboard.press("ArrowDown");
		await eventually(() => chosen(page)).toContain("/rename");
		await page.keyboard.press("ArrowUp");
		await eventually(() => chosen(page)).toContain("/renew");
		await page.keyboard.press("ArrowUp");
		await page.keyboard.press("Tab");
		await eventually(() => box.inputValue()).toBe("/rename ");
		await list(page).waitFor({ state: "detached" });
		await eventually(() => box.getAttribute("role")).toBeNull();
		await page.keyboard.type("by keys");
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { name: "by keys" }).waitFor();

		await page.keyboard.type("/as");
		await list(page).waitFor();
		await page.keyboard.press("Enter");
		await eventually(() => box.inputValue()).toBe("/ask ");
		expect(faults).toEqual([]);
	});

	test("leave the caret where the user types, however late the next frame is", async () => {
		const { page, faults } = await open("caret");
		const box = promptBox(page);
		await box.focus();
		await page.keyboard.type("/ren");
		await list(page).waitFor();
		await page.evaluate(() => {
			const held: FrameRequestCallback[] = [];
			const { requestAnimationFrame: real } = window;
			window.requestAnimationFrame = (work) => held.push(work);
			Object.assign(window, {
				releaseFrames() {
					window.requestAnimationFrame = real;
					for (const work of held) work(performance.now());
				},
			});
		});
		await page.keyboard.press("Tab");
		await page.keyboard.type("by");
		await page.evaluate(() => (window as unknown as { releaseFrames(): void }).releaseFrames());
		await page.keyboard.type(" keys");
		await eventually(() => box.inputValue()).toBe("/rename by keys");
		expect(faults).toEqual([]);
	});

	test("that are typed in full are sent by one Enter", async () => {
		const { page, faults } = await open("full");
		await promptBox(page).focus();
		await page.keyboard.type("/tell");
		await list(page).waitFor();
		await page.keyboard.press("Enter");
		await page.getByRole("status").getByText("look").waitFor();
		expect(faults).toEqual([]);
	});

	test("of ours are answered in the conversation at once, in columns, and after a reload, too", async () => {
		const said = Array.from({ length: 60 }, (_, at) => `stored report ${at}`);
		strata.writeSession("report", sessionLines(said.map((text) => ({ role: "user", text }))));
		const { page, faults } = await strata.openStored("stored report 0");
		const messages = page.getByRole("region", { name: "Messages" });
		// A reader further up is scrolled to the answer.
		await messages.evaluate((list) => list.scrollTo({ top: 0 }));
		await page.getByText("stored report 1", { exact: true }).waitFor();
		await promptBox(page).fill("/strata");
		await promptBox(page).press("Enter");
		const report = messages.getByRole("region", { name: "strata" });
		await report.waitFor();
		await eventually(async () => {
			const [place, room] = await Promise.all([report.boundingBox(), messages.boundingBox()]);
			if (!place || !room) return undefined;
			return { above: room.y - place.y, below: place.y + place.height - room.y - room.height };
		}).toSatisfy((over) => over !== undefined && over.above <= 0 && over.below <= 0);
		const text = await report.innerText();
		expect(text).toMatch(/^on {3}read cache {2}/m);
		const looks = await report.locator("pre").evaluate((pre) => {
			const { fontFamily, whiteSpace } = getComputedStyle(pre);
			return { isMono: fontFamily.includes("mono"), whiteSpace };
		});
		expect(looks).toEqual({ isMono: true, whiteSpace: "pre" });
		await expectAccessible(page);
		// It is reported only once.
		await passFrames(page);
		expect(await page.locator(".toast").count()).toBe(0);

		await page.reload();
		await report.waitFor();
		await eventually(() => report.innerText()).toBe(text);
		await page.setViewportSize({ width: 360, height: 640 });
		await report.waitFor();
		await eventually(() =>
			page.evaluate(() => document.documentElement.scrollWidth),
		).toBeLessThanOrEqual(360);
		expect(faults).toEqual([]);
	});

	test("go away with Escape until another word is begun, or with the focus", async () => {
		const { page, faults } = await open("escape");
		const box = promptBox(page);
		await box.focus();
		await page.keyboard.type("/a");
		await list(page).waitFor();
		await page.keyboard.press("Escape");
		await list(page).waitFor({ state: "detached" });
		await eventually(() => box.inputValue()).toBe("/a");
		await eventually(() => box.getAttribute("aria-expanded")).toBe("false");
		await page.keyboard.type("s");
		await eventually(() => box.inputValue()).toBe("/as");
		await passFrames(page);
		expect(await list(page).count()).toBe(0);
		await page.keyboard.press("ArrowDown");
		await eventually(() => chosen(page)).toContain("/ask");
		await page.getByLabel("Model").focus();
		await list(page).waitFor({ state: "detached" });
		await box.fill("");
		await page.keyboard.type("/");
		await list(page).waitFor();
		await box.fill("/no-such-command");
		await list(page).waitFor({ state: "detached" });
		expect(faults).toEqual([]);
	});

	test("are taken by mouse, and fit on a phone", async () => {
		const { page, faults } = await open("mouse", { viewport: { width: 360, height: 640 } });
		const box = promptBox(page);
		await box.focus();
		await page.keyboard.type("/");
		await list(page).waitFor();
		const place = await list(page).boundingBox();
		expect(place?.x).toBeGreaterThanOrEqual(0);
		expect((place?.x ?? 0) + (place?.width ?? 0)).toBeLessThanOrEqual(360);
		expect(place?.y).toBeGreaterThanOrEqual(0);
		await expectAccessible(page);
		await options(page).filter({ hasText: "/rename" }).click();
		await eventually(() => box.inputValue()).toBe("/rename ");
		await eventually(() => hasFocus(box)).toBe(true);
		expect(faults).toEqual([]);
	});

	test("are asked for once, until the session may have others", async () => {
		const { page, faults } = await open("once");
		const asked: string[] = [];
		const context = page.context();
		const counted = await context.newPage();
		counted.on("websocket", (socket) =>
			socket.on("framesent", ({ payload }) => {
				if (String(payload).includes('"get_commands"')) asked.push(String(payload));
			}),
		);
		await counted.goto(strata.server.url);
		await counted.goto(page.url());
		const box = promptBox(counted);
		await box.waitFor();
		await box.fill("no command");
		expect(asked).toHaveLength(0);
		for (const text of ["/", "/t", "/", "", "/te"]) {
			await box.fill(text);
			await passFrames(counted);
		}
		await list(counted).waitFor();
		await counted.getByRole("link", { name: "Context", exact: true }).click();
		await counted.getByRole("link", { name: "Conversation", exact: true }).click();
		await box.fill("/a");
		await list(counted).waitFor();
		await eventually(() => asked.length).toBe(1);

		await box.fill("/renew");
		await box.press("Enter");
		await counted.getByText("stored once").waitFor({ state: "detached" });
		expect(asked).toHaveLength(1);
		await box.fill("/a");
		await list(counted).waitFor();
		await eventually(() => asked.length).toBe(2);
		expect(faults).toEqual([]);
	});

	test("of a slow server keep nobody from typing and sending", async () => {
		const { page: first } = await open("slow");
		const page = await first.context().newPage();
		let answer: (() => void) | undefined;
		const held = new Set<string>();
		await page.routeWebSocket(/^ws:/, (socket) => {
			const server = socket.connectToServer();
			socket.onMessage((message) => {
				const { type, id } = JSON.parse(String(message));
				if (type === "get_commands") held.add(id);
				server.send(message);
			});
			server.onMessage((message) => {
				const isHeld = held.has(JSON.parse(String(message)).id);
				if (isHeld) answer = () => socket.send(message);
				else socket.send(message);
			});
		});
		await page.goto(strata.server.url);
		await page.goto(first.url());
		const box = promptBox(page);
		await box.click();
		await page.keyboard.type("/rename while it waits");
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { name: "while it waits" }).waitFor();
		await page.keyboard.type("/ren");
		await eventually(() => answer !== undefined).toBe(true);
		await passFrames(page);
		expect(await list(page).count()).toBe(0);
		answer?.();
		await list(page).waitFor();
		await eventually(() => box.inputValue()).toBe("/ren");
	});
});
