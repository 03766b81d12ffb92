import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { Data } from "../../src/protocol/index.ts";
import { SESSION_ID, STATE } from "../dashboard/views/sample-answers.ts";
import type { ViewServer } from "../dashboard/views/view-server.ts";
import { browserPath, expectAccessible } from "../support/browser.ts";
import { atEnd } from "../support/temp.ts";
import { eventually } from "./strata-server.ts";
import { ADDRESSES, figures, useViews, VIEWS, type View } from "./view-pages.ts";
import { passFrames } from "./watch-frames.ts";

describe.skipIf(browserPath === undefined)("when things go wrong", () => {
	const pages = useViews();
	const { open, start } = pages;

	/** Answers every command with this, except for the session itself in its views. */
	function answerAll(server: ViewServer, view: View, answer: unknown): void {
		for (const type of Object.keys(server.answers)) {
			if (type === "subscribe") continue;
			if (view !== "conversation" && /^get_(state|entries|session_stats)$/.test(type)) continue;
			(server.answers as Record<string, unknown>)[type] = answer;
		}
	}

	test("an answer that takes longer than the session is quiet arrives all the same", async () => {
		const { page, server } = await open("context");
		const context = server.answers.get_context_view as Data<"ContextView">;
		let asked = 0;
		server.answers.get_context_view = async () => {
			const cachedTokens = ++asked;
			await new Promise((resolve) => setTimeout(resolve, 600));
			return { ...context, cachedTokens };
		};
		const timer = setInterval(
			() => server.say(SESSION_ID, { type: "turn_end", message: {}, toolResults: [] } as never),
			100,
		);
		atEnd(() => clearInterval(timer));
		/** Which answer it is; none of these while it is the one from before. */
		const shown = async () => Number((await figures(page))["Cached in the last request"]);
		await eventually(shown).toBeGreaterThanOrEqual(1);
		await eventually(shown).toBeGreaterThanOrEqual(2);
		clearInterval(timer);
		await eventually(async () => asked - (await shown())).toBe(0);
	});

	test("what the server refuses is said in every view, and can be asked for again", async () => {
		const server = await start();
		const right = { ...server.answers };
		const { page, faults } = await open("sessions", { server });
		const alert = page.getByRole("alert").filter({ hasText: "The disk is full." });
		for (const view of VIEWS) {
			answerAll(server, view, new Error("The disk is full."));
			await show(page, view);
			await alert.first().waitFor();
			if (view === "cost") await expectAccessible(page);
			Object.assign(server.answers, right);
			const again = alert.getByRole("button", { name: "Try again" }).first();
			const leftOver = async () => {
				// A polled answer needs no button, or has already lost it.
				if ((await again.count()) > 0) await again.click({ timeout: 2_000 }).catch(() => {});
				return await alert.count();
			};
			await eventually(leftOver, view).toBe(0);
		}
		expect(faults).toEqual([]);
	});

	test("answers without what they should have break no more than the view that needs it", async () => {
		const server = await start();
		const right = { ...server.answers };
		const { page } = await open("sessions", { server });
		for (const view of VIEWS) {
			Object.assign(server.answers, right);
			answerAll(server, view, {});
			await show(page, view);
			await page.getByRole("alert").first().waitFor();
			await page.getByText("Connected").waitFor();
		}
	});

	test("a page that could not be drawn is drawn when another is asked for", async () => {
		const server = await start();
		const right = server.answers.get_context_view as Data<"ContextView">;
		server.answers.get_context_view = {} as Data<"ContextView">;
		const { page } = await open("context", { server });
		const alert = page.getByRole("alert").filter({ hasText: "This could not be displayed" });
		await alert.waitFor();
		await page.getByRole("link", { name: "Cost", exact: true }).click();
		await page.getByRole("region", { name: "Working set", exact: true }).waitFor();
		await eventually(() => alert.count()).toBe(0);
		server.answers.get_context_view = right;
		await page.getByRole("link", { name: "Context", exact: true }).click();
		await page.getByRole("region", { name: "Pieces of the context" }).waitFor();
	});

	test("a view that is first shown while the server is away is shown all the same", async () => {
		const { page, context, server } = await open("sessions");
		await page.waitForLoadState("networkidle");
		await context.route("**/assets/**", (route) => route.abort());
		server.drop();
		for (const heading of ["Server", "Replay"]) {
			await page.getByRole("link", { name: heading, exact: true }).click();
			await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
		}
	});

	test("a view that could not be loaded is there after a reload, which costs no words", async () => {
		const server = await start();
		const { page, context } = await open("sessions", { server });
		await context.route("**/assets/*-view-*.js", (route) => route.abort());
		await page.reload();
		const toCost = async () => {
			await page.evaluate((to) => location.assign(to), ADDRESSES.conversation);
			await page.getByRole("textbox", { name: "Message" }).fill("not sent yet");
			await page.getByRole("link", { name: "Cost", exact: true }).click();
			await page.getByRole("alert").filter({ hasText: "could not be loaded" }).waitFor();
			await page.getByText("Connected").waitFor();
		};
		const expectCost = async () => {
			await page.getByRole("region", { name: "Working set", exact: true }).waitFor();
			await page.getByRole("link", { name: "Conversation", exact: true }).click();
			const box = page.getByRole("textbox", { name: "Message" });
			await eventually(() => box.inputValue()).toBe("not sent yet");
		};
		await toCost();
		await expectAccessible(page);
		await context.unrouteAll();
		await page.getByRole("button", { name: "Reload the page" }).click();
		await expectCost();

		await context.route("**/assets/*-view-*.js", (route) => route.abort());
		await page.reload();
		await toCost();
		await context.unrouteAll();
		// It comes back by itself when the server does.
		server.drop();
		await expectCost();
	});

	test("a hundred thousand pieces and five thousand requests are drawn in few elements", async () => {
		const server = await start();
		const context = server.answers.get_context_view as Data<"ContextView">;
		const cost = server.answers.get_cost as { requests: Data<"CostRequest">[]; totals: object };
		const repeat = <One>(list: readonly One[], length = 5_000) =>
			Array.from({ length }, (_, at) => list[at % list.length] as One);
		const pieces = repeat(context.pieces, 100_000).map((piece, at) => ({ ...piece, id: `p${at}` }));
		const history = repeat(context.history).map((moment, at) => ({ ...moment, request: at + 1 }));
		server.answers.get_context_view = { ...context, pieces, history };
		const turns = repeat((server.answers.get_cost as Data<"Cost">).turns ?? [], 500);
		const numbered = turns.map((turn, at) => ({ ...turn, turn: at + 1 }));
		server.answers.get_cost = {
			...cost,
			requests: repeat(cost.requests),
			turns: numbered,
		} as never;
		const answer = server.answers.get_usage as unknown as (sent: object) => Data<"UsageReport">;
		const usage = answer({ days: 60 });
		const rows = repeat(usage.rows, 10_000).map((row, at) => ({ ...row, project: `/p/${at}` }));
		server.answers.get_usage = { ...usage, rows };
		const { page, faults } = await open("context", { server });
		await page.getByText("Show more (99,950 left)").click();
		await page.getByText("Show more (99,750 left)").waitFor();
		const elements = () => page.locator("main *").count();
		expect(await elements()).toBeLessThan(8_000);
		await page.getByRole("slider").focus();
		await page.keyboard.press("End");
		const at = () => page.getByRole("slider").getAttribute("aria-valuenow");
		await eventually(at).toBe("100000");
		await page.getByRole("link", { name: "Cost", exact: true }).click();
		await page.getByRole("region", { name: "Misses", exact: true }).waitFor();
		await page.getByText(/^And \d+ more\.$/).waitFor();
		await page.getByText("Show more (480 left)").waitFor();
		await eventually(elements).toBeLessThan(2_000);
		await page.getByRole("link", { name: "Usage", exact: true }).click();
		await page.getByRole("button", { name: "Project", exact: true }).click();
		await page.getByText("Show more (9,969 left)").waitFor();
		await eventually(elements).toBeLessThan(2_000);
		expect(faults).toEqual([]);
	});

	test("a session that is deleted while a view of it is shown says so and leads away", async () => {
		const { page, server, faults } = await open("cost");
		server.announce({ type: "session_deleted", data: { sessionId: SESSION_ID } });
		await page.getByText("Session “s1” no longer exists.").waitFor();
		await page.getByRole("link", { name: "All sessions" }).press("Enter");
		await page.getByRole("heading", { name: "Sessions" }).waitFor();
		expect(faults).toEqual([]);
	});

	test("what waits for an answer is asked for once, however often it is clicked on", async () => {
		const { page, server, faults } = await open("conversation");
		const base = { parentId: null, type: "message", timestamp: "" };
		const nodes = [{ ...base, id: "u1", role: "user", preview: "where it forks" }];
		server.answers.get_tree = { nodes, leafId: null } as never;
		const forked = Promise.withResolvers<never>();
		server.answers.fork = () => forked.promise;
		const asked = () => server.sent.filter(({ type }) => type === "fork").length;
		await page.getByRole("button", { name: "Tree" }).click();
		const fork = page.getByRole("dialog").getByRole("button", { name: "Fork" });
		await fork.click();
		await eventually(() => fork.getAttribute("aria-disabled")).toBe("true");
		// What a person does who sees nothing happen.
		await fork.focus();
		await page.keyboard.press("Enter");
		await fork.dispatchEvent("click");
		forked.resolve({ cancelled: false, text: "where it forks" } as never);
		await page.getByRole("dialog").waitFor({ state: "detached" });
		expect(asked()).toBe(1);
		expect(faults).toEqual([]);
	});

	test("a token that is taken away ends in a place to enter another", async () => {
		const { page, server, faults } = await open("server");
		server.refuse();
		await page.getByText("Not connected: the token is not valid.").waitFor();
		await page.getByLabel("Token").waitFor();
		await expectAccessible(page);
		expect(faults).toEqual([]);
	});

	test.each([-400, 400])("a clock that is %d days off shows no nonsense", async (days) => {
		const { page } = await open("cost");
		await page.clock.setFixedTime(Date.now() + days * 86_400_000);
		for (const [view, table] of [
			["Context", "Pieces of the context"],
			["Cost", "Misses"],
			["Server", "The latest commands"],
			["Replay", "Session files"],
		] as const) {
			await page.getByRole("link", { name: view, exact: true }).click();
			await page.getByRole("region", { name: table, exact: true }).waitFor();
			const text = () => page.locator("main").textContent();
			await eventually(text).toContain(days > 0 ? "13 mo ago" : "just now");
			expect(await text()).not.toMatch(/NaN|Infinity|undefined|[-−]\d+ (ms|s|min|h|d|mo|y)\b/);
		}
	});

	test("a model and how hard it thinks are chosen, and shown when the server has taken them", async () => {
		const { page, server } = await open("conversation");
		await page.getByRole("combobox", { name: "Model" }).selectOption("demo/other");
		await page.getByRole("combobox", { name: "Thinking" }).selectOption("high");
		const sent = (type: string) => server.sent.find((one) => one.type === type);
		await eventually(() => sent("set_model")).toMatchObject({ provider: "demo", modelId: "other" });
		await eventually(() => sent("set_thinking_level")).toMatchObject({ level: "high" });
		const models = server.answers.get_available_models as { models: (typeof STATE.model)[] };
		const [, other] = models.models;
		server.answers.get_state = { ...STATE, thinkingLevel: "high", ...(other && { model: other }) };
		const data = { commandId: "c", sessionId: SESSION_ID, dependsOn: [], success: true };
		server.announce({ type: "command_finished", data: { ...data, commandType: "set_model" } });
		await page.getByRole("link", { name: "Cost", exact: true }).click();
		await page.getByRole("link", { name: "Conversation", exact: true }).click();
		const chosen = (name: string) => page.getByRole("combobox", { name }).inputValue();
		await eventually(() => chosen("Model")).toBe("demo/other");
		await eventually(() => chosen("Thinking")).toBe("high");
	});

	test.each([1280, 360])(
		"notices on a screen of %d px cover nothing to click on",
		async (width) => {
			const { page, server } = await open("conversation", { viewport: { width, height: 700 } });
			const words = "A notice of some length, such as extensions give when something needs a look.";
			const notice = { type: "extension_ui_request", method: "notify", message: words } as const;
			server.say(SESSION_ID, { ...notice, requestId: "n1", notifyType: "warning" });
			server.say(SESSION_ID, { ...notice, requestId: "n2", notifyType: "error" });
			await eventually(() => page.locator(".toast").count()).toBe(2);
			const covered = () =>
				page.evaluate(() => {
					const boxes = [...document.querySelectorAll(".toast")].map((it) =>
						it.getBoundingClientRect(),
					);
					const controls = [...document.querySelectorAll("a, button, select, textarea, input")];
					return controls
						.filter((control) => !control.closest(".toast") && !control.matches(".skip"))
						.filter((control) => {
							const { left, right, top, bottom } = control.getBoundingClientRect();
							return boxes.some(
								(box) =>
									box.left < right && box.right > left && box.top < bottom && box.bottom > top,
							);
						})
						.map((control) => control.textContent || control.ariaLabel);
				});
			await eventually(covered).toEqual([]);
			// Also when the box grows with its text.
			await page.getByRole("textbox", { name: "Message" }).fill("line\n".repeat(12));
			await eventually(covered).toEqual([]);
			await page.getByRole("button", { name: "Dismiss" }).first().click();
			await eventually(() => page.locator(".toast").count()).toBe(1);
		},
	);

	test("statuses keep their places, whichever comes first", async () => {
		const { page, server } = await open("conversation");
		const request = { type: "extension_ui_request", requestId: "s", method: "setStatus" } as const;
		for (const key of ["strata", "kota", "pruning"]) {
			server.say(SESSION_ID, { ...request, statusKey: key, statusText: `of ${key}` });
		}
		const shown = () => page.getByRole("list", { name: "Extension status" }).innerText();
		await eventually(shown).toMatch(/of kota\s+of pruning\s+of strata/);
	});

	test("a compaction can be stopped while it runs, and leaves its summary", async () => {
		const { page, server } = await open("conversation");
		server.say(SESSION_ID, { type: "compaction_start", reason: "manual" });
		await page.getByRole("button", { name: "Stop compacting" }).click();
		await eventually(() => server.sent.some(({ type }) => type === "abort_compaction")).toBe(true);
		const result = {
			summary: "We fixed the journal.",
			firstKeptEntryId: "e",
			tokensBefore: 90_000,
		};
		const event = { type: "compaction_end", reason: "manual", aborted: false, willRetry: false };
		server.say(SESSION_ID, { ...event, result } as never);
		await page.getByRole("button", { name: /90k/ }).click();
		await page.getByText("We fixed the journal.").waitFor();
		await eventually(() => page.getByRole("button", { name: "Stop compacting" }).count()).toBe(0);
	});

	test("all of it is reached by keyboard, and nothing moves for who wants no motion", async () => {
		const { page, server } = await open("sessions", { reducedMotion: "reduce" });
		server.answers.list_sessions = { sessions: [{ ...STATE, isStreaming: true }] };
		await page.reload();
		await page.getByText("Working").waitFor();
		await eventually(() => page.evaluate(() => document.getAnimations().length)).toBe(0);
		await page.keyboard.press("Tab");
		await page.keyboard.press("Enter");
		await eventually(() => focused(page)).toBe("main");
		await tabTo(page, /^Sample/);
		await page.keyboard.press("Enter");
		await page.getByRole("link", { name: "Context", exact: true }).waitFor();
		await tabTo(page, /^Context$/);
		await page.keyboard.press("Enter");
		await page.getByRole("region", { name: "Pieces of the context" }).waitFor();
		await tabTo(page, /^system prompt$/);
		await page.keyboard.press("Enter");
		await page.getByRole("dialog").waitFor();
		await page.keyboard.press("Escape");
		await page.getByRole("dialog").waitFor({ state: "detached" });
		await eventually(() => focused(page)).toBe("system prompt");
	});

	test("on a phone what is around a file can be read, and what scrolls shows that it does", async () => {
		const { page } = await open("code", { viewport: { width: 360, height: 740 } });
		const graph = page.getByRole("region", { name: "Dependency graph" });
		const needed = graph.getByRole("button", { name: "src/core/hash.ts" });
		await eventually(async () => {
			const [inner, outer] = await Promise.all([needed.boundingBox(), graph.boundingBox()]);
			if (!inner || !outer) return undefined;
			return { left: outer.x - inner.x, right: inner.x + inner.width - outer.x - outer.width };
		}).toSatisfy((over) => over !== undefined && over.left <= 0 && over.right <= 0);
		await page.getByRole("heading", { name: "Depends on" }).waitFor();
		const hint = (element: Element) => getComputedStyle(element).backgroundAttachment;
		await eventually(() => graph.evaluate(hint)).toContain("local");
		await page.evaluate((to) => location.assign(to), ADDRESSES.server);
		const table = page.getByRole("region", { name: "The latest commands" });
		await eventually(() => table.evaluate(hint)).toContain("local");
	});

	test("the name of a session is whole before its folder takes room", async () => {
		const server = await start();
		const named = { ...STATE, sessionName: "shop-SBmrnB", cwd: `/home/me/${"folder/".repeat(20)}` };
		server.answers.get_state = named;
		const { page } = await open("conversation", { server, viewport: { width: 640, height: 700 } });
		const name = page.getByRole("button", { name: "shop-SBmrnB" });
		await name.waitFor();
		const cut = () => name.evaluate((it) => it.scrollWidth - it.clientWidth);
		await eventually(cut).toBe(0);
		server.answers.get_state = { ...named, sessionName: "long ".repeat(40) };
		await page.reload();
		await page.getByRole("button", { name: "long long" }).waitFor();
		await eventually(() => widerBy(page)).toBe(0);
	});

	test("a tab says which session it shows and whether that works; a list tells sessions of one folder apart", async () => {
		const server = await start();
		const { sessionName: _, ...unnamed } = { ...STATE, cwd: "/home/me/shop", messageCount: 5_000 };
		server.answers.get_state = unnamed;
		server.answers.list_sessions = { sessions: [unnamed, { ...unnamed, sessionId: "s2" }] };
		const stored = server.answers.list_stored_sessions as { sessions: Data<"StoredSession">[] };
		const [one] = stored.sessions;
		if (!one) throw new Error("no stored session");
		server.answers.list_stored_sessions = {
			sessions: [
				{ ...one, sessionId: SESSION_ID, firstMessage: "find the slow order" },
				{ ...one, sessionId: "s2", firstMessage: "write the tests" },
			],
		};
		const { page } = await open("conversation", { server });
		await eventually(() => page.title()).toBe("shop · strata");
		server.say(SESSION_ID, { type: "agent_start" });
		await eventually(() => page.title()).toBe("● shop · strata");
		await page.getByRole("link", { name: "Sessions", exact: true }).click();
		await eventually(() => page.title()).toBe("strata");
		await page.getByRole("row", { name: /write the tests/ }).waitFor();
		await page.getByRole("row", { name: /find the slow order.*5,000/ }).waitFor();
		const asked = server.sent.filter(({ type }) => type === "list_stored_sessions");
		expect(asked).toHaveLength(1);
	});

	test("at twice the size nothing is cut off", async () => {
		const { page } = await open("context", {
			viewport: { width: 640, height: 400 },
			deviceScaleFactor: 2,
		});
		for (const view of ["Context", "Cost", "Code", "Conversation", "Server", "Replay"]) {
			await page.getByRole("link", { name: view, exact: true }).first().click();
			const region = page.getByRole("region", { name: view, exact: true });
			await region
				.or(page.getByRole("heading", { name: view, level: 1 }))
				.first()
				.waitFor();
			await passFrames(page);
			await eventually(() => widerBy(page), view).toBe(0);
			if (view === "Conversation") {
				const bottom = async () => {
					const box = await page.getByRole("textbox", { name: "Message" }).boundingBox();
					return box && box.y + box.height;
				};
				await eventually(bottom).toBeLessThanOrEqual(400);
			}
		}
	});
});

/** Goes to a view as a link would, and submits its form if it has one. */
async function show(page: Page, view: View): Promise<void> {
	// Via a page that sends no commands, so that the view is rebuilt.
	await page.evaluate(() => location.assign("#/sessions/other/nothing"));
	await page.getByText("This view does not exist.").waitFor();
	await page.evaluate((to) => location.assign(to), ADDRESSES[view]);
	if (view !== "code") return;
	await page.getByRole("searchbox").fill("journal");
	await page.keyboard.press("Enter");
}

/** The pixels by which a page is wider than its window. */
function widerBy(page: Page): Promise<number> {
	return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
}

/** The text, or else the id, of the focused element. */
function focused(page: Page): Promise<string> {
	return page.evaluate(() => {
		const element = document.activeElement;
		return element?.id || (element?.textContent ?? "");
	});
}

/** Presses Tab until something of this name has the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
	for (let presses = 0; presses < 80; presses++) {
		if (name.test(await focused(page))) return;
		await page.keyboard.press("Tab");
	}
	throw new Error(`${name} cannot be reached by Tab`);
}
