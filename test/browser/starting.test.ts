import { describe, expect, test } from "vitest";
import type { Data } from "../../src/protocol/index.ts";
import { SESSION_ID, STATE } from "../dashboard/views/sample-answers.ts";
import { browserPath, expectAccessible } from "../support/browser.ts";
import { eventually, hasFocus } from "./strata-server.ts";
import { useViews } from "./view-pages.ts";

describe.skipIf(browserPath === undefined)("starting", () => {
	const { open, start } = useViews();
	const opened = { sessionId: SESSION_ID, sessionInfo: STATE };

	test("a session asks for its folder where the server has none for it", async () => {
		const server = await start();
		server.answers.list_sessions = { sessions: [] };
		server.answers.create_session = opened;
		const { page, faults } = await open("sessions", { server });
		await page.getByText("You choose its folder.").waitFor();
		await page.getByRole("button", { name: "Start a session" }).click();
		const dialog = page.getByRole("dialog");
		const folder = dialog.getByLabel("Folder");
		await eventually(() => hasFocus(folder)).toBe(true);
		expect(await folder.inputValue()).toBe("");
		await expectAccessible(page);
		await dialog.getByRole("button", { name: "Start" }).click();
		await eventually(() => folder.evaluate((box) => box.matches(":invalid"))).toBe(true);
		const made = () => server.sent.filter(({ type }) => type === "create_session");
		expect(made()).toEqual([]);
		await folder.fill("/home/me/project");
		await dialog.getByRole("button", { name: "Start" }).click();
		await page.getByRole("textbox", { name: "Message" }).waitFor();
		expect(made()).toMatchObject([{ cwd: "/home/me/project" }]);
		expect(faults).toEqual([]);
	});

	test("a session takes the focus to its dialog before the next key comes, and back", async () => {
		const server = await start();
		server.answers.list_sessions = { sessions: [] };
		const { page } = await open("sessions", { server });
		const button = page.getByRole("button", { name: "Start a session" });
		/** The element with the focus after a click, before the next frame or event. */
		const focusedAfter = (clicked: typeof button) =>
			clicked.evaluate(async (element: HTMLElement) => {
				element.focus();
				element.click();
				for (let turns = 0; turns < 20; turns++) await undefined;
				const { activeElement: focused } = document;
				return focused?.closest("label")?.textContent ?? focused?.textContent;
			});
		await button.waitFor();
		expect(await focusedAfter(button)).toContain("Folder");
		expect(await focusedAfter(page.getByRole("button", { name: "Cancel" }))).toBe(
			"Start a session",
		);
	});

	test("a session says in which folder it begins where the server has one", async () => {
		const server = await start();
		server.answers.list_sessions = { sessions: [], startsIn: { folder: "/srv/work" } };
		server.answers.create_session = opened;
		const { page } = await open("sessions", { server });
		await page.getByText("/srv/work").waitFor();
		await page.getByRole("button", { name: "Start a session" }).click();
		await page.getByRole("textbox", { name: "Message" }).waitFor();
		const made = server.sent.find(({ type }) => type === "create_session");
		expect(made).not.toHaveProperty("cwd");
	});

	test("with a stored session that pi has open says so before and after", async () => {
		const server = await start();
		const stored: Data<"StoredSession"> = {
			...{ sessionPath: "/s/a.jsonl", cwd: "/srv/work", messageCount: 2, fileExists: true },
			...{ createdAt: STATE.createdAt, modifiedAt: STATE.createdAt, firstMessage: "busy in pi" },
			piProcess: 4711,
		};
		server.answers.list_stored_sessions = { sessions: [stored] };
		const warning = "This session is open in pi (process 4711). Here you work on a copy.";
		server.answers.load_session = { ...opened, forkedFrom: stored.sessionPath, warning };
		const { page } = await open("sessions", { server });
		await page.getByRole("button", { name: "Open a stored session" }).click();
		const row = page.getByRole("dialog").getByRole("button", { name: "busy in pi" });
		await eventually(() => row.innerText()).toContain("open in pi (process 4711)");
		await row.click();
		await page.locator(".toast").getByText(warning).waitFor();
		await page.getByRole("textbox", { name: "Message" }).waitFor();
	});

	test("with a session in a terminal follows it, and has no box to write in", async () => {
		const server = await start();
		server.answers.get_state = {
			...STATE,
			sessionFile: "/s/a.jsonl",
			watched: { piProcess: 4711 },
		};
		const { page } = await open("conversation", { server });
		await page.getByText("pi runs there (process 4711)").waitFor();
		await page.getByRole("textbox", { name: "Message" }).waitFor({ state: "hidden" });
		await expectAccessible(page);
		await page.getByRole("button", { name: "Work on a copy" }).click();
		await eventually(async () => server.sent.some(({ type }) => type === "load_session")).toBe(
			true,
		);
		expect(server.sent.find(({ type }) => type === "load_session")).toMatchObject({
			sessionPath: "/s/a.jsonl",
		});
	});

	test("with a token that cannot be sent fails at once, and so does entering one", async () => {
		const server = await start();
		const { page } = await open("sessions", { server });
		await page.evaluate(() => sessionStorage.setItem("strata.token", "two words"));
		await page.reload();
		const alert = page.getByRole("alert");
		await alert.getByText("Not connected: the token cannot be sent").waitFor();
		await page.getByLabel("Token").fill("na\u00efve");
		await page.getByRole("button", { name: "Connect" }).click();
		await alert.getByText("character 3, U+00EF").waitFor();
		await expectAccessible(page);
		await page.getByLabel("Token").fill(" right ");
		await page.getByRole("button", { name: "Connect" }).click();
		await page.getByText("Connected", { exact: true }).waitFor();
	});
});
