import { describe, expect, test } from "vitest";
import { openProxy } from "../../src/cli/proxy.ts";
import { browserPath, expectAccessible, openTab } from "../support/browser.ts";
import { StandIn } from "../support/stand-in/stand-in.ts";
import { atEnd } from "../support/temp.ts";
import { bodyOf, type Prompt, says, step, TOOLS } from "../traffic/stand-in.ts";
import { eventually, startStrata } from "./strata-server.ts";
import { cells, figures, useViews } from "./view-pages.ts";

describe.skipIf(browserPath === undefined)("traffic in a browser", () => {
	const pages = useViews();

	test("what agents send through a real proxy shows as it happens, with the cause of a miss", async () => {
		const { ask, standIn, server } = await startWorld(pages.folder);
		const { page, faults } = await openTab(pages.browser, server.url);
		await page.getByRole("link", { name: "Traffic" }).click();
		await page.getByText("No conversations yet").waitFor();
		for (const command of ["strata run -- claude", "strata proxy"])
			expect(await page.getByText(command, { exact: true }).count()).toBe(1);
		await expectAccessible(page);

		const rows = async () =>
			(await cells(page, "Conversations of agents")).map(([name, model, requests]) =>
				[name?.replace(/\s*active$/, ""), model, requests].join(", "),
			);
		await ask({ messages: QUESTION.slice(0, 1) });
		await eventually(rows).toEqual(["claude-code #1, claude-opus-5, 1"]);
		await ask({ messages: QUESTION });
		await eventually(rows).toEqual(["claude-code #1, claude-opus-5, 2"]);
		await ask(
			{ tools: ["Bash"], system: "explore", messages: [says("look around")] },
			{ "x-claude-code-agent-id": "explorer" },
		);
		await eventually(rows).toEqual([
			"claude-code #1, claude-opus-5, 2",
			"sub-agent #2, claude-opus-5, 1",
		]);

		await page.getByRole("link", { name: "claude-code #1" }).click();
		await page.getByRole("heading", { name: "claude-code #1" }).waitFor();
		await page.getByText("No cache misses.").waitFor();
		await ask({ tools: [...TOOLS, "Web"], messages: [...QUESTION, ...step("b")] });
		const misses = async () =>
			(await cells(page, "Misses")).map(([request, cause, , , first]) => [request, cause, first]);
		const advice = "switch tools, MCP servers and extensions between sessions, not within one";
		await eventually(misses).toEqual([["3", `tools the tools changed${advice}`, "tool Web"]]);
		await eventually(() => figures(page)).toMatchObject({ Misses: "1" });

		await page.getByRole("button", { name: "Requests as a table" }).press("Enter");
		const requests = () => cells(page, "The latest requests");
		await eventually(requests).toHaveLength(3);
		const billed = standIn.requests.map(({ usage }) => String(usage?.input));
		expect((await requests()).map(([number, , , , input]) => [number, input])).toEqual([
			["3", billed[3]],
			["2", billed[1]],
			["1", billed[0]],
		]);
		const files = async () => (await cells(page, "Shares by file")).map(([name]) => name);
		await eventually(files).toContain("/w/long.ts");
		await page.getByRole("link", { name: "All conversations" }).click();
		await eventually(rows).toHaveLength(2);
		expect(faults).toEqual([]);
	});

	test("after a lost connection the page shows what it missed, and follows again", async () => {
		const { page, server } = await pages.open("report");
		const follows = () => server.sent.filter(({ traffic }) => traffic === true).length;
		await eventually(follows).toBe(1);
		const report = server.answers.get_conversation;
		if (!report || typeof report === "function" || report instanceof Error) throw new Error("none");
		const misses = (count: number) => {
			server.answers.get_conversation = {
				...report,
				conversation: { ...report.conversation, misses: count },
			};
		};
		misses(7);
		server.drop();
		await eventually(() => figures(page)).toMatchObject({ Misses: "7" });
		await eventually(follows).toBe(2);
		misses(8);
		const [request] = report.requests;
		if (!request) throw new Error("there is no request");
		const billed = (conversation: number) =>
			server.announce({ type: "request_billed", data: { conversation, request } });
		billed(report.conversation.id);
		await eventually(() => figures(page)).toMatchObject({ Misses: "8" });

		const asked = () => server.sent.filter(({ type }) => type === "get_conversation").length;
		const before = asked();
		billed(99); // of another conversation
		await page.getByRole("link", { name: "All conversations" }).click();
		await page.getByRole("region", { name: "Conversations of agents" }).waitFor();
		expect(asked()).toBe(before);
		await page.getByRole("link", { name: "Replay" }).click();
		await eventually(() => server.sent.some(({ traffic }) => traffic === false)).toBe(true);
	});

	test("a conversation that is not there, and a book that cannot be read, are said in words", async () => {
		const server = await pages.start();
		server.answers.get_conversation = new Error("There is no conversation 2");
		const { page } = await pages.open("report", { server });
		await eventually(() => page.getByRole("alert").textContent()).toContain(
			"There is no conversation 2",
		);
		server.answers.list_conversations = new Error("the book of traffic cannot be read");
		await page.getByRole("link", { name: "All conversations" }).click();
		await eventually(() => page.getByRole("alert").textContent()).toContain("cannot be read");
	});
});

const QUESTION = [says("question", 8000), ...step("a", 4000, "/w/long.ts")];

/** A server, and a real proxy that writes into its book, with a stand-in for the provider. */
async function startWorld(pageFolder: string) {
	const standIn = await StandIn.start();
	atEnd(() => standIn.close());
	const server = await startStrata(pageFolder, {
		proxy: { upstreams: { anthropic: standIn.url } },
	});
	atEnd(() => server.stop());
	const env = { PI_CODING_AGENT_DIR: server.agentDir };
	const proxy = await openProxy(
		{ env, cwd: server.folder, print() {}, write() {}, printError: (line) => console.error(line) },
		{ port: 0, savings: "off" },
	);
	atEnd(() => proxy.close());
	const ask = async (prompt: Prompt, headers: Record<string, string> = {}) => {
		standIn.script([{ say: "Fine." }]);
		const answer = await fetch(`${proxy.running.baseUrl("anthropic")}/v1/messages`, {
			method: "POST",
			headers: {
				...{ "content-type": "application/json", "user-agent": "claude-cli/2.1.325" },
				...{ "x-claude-code-session-id": "s1", ...headers },
			},
			body: JSON.stringify(marked(prompt)),
		});
		const text = await answer.text();
		expect([answer.status, text]).toEqual([200, expect.stringContaining("message_stop")]);
	};
	return { standIn, server, ask };
}

/** The request with marks for the cache at the end of the system prompt and of the last message. */
function marked(prompt: Prompt) {
	const body = bodyOf(prompt);
	const cache_control = { type: "ephemeral" };
	const messages = body.messages.map(({ role, content }, at) => {
		const blocks = content as object[];
		const isLast = at === body.messages.length - 1;
		return {
			role,
			content: blocks.map((block, index) =>
				isLast && index === blocks.length - 1 ? { ...block, cache_control } : block,
			),
		};
	});
	return {
		...body,
		max_tokens: 100,
		system: body.system.map((block) => ({ ...block, cache_control })),
		tools: body.tools.map((tool) => ({ ...tool, input_schema: { type: "object" } })),
		messages,
	};
}
