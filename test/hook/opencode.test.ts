import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { handleOpencode } from "../../src/hook/index.ts";
import { touchesExcluded } from "../../src/readcache/index.ts";
import { tempDir } from "../support/temp.ts";

const TEXT = Array.from({ length: 40 }, (_, at) => `${at + 1}: line ${at} of the file`).join("\n");

function toolPart(callID: string, state: object = {}, filePath = "/w/a.ts") {
	const input = { filePath };
	return {
		type: "tool",
		...{ callID, tool: "read" },
		state: { status: "completed", input, output: TEXT, time: {}, ...state },
	};
}

function message(parts: readonly object[], info: object = {}) {
	return { info: { role: "assistant", ...info }, parts };
}

const RUNNING = message([toolPart("call_2", { status: "running", output: undefined })]);

async function handle(messages: readonly object[], { output = TEXT, isShadow = false } = {}) {
	const folder = tempDir("opencode");
	const env = { PI_CODING_AGENT_DIR: join(folder, "agent") };
	mkdirSync(env.PI_CODING_AGENT_DIR);
	const settings = { blobs: { dir: join(folder, "blobs") } };
	writeFileSync(join(env.PI_CODING_AGENT_DIR, "strata.json"), JSON.stringify(settings));
	const call = { tool: "read", sessionID: "s1", callID: "call_2", args: { filePath: "/w/a.ts" } };
	const event = { ...call, output, cwd: folder, messages };
	return handleOpencode(event, { env, touchesExcluded, isShadow });
}

describe("a result of opencode", () => {
	test("refers to a result of an earlier message", async () => {
		const { output, savedTokens } = await handle([message([toolPart("call_1")]), RUNNING]);
		expect(JSON.parse(output).output).toMatch(
			/^\[strata: lines 1-40 of the output of `read \/w\/a\.ts` above, unchanged; full text: read .*\]$/,
		);
		expect(savedTokens).toBeGreaterThan(100);
	});

	test("is only counted in shadow", async () => {
		const answer = await handle([message([toolPart("call_1")]), RUNNING], { isShadow: true });
		expect(answer).toMatchObject({ output: "", sessionId: "s1", id: "call_2" });
		expect(answer.savedTokens).toBeGreaterThan(100);
	});

	test.each<[string, readonly object[]]>([
		["pruned", [message([toolPart("call_1", { time: { compacted: 1 } })]), RUNNING]],
		["an error", [message([toolPart("call_1", { status: "error" })]), RUNNING]],
		["with a picture", [message([toolPart("call_1", { attachments: [{}] })]), RUNNING]],
		["before a summary", [message([toolPart("call_1")]), message([], { summary: true }), RUNNING]],
		[
			"before a compaction that has not ended",
			[message([toolPart("call_1")]), message([{ type: "compaction" }]), RUNNING],
		],
		["of the same message", [message([toolPart("call_1"), ...RUNNING.parts])]],
		["with the id of another", [message([toolPart("call_1"), toolPart("call_1")]), RUNNING]],
		["in a session whose last message is another one", [RUNNING, message([toolPart("call_1")])]],
	])("refers to no result that is %s", async (_what, messages) => {
		expect((await handle(messages)).output).toBe("");
	});

	test("refers to no name that a hidden result may have", async () => {
		const hidden = message([toolPart("call_0", { time: { compacted: 1 } })]);
		const answer = await handle([message([toolPart("call_1")]), hidden, RUNNING]);
		expect(answer).toMatchObject({ output: "", why: "a reference could mean another result" });
	});

	test.each([undefined, null, 1, "text", {}, { messages: [] }])(
		"stays as it is if the event is %j",
		async (event) => {
			const options = { env: {}, touchesExcluded, isShadow: false };
			expect((await handleOpencode(event, options)).output).toBe("");
		},
	);
});
