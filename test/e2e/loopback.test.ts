/** Real pi against the loopback provider: what pi sends, and what it makes of the answers. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
	type LoopbackAnthropic,
	type LoopbackModel,
	startLoopbackAnthropic,
} from "../support/loopback-anthropic.ts";
import { openLoopbackSession } from "../support/loopback-session.ts";

let folder: string;
let loop: LoopbackAnthropic;

beforeEach(async () => {
	folder = await mkdtemp(join(tmpdir(), "strata-loopback-"));
	await writeFile(join(folder, "a.txt"), "alpha\nbeta\n");
	// Pi's prompt with one tool may be shorter than 1024 tokens; every marker shall count here.
	loop = await startLoopbackAnthropic({ cache: { minTokens: 64 } });
});
afterEach(async () => {
	await loop.close();
	await rm(folder, { recursive: true, force: true });
});

const openSession = (model: LoopbackModel = {}) => openLoopbackSession({ loop, folder, model });

type Session = Awaited<ReturnType<typeof openSession>>;

const answers = (session: Session) =>
	session.messages.filter((message) => message.role === "assistant");

test("pi marks tools, system and the last user block, and reads back what it wrote", async () => {
	const session = await openSession({
		cost: { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 },
	});
	loop.script([
		{ content: [{ type: "tool_use", id: "t1", name: "read", input: { path: "a.txt" } }] },
		"It says alpha and beta.",
		"You are welcome.",
	]);
	await session.prompt("read a.txt");
	await session.prompt("thanks");

	const marker = { type: "ephemeral" };
	expect(loop.requests).toHaveLength(3);
	for (const { body } of loop.requests) {
		expect(body.tools?.at(-1)?.cache_control).toEqual(marker);
		expect(body.system).toMatchObject([{ type: "text", cache_control: marker }]);
		const { role, content = [] } = body.messages.at(-1) ?? {};
		expect(role).toBe("user");
		expect(content.at(-1)).toMatchObject({ cache_control: marker });
	}
	expect(loop.requests[1]?.body.messages.at(-1)?.content).toMatchObject([
		{ type: "tool_result", tool_use_id: "t1", content: "alpha\nbeta\n" },
	]);

	const [first, second, third] = loop.requests.map(({ usage }) => usage);
	expect(first).toMatchObject({ input: 0, cacheRead: 0, cacheWrite: expect.any(Number) });
	expect(first?.cacheWrite).toBeGreaterThan(64);
	expect(second?.cacheRead).toBe(first?.cacheWrite);
	expect(third?.cacheRead).toBe((second?.cacheRead ?? 0) + (second?.cacheWrite ?? 0));

	expect(answers(session).map(({ stopReason }) => stopReason)).toEqual(["toolUse", "stop", "stop"]);
	answers(session).forEach(({ usage }, i) => {
		expect(usage).toMatchObject(loop.requests[i]?.usage ?? {});
	});
	expect(answers(session)[0]?.usage.cost.cacheWrite).toBeCloseTo(
		((first?.cacheWrite ?? 0) * 1.25) / 1e6,
		12,
	);
});

test("signed thinking and several calls in one message come back as they were sent", async () => {
	const session = await openSession({ reasoning: true });
	const content = [
		{ type: "thinking" as const, thinking: "Both at once.", signature: "c2ln" },
		{ type: "text" as const, text: "Reading." },
		{ type: "tool_use" as const, id: "t1", name: "read", input: { path: "a.txt", limit: 1 } },
		{ type: "tool_use" as const, id: "t2", name: "read", input: { path: "missing.txt" } },
	];
	loop.script([{ content }, (body) => `${body.messages.length} messages`]);
	await session.prompt("read both");

	expect(loop.requests[1]?.body.messages[1]).toEqual({ role: "assistant", content });
	expect(loop.requests[1]?.body.messages[2]?.content).toMatchObject([
		{ tool_use_id: "t1", is_error: false },
		{ tool_use_id: "t2", is_error: true },
	]);
	expect(answers(session).at(-1)?.content).toEqual([{ type: "text", text: "3 messages" }]);
});

test("an abort ends a hanging answer, and the session goes on", async () => {
	const session = await openSession();
	loop.script([{ hang: true }, "back again"]);
	const asked = session.prompt("hello");
	await expect.poll(() => loop.requests.length).toBe(1);
	await session.abort();
	await asked;
	expect(answers(session).at(-1)?.stopReason).toBe("aborted");

	await session.prompt("still there?");
	expect(answers(session).at(-1)?.content).toEqual([{ type: "text", text: "back again" }]);
});

test("an empty script reaches pi as an error that names it, without retries", async () => {
	const session = await openSession();
	await session.prompt("hello");
	expect(answers(session).at(-1)).toMatchObject({
		stopReason: "error",
		errorMessage: expect.stringContaining("no scripted reply left"),
	});
	expect(loop.requests).toHaveLength(1);
});
