import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { formatDifference, formatPrice, short } from "../../src/dashboard/parts/figures.ts";
import { visibleString } from "../../src/dashboard/parts/text.tsx";
import { type Client, createClient } from "../../src/protocol/client.ts";
import type { Data } from "../../src/protocol/index.ts";
import { LONG_TEXT, REPORT, SESSION_ID } from "../dashboard/views/sample-answers.ts";
import { writeAgentFiles } from "../importers/agent-files.ts";
import { browserPath, expectAccessible, openTab } from "../support/browser.ts";
import { atEnd } from "../support/temp.ts";
import { eventually, startStrata } from "./strata-server.ts";
import { ADDRESSES, cells, figures, fill, useViews, VIEWS } from "./view-pages.ts";

describe.skipIf(browserPath === undefined)("the views in a browser", () => {
	const pages = useViews();
	const { open } = pages;

	test("the context view shows the numbers that the protocol sends", async () => {
		const { page, server } = await open("context");
		const context = server.answers.get_context_view as Data<"ContextView">;
		await eventually(() => figures(page)).toMatchObject({
			"In use": short(context.tokens),
			"Cached in the last request": short(context.cachedTokens ?? 0),
			Pieces: String(context.pieces.length),
		});
		const rows = () => cells(page, "Window contents by kind");
		const reads = context.pieces.filter(({ kind }) => kind === "read");
		const tokens = reads.reduce((sum, piece) => sum + piece.tokens, 0);
		await eventually(async () => (await rows()).find(([name]) => name === "Reads")).toEqual([
			"Reads",
			short(tokens),
			"18 %",
			"4 %",
			String(reads.length),
		]);
		const pieces = () => cells(page, "Pieces of the context");
		await eventually(pieces).toHaveLength(context.pieces.length);
		expect((await pieces())[8]?.slice(1, 5)).toEqual([
			"Stubs",
			"read src/store/old.ts",
			"60",
			"8.8k",
		]);
		// Only the view scrolls: the header stays, whatever is scrolled into view.
		const [high = 0, visible = 0] = await page.evaluate(() => {
			const { scrollHeight, clientHeight } = document.documentElement;
			return [scrollHeight, clientHeight];
		});
		expect(high).toBe(visible);
	});

	test("requests have their own numbers over time, though only some of them are told", async () => {
		const { page } = await open("context");
		const chart = page.getByRole("region", { name: "Over time" });
		await eventually(() => chart.textContent()).toContain("Request 200");
		await chart.getByRole("button", { name: "As a table" }).click();
		const requests = async () =>
			(await cells(page, "Tokens of each kind by request")).map(([request]) => request);
		await eventually(async () => (await requests()).slice(0, 2)).toEqual(["5", "10"]);
	});

	test("a piece opens to its text, stretch by stretch, by mouse and by keyboard", async () => {
		const { page } = await open("context");
		await page.getByRole("button", { name: "read src/server/serve.ts" }).click();
		const dialog = page.getByRole("dialog");
		const text = () => dialog.locator(".piece-text pre").allTextContents();
		await eventually(text).toHaveLength(1);
		expect((await text()).join("")).not.toContain("last line");
		await dialog.getByRole("button", { name: /Show more/ }).click();
		await eventually(async () => (await text()).join("")).toBe(visibleString(LONG_TEXT));
		await eventually(() => dialog.getByRole("button", { name: /Show more/ }).count()).toBe(0);
		await page.keyboard.press("Escape");
		await eventually(() => dialog.count()).toBe(0);

		await page.getByRole("slider").focus();
		await page.keyboard.press("End");
		await page.keyboard.press("Home");
		await page.keyboard.press("ArrowRight");
		const pointed = () => page.getByRole("slider").getAttribute("aria-valuetext");
		await eventually(pointed).toContain("11 tools");
		await page.keyboard.press("Enter");
		await eventually(() => dialog.getByRole("heading").textContent()).toContain("11 tools");
	});

	test("a click on the picture opens the piece that is there", async () => {
		const { page } = await open("context");
		const box = await page.getByRole("slider").boundingBox();
		if (!box) throw new Error("the picture has no size");
		await page.mouse.click(box.x + 3, box.y + 10);
		const title = page.getByRole("dialog").getByRole("heading");
		await eventually(() => title.textContent()).toBe("system prompt");
	});

	test("the context view follows the session", async () => {
		const { page, server } = await open("context");
		const context = server.answers.get_context_view as Data<"ContextView">;
		server.answers.get_context_view = { ...context, cachedTokens: 7_654 };
		server.say(SESSION_ID, { type: "turn_end", message: { role: "assistant" }, toolResults: [] });
		await eventually(() => figures(page)).toMatchObject({ "Cached in the last request": "7.7k" });
	});

	test("the cost view shows the numbers that the protocol sends", async () => {
		const { page, server } = await open("cost");
		const { totals } = server.answers.get_cost as Data<"Cost">;
		const against = (other: { dollars?: number }) =>
			formatDifference(totals.cost.dollars ?? 0, other.dollars ?? 0);
		await eventually(() => figures(page)).toMatchObject({
			Prompts: formatPrice(totals.cost),
			"Compared with pi alone": against(totals.appendOnlyCost),
			"Compared with no cache": against(totals.noCacheCost),
			Misses: String(totals.misses),
		});
		const misses = async () =>
			(await cells(page, "Misses")).map(([request, cause]) => [request, cause?.split(" ")[0]]);
		await eventually(misses).toEqual([
			["28", "pruning"],
			["15", "expired"],
		]);
		const savings = server.answers.get_savings as Data<"Savings">;
		const saved = async () => (await cells(page, "Saved by each system"))[0]?.slice(1);
		await eventually(saved).toEqual(["3", short(savings.paging.tokens), "$0.3612"]);
		await eventually(() => cells(page, "Files of the working set")).toHaveLength(4);
	});

	test("charts are painted in the colours of the page, and again when those change", async () => {
		const { page } = await open("cost");
		await eventually(async () => (await colours(page)).size).toBeGreaterThan(4);
		const light = await colours(page);
		await page.emulateMedia({ colorScheme: "dark" });
		await eventually(async () => [...(await colours(page))].some((c) => !light.has(c))).toBe(true);
		const dark = await colours(page);
		await page.getByRole("button", { name: /^Change theme/ }).click();
		await eventually(async () => [...(await colours(page))].some((c) => !dark.has(c))).toBe(true);
	});

	test.each(["context", "cost", "server", "report"] as const)(
		"in the charts of %s no words lie on others, on a phone neither",
		async (view) => {
			for (const width of [1280, 390]) {
				const { page, faults } = await open(view, { viewport: { width, height: 800 } });
				const words = page.locator(".chart svg text");
				await eventually(() => words.count()).toBeGreaterThan(3);
				const overlaps = await page.locator(".chart svg").evaluateAll((pictures) =>
					pictures.flatMap((picture) => {
						const boxes = [...picture.querySelectorAll("text")].map((text) => ({
							text: text.textContent,
							...text.getBoundingClientRect().toJSON(),
						}));
						return boxes.flatMap((one, at) =>
							boxes
								.slice(at + 1)
								.filter(
									(two) =>
										one.left < two.right &&
										two.left < one.right &&
										one.top < two.bottom &&
										two.top < one.bottom,
								)
								.map((two) => `${one.text} on ${two.text}`),
						);
					}),
				);
				expect(overlaps, `${width} pixels wide`).toEqual([]);
				expect(faults).toEqual([]);
			}
		},
	);

	test("code is searched, and what is around a file is reached by keyboard", async () => {
		const { page, server } = await open("code");
		const graph = page.getByRole("region", { name: "Dependency graph" });
		await eventually(() => graph.getByRole("button").count()).toBe(13);
		await eventually(() => graph.textContent()).toContain("and 9 more");
		await graph.getByRole("button", { name: "src/core/hash.ts" }).focus();
		await page.keyboard.press("Enter");
		await eventually(() => graph.locator(".is-middle text").first().textContent()).toBe("hash.ts");
		const deps = () => server.sent.filter(({ type }) => type === "code_deps");
		await eventually(() => deps().at(-1)).toMatchObject({ path: "src/core/hash.ts" });

		await eventually(() => page.getByRole("region", { name: "Usages" }).textContent()).toContain(
			"7 usages, and 2 possible usages in 1 file",
		);
	});

	test("the health of the index is shown before anything is asked, or that there is none", async () => {
		const server = await pages.start();
		const { page } = await open("code", { server });
		await page.getByRole("region", { name: "Index" }).waitFor();
		await eventually(() => figures(page)).toMatchObject({ Files: "412" });
		const notices = { absent: "This project is not indexed yet", partial: "was interrupted" };
		for (const [state, words] of Object.entries(notices)) {
			server.answers.code_status = { state: state as keyof typeof notices };
			await page.reload();
			await page.getByRole("region", { name: "Index" }).getByText(words).waitFor();
		}
		expect(server.sent.filter(({ type }) => /^code_(?!status)/.test(type))).toEqual([]);
		await expectAccessible(page);
		await page.getByRole("searchbox").fill("journal");
		await page.keyboard.press("Enter");
		await eventually(() => figures(page)).toMatchObject({ Files: "412" });
	});

	test("a project that cannot be searched says why", async () => {
		const { page, server } = await open("code");
		server.answers.code_search = new Error("The project is not indexed.");
		await page.getByRole("searchbox").fill("other");
		await page.keyboard.press("Enter");
		await eventually(() => page.getByRole("alert").textContent()).toContain(
			"The project is not indexed.",
		);
	});

	test("the server view asks again and again while it is shown, and no longer", async () => {
		const { page, server } = await open("server");
		const asked = () => server.sent.filter(({ type }) => type === "get_metrics").length;
		await eventually(asked).toBeGreaterThan(2);
		const shown = async () => (await page.locator(".tile").allTextContents()).join("\n");
		await eventually(shown).toContain("Clients2");
		await eventually(shown).toContain("90 % below 3.1 ms, 99 % below 41 ms");
		await eventually(() => page.locator(".spark polyline").count()).toBeGreaterThan(3);
		await eventually(() => cells(page, "The latest commands")).toHaveLength(3);
		await page.goto(server.url + ADDRESSES.replay);
		// The answer that this shows was asked for after the last of the others.
		await page.getByRole("region", { name: "Session files", exact: true }).waitFor();
		const before = asked();
		await page.waitForTimeout(2_500);
		expect(asked()).toBe(before);
	});

	test("a session file that is dropped is sent, and its report shown", async () => {
		const { page, server } = await open("replay");
		const content = '{"type":"session"}\n{"type":"message"}\n';
		await drop(page, { name: "mine.jsonl", content });
		await page.getByRole("region", { name: "Policies" }).waitFor();
		await page.getByText(/^\S+ (less|more) with strata/).waitFor();
		const sent = () => server.sent.filter(({ type }) => type === "replay_session").at(-1);
		await eventually(sent).toMatchObject({ content });
		expect((await cells(page, "Policies")).length).toBeLessThanOrEqual(4);
		await page.getByRole("button", { name: /^Show all \d+ policies/ }).click();
		await eventually(() => ratios(page)).toEqual(
			REPORT.policies.map(({ ratio }) => `${(ratio * 100).toFixed(1)} %`),
		);
		const rows = await cells(page, "Policies");
		const strata = rows.find(([name]) => name?.startsWith("strata"));
		expect(strata?.[0]).toContain("cheapest");
	});

	test("a file that is dropped beside the field is taken, too, and on other pages nothing happens", async () => {
		const { page, server } = await open("replay");
		const content = '{"type":"session"}\n';
		expect(await isLeftToBrowser(page, "dragover", content)).toBe(false);
		expect(await isLeftToBrowser(page, "drop", content)).toBe(false);
		const sent = () => server.sent.filter(({ type }) => type === "replay_session").at(-1);
		await eventually(sent).toMatchObject({ content });
		for (const view of ["conversation", "server"] as const) {
			await page.evaluate((to) => location.assign(to), ADDRESSES[view]);
			await fill(page, view);
			for (const event of ["dragover", "drop"] as const) {
				// The browser would leave the page for the file.
				expect(await isLeftToBrowser(page, event, content)).toBe(false);
				// Words may be dragged into the prompt box.
				expect(await isLeftToBrowser(page, event)).toBe(true);
			}
		}
	});

	test("session files are listed page by page, filtered, and replayed by their ids", async () => {
		const { page, server } = await open("replay");
		const rows = async () => (await cells(page, "Session files")).map(([name]) => name);
		await eventually(rows).toHaveLength(2);
		await page.getByRole("button", { name: "Show more" }).click();
		await eventually(rows).toHaveLength(4);
		expect(await page.getByRole("button", { name: "Show more" }).count()).toBe(0);
		const asked = () => server.sent.filter(({ type }) => type === "list_agent_sessions");
		expect(asked().at(-1)).toMatchObject({ after: "2" });
		await page.getByRole("searchbox").fill("codex");
		await eventually(rows).toEqual([expect.stringContaining("rollout-")]);
		await page.setViewportSize({ width: 400, height: 300 });
		await page.getByRole("button", { name: /^rollout-/ }).click();
		// The report is above the list.
		const top = page.getByRole("heading", { name: "Actual and simulated cost" });
		await eventually(async () => (await top.boundingBox())?.y ?? -1).toBeGreaterThan(0);
		const sent = () => server.sent.filter(({ type }) => type === "replay_session").at(-1);
		await eventually(sent).toMatchObject({ fileId: "f4" });
		await page.getByRole("searchbox").fill("nothing like that");
		await page.getByText("No session file has all of these words").waitFor();
		await page.getByRole("region", { name: "Sessions in this file", exact: true }).waitFor();
		const misses = await cells(page, "Misses of the replayed session");
		expect(misses.map((row) => row.at(-1))).toEqual(["", "tools_changed"]);
		await page.getByText("2 requests missed the cache without a documented cause").waitFor();
	});

	test("a replay that is stopped is aborted, and another can begin", async () => {
		const { page, server } = await open("replay");
		const never = Promise.withResolvers<never>();
		const answer = server.answers.replay_session;
		server.answers.replay_session = () => never.promise;
		await drop(page, { name: "slow.jsonl", content: "x" });
		await page.getByText("Replaying slow.jsonl").waitFor();
		await page.getByRole("button", { name: "Stop" }).click();
		await eventually(() => page.getByText("Replaying slow.jsonl").count()).toBe(0);
		server.answers.replay_session = answer as never;
		await drop(page, { name: "next.jsonl", content: "x" });
		await page.getByText("next.jsonl").waitFor();
		await page.getByRole("region", { name: "Policies" }).waitFor();
	});

	test("a file that is dropped during a replay takes its place", async () => {
		const { page, server } = await open("replay");
		const never = Promise.withResolvers<never>();
		const answer = server.answers.replay_session;
		server.answers.replay_session = () => never.promise;
		await drop(page, { name: "slow.jsonl", content: "x" });
		await page.getByText("Replaying slow.jsonl").waitFor();
		server.answers.replay_session = answer as never;
		await drop(page, { name: "next.jsonl", content: "x" });
		await page.getByText("next.jsonl").waitFor();
		await page.getByRole("region", { name: "Policies" }).waitFor();
		expect(await page.getByText("slow.jsonl").count()).toBe(0);
	});

	test("a file that is too large, and one that the server refuses, are answered in words", async () => {
		const { page, server } = await open("replay");
		const sent = () => server.sent.filter(({ type }) => type === "replay_session").length;
		const before = sent();
		await drop(page, { name: "huge.jsonl", content: "x", times: 65 * 2 ** 20 });
		const alert = page.getByRole("alert");
		await eventually(() => alert.textContent()).toContain(
			"huge.jsonl is too large: 65.0 MiB, but the server accepts at most 64 MiB",
		);
		expect(sent()).toBe(before);
		server.answers.replay_session = new Error("line 1 is no session header");
		await drop(page, { name: "wrong.jsonl", content: "hello" });
		await eventually(() => alert.textContent()).toContain("line 1 is no session header");
	});

	test.each(VIEWS)("%s shows hostile words as words, to everybody, on any screen", async (view) => {
		const { page, faults } = await open(view);
		await eventually(() => page.locator("main").textContent()).toContain("<img src=x onerror");
		expect(await page.locator("main img").count()).toBe(0);
		expect(await page.evaluate(() => "hacked" in globalThis)).toBe(false);
		await expectAccessible(page);
		await page.emulateMedia({ colorScheme: "dark" });
		await page.setViewportSize({ width: 360, height: 700 });
		await expectAccessible(page);
		const wide = () =>
			page.evaluate(() =>
				[document.documentElement, ...document.querySelectorAll(".sheet")]
					.filter((element) => element.scrollWidth > element.clientWidth + 1)
					.map(({ className }) => className),
			);
		await eventually(wide).toEqual([]);
		expect(faults).toEqual([]);
	});

	test("on the real server they show what it says, and replay a session that is dropped", async () => {
		const server = await startStrata(pages.folder);
		atEnd(() => server.stop());
		const client = createClient({ url: server.url });
		atEnd(() => client.close());
		const sessionId = await playDemo(client);
		const [{ data: context }, { data: cost }] = await Promise.all([
			client.request("get_context_view", { sessionId }),
			client.request("get_cost", { sessionId }),
		]);
		const { page, faults } = await openTab(pages.browser, server.url);
		const show = (hash: string) => page.evaluate((to) => location.assign(to), hash);

		await show(`#/sessions/${sessionId}/context`);
		await eventually(() => figures(page)).toMatchObject({
			"In use": short(context.tokens),
			"Cached in the last request": short(context.cachedTokens ?? 0),
			Pieces: String(context.pieces.length),
		});
		await page.getByRole("button", { name: "system prompt" }).click();
		const piece = { sessionId, pieceId: context.pieces[0]?.id ?? "" };
		const { data: text } = await client.request("get_context_piece", piece);
		await eventually(() => page.locator(".piece-text pre").first().textContent()).toBe(
			visibleString(text.text),
		);
		await page.keyboard.press("Escape");

		await show(`#/sessions/${sessionId}/cost`);
		await eventually(() => figures(page)).toMatchObject({
			Prompts: formatPrice(cost.totals.cost),
			Misses: String(cost.totals.misses),
		});

		await show(`#/sessions/${sessionId}/code`);
		await page.getByRole("searchbox").fill("order");
		await page.keyboard.press("Enter");
		await page.getByText(/^Found: \d/).waitFor();
		await page.getByRole("button", { name: /\.ts$/ }).first().click();
		await page.getByRole("region", { name: "Dependency graph" }).waitFor();

		await show("#/server");
		await page.locator(".tile").first().waitFor();
		await page.getByRole("region", { name: "The latest commands" }).waitFor();

		await show("#/replay");
		const { data: info } = await client.request("get_state", { sessionId });
		const content = readFileSync(String(info.sessionFile), "utf8");
		const { data: report } = await client.request("replay_session", { content });
		await drop(page, { name: "demo.jsonl", content });
		await page.getByRole("region", { name: "Policies" }).waitFor();
		await page.getByRole("button", { name: /^Show all \d+ policies/ }).click();
		await eventually(() => ratios(page)).toEqual(
			report.policies.map(({ ratio }) => `${(ratio * 100).toFixed(1)} %`),
		);
		expect(faults).toEqual([]);
	});

	test("on the real server Replay lists the files of every agent, and replays them by a click or when dropped", async () => {
		const files = writeAgentFiles(String(process.env.HOME));
		const server = await startStrata(pages.folder);
		atEnd(() => server.stop());
		const { page, faults } = await openTab(pages.browser, server.url);
		await page.getByText("Connected").waitFor();
		await page.evaluate(() => location.assign("#/replay"));
		const agents = async () => (await cells(page, "Session files")).map(([, agent]) => agent);
		const listed = ["Claude Code", "Codex", "opencode", "opencode", "Gemini CLI"];
		await eventually(agents).toEqual(listed);
		await page.getByRole("button", { name: "c1.jsonl" }).click();
		await page.getByRole("region", { name: "Sessions in this file", exact: true }).waitFor();
		const parts = async () => (await cells(page, "Sessions in this file")).map(([name]) => name);
		expect(await parts()).toEqual(["s1", "Sub-agent explorer"]);
		const [miss] = await cells(page, "Misses of the replayed session");
		expect(miss?.[0]).toBe("3");
		expect(miss?.at(-1)).toBe("system_changed");
		await page.getByLabel("Drop a session file here").setInputFiles(files["opencode database"]);
		await page.getByRole("heading", { name: "Sessions in this file: 2" }).waitFor();
		await eventually(async () => (await parts()).toSorted()).toEqual(["ses_1", "ses_2"]);
		expect(faults).toEqual([]);
		// The browser reports the refusal as a fault, too.
		await drop(page, { name: "large.jsonl", content: "nonsense\n", times: 7_000_000 });
		const alert = page.getByRole("alert");
		await eventually(() => alert.textContent()).toContain("large.jsonl is not a session");
	});
});

