import { expect, test } from "vitest";
import { demoAnswer, startDemoProvider } from "../../../src/server/demo/demo-provider.ts";
import { openDemo } from "../../support/demo-session.ts";
import { atEnd } from "../../support/temp.ts";

const textOf = (content: unknown) => JSON.stringify(content);

test("two prompts show every system at work, with real tools on the sample project", {
	tags: "slow",
}, async () => {
	const session = await openDemo();
	await session.prompt("What is wrong with the discount?");
	await session.prompt("And the logs?");
	await session.prompt("Anything else?");
	const results = session.sessionManager.getBranch().flatMap((entry) => {
		const message = entry.type === "message" ? entry.message : undefined;
		return message?.role === "toolResult" ? [message] : [];
	});
	const said = results.map(({ toolName, content }) => `${toolName} ${textOf(content)}`);
	expect(results.filter(({ isError }) => isError)).toEqual([]);
	expect(
		said.some((text) => text.startsWith("kota_search") && text.includes("src/discount.ts")),
	).toBe(true);
	expect(said.some((text) => text.startsWith("kota_impact"))).toBe(true);
	expect(
		said.some((text) => text.includes("Handbook of the sample shop") && text.includes("page:")),
	).toBe(true);
	expect(said.some((text) => text.includes("[readcache: unchanged"))).toBe(true);
	expect(said.some((text) => text.includes("+\\treturn total >= DISCOUNT_FROM"))).toBe(true);
	const shown = textOf(session.sessionManager.buildSessionProjection().messages);
	expect(shown).toContain("(Pruned) read");
	const answers = session.sessionManager.getBranch().flatMap((entry) => {
		const message = entry.type === "message" ? entry.message : undefined;
		return message?.role === "assistant" ? [message] : [];
	});
	expect(answers.every(({ stopReason }) => stopReason === "stop" || stopReason === "toolUse")).toBe(
		true,
	);
	expect(answers.slice(1).every(({ usage }) => usage.cacheRead > 0)).toBe(true);
});

test("the script goes by the conversation alone, and ends", () => {
	const user = (text: string) => ({ role: "user", content: [{ type: "text", text }] });
	const first = demoAnswer([user("hello")]);
	expect(first.text).toContain("I am a scripted demo, not an AI");
	expect(first.calls).toHaveLength(1);
	const results = {
		role: "user",
		content: [{ type: "tool_result", tool_use_id: "t", content: "x" }],
	};
	const inserted = user('<working-file path="a">\nx\n</working-file>');
	const later = [user("hello"), { role: "assistant", content: [] }, results, inserted];
	expect(demoAnswer(later).calls.map(({ name }) => name)).toEqual(["read", "read"]);
	const many = Array.from({ length: 40 }, () => ({ role: "assistant", content: [] }));
	expect(demoAnswer([user("hello"), ...many]).calls).toEqual([]);
});

test("what it says of pruning is true, whether or not there was any", () => {
	const user = (text: string) => ({ role: "user", content: [{ type: "text", text }] });
	const steps = Array.from({ length: 6 }, () => ({ role: "assistant", content: [] }));
	const result = (content: string) => ({
		role: "user",
		content: [
			{ type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: content }] },
		],
	});
	const end = (output: string) =>
		demoAnswer([user("one"), result(output), user("two"), ...steps]).text;
	expect(end("(Pruned) read(path=x): 9 chars.")).toContain("old output was replaced by stubs");
	expect(end("a log")).toContain("Nothing had to go");
	expect(end("a log")).not.toContain("was replaced");
});

test("only who has the key is answered, and nonsense is refused", async () => {
	const provider = await startDemoProvider();
	atEnd(() => provider.close());
	const { baseUrl, apiKey = "" } = provider.config;
	const post = (key: string, body: string) =>
		fetch(`${baseUrl}/v1/messages`, { method: "POST", headers: { "x-api-key": key }, body });
	expect((await post("wrong", "{}")).status).toBe(401);
	expect((await post(apiKey, "{")).status).toBe(400);
	expect((await post(apiKey, "{}")).status).toBe(400);
});
