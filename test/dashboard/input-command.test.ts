import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import {
	HANDLED_NAMES,
	pageCommands,
	parseInput,
} from "../../src/dashboard/session/input-command.ts";

const commandOf = (text: string, how?: "steer" | "followUp") => {
	const parsed = parseInput(text, how);
	return parsed.kind === "command" ? [parsed.command.type, parsed.command.fields] : parsed.why;
};

describe("what is typed", () => {
	test.each([
		["  hello \n", ["prompt", { message: "hello" }]],
		["/usr/bin/env is gone", ["prompt", { message: "/usr/bin/env is gone" }]],
		["/rename it", ["prompt", { message: "/rename it" }]],
		["/compacted", ["prompt", { message: "/compacted" }]],
		["/", ["prompt", { message: "/" }]],
		[" /compact is odd ", ["prompt", { message: "/compact is odd", verbatim: true }]],
		["!ls -l", ["bash", { command: "ls -l", excludeFromContext: false }]],
		["!! ls", ["bash", { command: "ls", excludeFromContext: true }]],
		["/compact", ["compact", {}]],
		["/compact keep\nthe names", ["compact", { customInstructions: "keep\nthe names" }]],
		["/name A B", ["set_session_name", { name: "A B" }]],
		["/new", ["new_session", {}]],
		["/clone", ["clone", {}]],
		["/reload", ["reload", {}]],
		["/export", ["export_html", {}]],
		["/model openrouter/a/b", ["set_model", { provider: "openrouter", modelId: "a/b" }]],
		["/thinking high", ["set_thinking_level", { level: "high" }]],
	])("%j becomes a command of the protocol", (text, expected) => {
		expect(commandOf(text)).toEqual(expected);
	});

	test("says how it joins a run if it is for the model, and only then", () => {
		const streamingBehavior = "followUp";
		expect(commandOf("go on", "followUp")).toEqual([
			"prompt",
			{ message: "go on", streamingBehavior },
		]);
		expect(commandOf("/compact", "followUp")).toEqual(["compact", {}]);
	});

	test.each(["!", "/name", "/model", "/model x", "/thinking", "/new here", "/tree", "/quit"])(
		"%s is not sent, and the user reads what to do",
		(text) => {
			expect(commandOf(text)).toMatch(/^(Type |\/\w+ is not available here\. ).+\.$/);
		},
	);

	test("every command of pi's terminal has its answer here", async () => {
		const found = findPackageJSON("@earendil-works/pi-coding-agent", import.meta.url);
		const module = join(dirname(found ?? ""), "dist", "core", "slash-commands.js");
		const { BUILTIN_SLASH_COMMANDS } = await import(pathToFileURL(module).href);
		const names = (BUILTIN_SLASH_COMMANDS as { name: string }[]).map(({ name }) => name);
		expect([...HANDLED_NAMES].toSorted()).toEqual(names.toSorted());
		for (const { name } of pageCommands()) expect(HANDLED_NAMES).toContain(name);
	});
});
