/** A real pi that writes, and the page that follows it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { browserPath } from "../support/browser.ts";
import {
	LOOPBACK_MODEL,
	modelsJson,
	startLoopbackAnthropic,
} from "../support/loopback-anthropic.ts";
import { startPiProcess } from "../support/pi-process.ts";
import { atEnd } from "../support/temp.ts";
import { promptBox, useStrata } from "./strata-server.ts";

const extension = fileURLToPath(new URL("../../pi-extension.ts", import.meta.url));

describe.skipIf(browserPath === undefined)("a pi in a terminal", () => {
	const strata = useStrata();

	test("is on the page word by word, and the page cannot write to it", async () => {
		const { agentDir, folder } = strata.server;
		const loop = await startLoopbackAnthropic();
		atEnd(() => loop.close());
		writeFileSync(join(agentDir, "models.json"), modelsJson(loop.url));
		const args = ["-ne", "-e", extension, "--provider", "loop", "--model", LOOPBACK_MODEL];
		const pi = await startPiProcess({ agentDir, cwd: folder, args });
		loop.script(["The first answer."]);
		await pi.request({ type: "prompt", message: "a question in the terminal" });
		await pi.waitFor(({ type }) => type === "agent_settled");

		const { page, faults, context } = await strata.open();
		await page.getByRole("button", { name: "Open a stored session" }).click();
		const dialog = page.getByRole("dialog");
		await dialog.getByRole("button", { name: /a question in the terminal.*watch it/s }).click();
		await page.getByText(/pi runs there \(process \d+\)/).waitFor();
		await page.getByText("The first answer.").waitFor();
		expect(await promptBox(page).isVisible()).toBe(false);

		loop.script([{ content: [{ type: "text", text: "These words have no end yet" }], hang: true }]);
		await pi.request({ type: "prompt", message: "the second question" });
		await page.getByText("These words have no end yet").waitFor();
		expect(pi.events.filter(({ type }) => type === "agent_settled")).toHaveLength(1);
		await page.getByText("the second question").waitFor();

		// A page that is opened in the middle of the answer shows all of it.
		const late = await strata.open({ context }, page.url());
		await late.page.getByText("These words have no end yet").waitFor();

		await pi.request({ type: "abort" });
		await pi.waitFor(({ type }) => type === "agent_settled");
		await page.getByText("These words have no end yet").waitFor();
		loop.script(["The third answer."]);
		await pi.request({ type: "prompt", message: "the third question" });
		await page.getByText("The third answer.").waitFor();
		expect(await page.getByText("The third answer.").count()).toBe(1);
		expect([...faults, ...late.faults]).toEqual([]);
	});
});