/** Lets the demo model answer its first prompt, and confirms its questions. Resolves to the session's id. */
async function playDemo(client: Client): Promise<string> {
	const { sessionId } = (await client.request("create_session", {})).data;
	const settled = Promise.withResolvers<void>();
	client.subscribe(sessionId, (frame) => {
		if (frame.type !== "event") return;
		const { event } = frame;
		if (event.type === "extension_ui_request" && event.method === "confirm") {
			const answer = { requestId: event.requestId, response: { confirmed: true } };
			client.request("extension_ui_response", { sessionId, ...answer }).catch(settled.reject);
		}
		if (event.type === "agent_settled") settled.resolve();
	});
	await client.request("prompt", { sessionId, message: "Show what you can do" });
	await settled.promise;
	return sessionId;
}

/** The colours that the charts of a page are painted with. */
async function colours(page: Page): Promise<Set<string>> {
	const found = await page.locator(".chart-plot path").evaluateAll((all) =>
		all.map((path) => {
			const { fill, stroke } = getComputedStyle(path);
			return fill === "none" ? stroke : fill;
		}),
	);
	return new Set(found);
}

/** How each policy of a replay compares. */
async function ratios(page: Page): Promise<(string | undefined)[]> {
	return (await cells(page, "Policies")).map(([, ratio]) => ratio);
}

/** Drags a file of this content, or else some words, onto the page's main part: whether the page lets the browser decide. */
function isLeftToBrowser(
	page: Page,
	type: "dragover" | "drop",
	content?: string,
): Promise<boolean> {
	return page.evaluate(
		([name, text]) => {
			const dataTransfer = new DataTransfer();
			if (text === undefined) dataTransfer.setData("text/plain", "words");
			else dataTransfer.items.add(new File([text], "mine.jsonl"));
			const event = new DragEvent(name, { dataTransfer, bubbles: true, cancelable: true });
			return document.querySelector("main")?.dispatchEvent(event) ?? true;
		},
		[type, content] as const,
	);
}

/** Drops a file of this content, repeated, onto the page. */
async function drop(
	page: Page,
	{ name, content, times = 1 }: { name: string; content: string; times?: number },
): Promise<void> {
	const transfer = await page.evaluateHandle(
		([file, text, count]) => {
			const made = new DataTransfer();
			made.items.add(new File([String(text).repeat(Number(count))], String(file)));
			return made;
		},
		[name, content, times] as const,
	);
	await page.locator(".file-drop").dispatchEvent("drop", { dataTransfer: transfer });
}
