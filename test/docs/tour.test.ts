import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openDemo } from "../support/demo-session.ts";
import { expectShown, expectTourFollowed } from "../support/tour.ts";
import { documentAt } from "./documents.ts";

test("the tour shows what the demo prints", { tags: "slow" }, async () => {
	const session = await openDemo("json");
	const printed: [command: string, text: string][] = [];
	async function ask(command: string): Promise<void> {
		await session.prompt(command);
		const reports = session.sessionManager
			.getEntries()
			.filter((entry) => entry.type === "custom" && entry.customType === "strata-report");
		const [last] = reports.slice(-1) as unknown as { data: { text: string } }[];
		printed.push([command, last?.data.text ?? ""]);
	}
	await session.prompt("Why do orders of 50.00 get no discount?");
	await session.prompt("Now look at the logs.");
	await ask("/strata");
	await ask("/kota pruning");
	await ask("/strata cost");
	await ask("/workset add src/cart.ts src/discount.ts");
	await session.prompt("And once more?");
	await session.prompt("And again?");
	await ask("/tiers");

	for (const [command, text] of printed) expectShown(`${command}\n\n${text}`);
});

/** In a clone, by the command that the tour names; test/install does the same with the package. */
test("who follows the tour in strata demo and strata replay gets what it prints", {
	tags: "slow",
}, async () => {
	const { blocks } = documentAt("docs/tour.md");
	const command = blocks.find(({ text }) => text.includes("strata -- demo"))?.text ?? "";
	const [line = ""] = command.split(/ +#/);
	expect(line).toBe("npm run strata -- demo");
	const bin = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));
	await expectTourFollowed(process.execPath, bin);
});
