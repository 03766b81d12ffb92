import { test } from "vitest";
import { sessionLines } from "./session-lines.ts";
import { useStrata } from "./strata-server.ts";
const strata = useStrata({ kota: { confirmIndex: false } });
const dir = "/tmp/dash/shots/";
test("shots", async () => {
	strata.writeSession("hostile", sessionLines([
		{ role: "user", text: "Please look at <img src=x onerror=alert(1)> and tell me what is wrong with this project. It should be able to deal with quite long prompts that wrap." },
		{ role: "assistant", text: "# Findings\n\nThere are **three** problems in `src/server.ts`:\n\n1. The token is *logged*.\n2. See [the docs](https://docs.example.com/security) for details.\n   - nested item\n   - another\n3. \u001b[31mred\u001b[0m and \u202eturned\n\n```ts\nexport function start(port: number) {\n\treturn listen(port);\n}\n```\n\n> A quote\n\n| a | b |\n|---|---|\n| 1 | 2 |", call: { name: "read", path: "src/server.ts" } },
		{ role: "toolResult", text: "1: const a = 1;\n2: \u001b[2J\u0007\n".repeat(20) },
		{ role: "user", text: "מה שלומך? مرحبا بالعالم" },
		{ role: "assistant", text: "x".repeat(60000) },
		{ role: "assistant", text: "short end" },
	]));
	const { page, context } = await strata.open({ viewport: { width: 1280, height: 800 } });
	await page.getByRole("button", { name: /open a stored one/i }).click();
	await page.waitForTimeout(800);
	await page.screenshot({ path: `${dir}h1.png` });
	await page.getByRole("dialog").getByRole("button", { name: "Please look" }).click();
	await page.getByText("short end").waitFor();
	await page.getByRole("region", { name: "Messages" }).evaluate((l) => { l.scrollTop = 0; });
	await page.waitForTimeout(400);
	await page.getByRole("button", { name: /^read/ }).click();
	await page.waitForTimeout(400);
	await page.getByRole("region", { name: "Messages" }).evaluate((l) => { l.scrollTop = 0; });
	await page.waitForTimeout(300);
	await page.screenshot({ path: `${dir}h2.png` });
	await page.getByRole("textbox", { name: "Message" }).fill("/ask select");
	await page.keyboard.press("Enter");
	await page.getByRole("dialog").waitFor();
	await page.screenshot({ path: `${dir}h3.png` });
	await page.keyboard.press("Escape");
	await page.getByRole("textbox", { name: "Message" }).fill("/tell");
	await page.keyboard.press("Enter");
	await page.waitForTimeout(600);
	await page.setViewportSize({ width: 390, height: 780 });
	await page.waitForTimeout(300);
	await page.screenshot({ path: `${dir}h4.png` });
	await page.setViewportSize({ width: 1280, height: 800 });
	const p2 = await context.newPage();
	await p2.setViewportSize({ width: 390, height: 780 });
	await p2.goto(strata.server.url);
	await p2.getByRole("button", { name: "New session" }).click();
	await p2.getByRole("button", { name: "Start", exact: true }).click();
	await p2.getByRole("button", { name: "Send the first prompt" }).click();
	await p2.getByRole("button", { name: "Stop" }).waitFor();
	await p2.getByRole("textbox", { name: "Message" }).fill("one more thing please");
	await p2.keyboard.press("Alt+Enter");
	await p2.waitForTimeout(500);
	await p2.screenshot({ path: `${dir}h5.png` });
	await p2.setViewportSize({ width: 1280, height: 800 });
	for (const v of ["Context", "Cost", "Code"]) { await p2.getByRole("link", { name: v, exact: true }).click(); await p2.waitForTimeout(1500); await p2.screenshot({ path: `${dir}v-${v}.png` }); }
	await strata.server.stop();
	await p2.waitForTimeout(2500);
	await p2.screenshot({ path: `${dir}h6.png` });
}, 120000);
