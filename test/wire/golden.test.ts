import { describe, expect, test } from "vitest";
import { readSpeaker, type WireRequest } from "../../src/wire/index.ts";
import type { RequestShape } from "../support/agents/shape.ts";
import { goldenShapes } from "./golden-shapes.ts";
import { firstChange, joinedRequests } from "./joined-requests.ts";

/** Real sessions: each reads a file, runs a command, reads the file again and answers. */
const sessions = [
	{
		name: "claude-code",
		speaker: { agent: "claude-code", version: "2.1.325", session: "id_1" },
		calls: ["Read", "Bash", "Read"],
		tools: ["Agent", "Bash", "Edit", "Read", "Write"],
	},
	{
		name: "codex",
		speaker: { agent: "codex", version: "0.166.0", session: "id_1" },
		calls: ["exec", "exec", "exec"],
		tools: ["functions", "clock", "collaboration"],
	},
	{
		name: "codex-http",
		speaker: { agent: "codex", version: "0.166.0", session: "id_2" },
		calls: ["exec_command", "exec_command", "exec_command"],
		tools: ["exec_command", "apply_patch", "tool_search", "web_search"],
	},
	{
		name: "opencode",
		speaker: { agent: "opencode", version: "1.18.33", session: "ses_1" },
		calls: ["read", "bash", "read"],
		tools: ["bash", "edit", "read", "task"],
	},
	{
		name: "opencode-chat",
		speaker: { agent: "opencode", version: "1.18.33", session: "ses_1" },
		calls: ["read", "bash", "read"],
		tools: ["bash", "edit", "read", "task"],
	},
	{
		name: "gemini-cli",
		speaker: { agent: "gemini-cli", version: "0.61.0" },
		calls: ["read_file", "run_shell_command", "read_file"],
		tools: ["read_file", "replace", "run_shell_command"],
	},
];

describe.each(sessions)("a session of $name", ({ name, speaker, calls, tools }) => {
	const shapes = goldenShapes(name);
	const conversation = joined(shapes).filter(({ pieces }) => toolsOf({ pieces }).length > 0);

	test("every request tells who sent it", () => {
		for (const shape of shapes) {
			expect(readSpeaker(headersOf(shape), bodyOf(shape))).toEqual(speaker);
		}
	});

	test("has four requests with the agent's tools, and its own for titles and the like", () => {
		expect(conversation).toHaveLength(4);
		for (const request of conversation) {
			expect(toolsOf(request)).toEqual(expect.arrayContaining(tools));
			expect(request.model).toMatch(/^[a-z]+[\w.-]+$/);
		}
	});

	test("each prompt continues the one before it, without a false change", () => {
		for (const [at, request] of conversation.entries()) {
			const before = conversation[at - 1];
			if (!before) continue;
			expect(firstChange(before, request)).toBeUndefined();
			expect(request.pieces.length).toBeGreaterThan(before.pieces.length);
			expect(request.settings).toEqual(before.settings);
			expect(request.cacheKey).toBe(before.cacheKey);
		}
	});

	test("calls and results stand in order, with their tools", () => {
		const last = conversation.at(-1)?.pieces ?? [];
		const of = (kind: string) => last.filter((piece) => piece.kind === kind);
		expect(of("call").map(({ tool }) => tool)).toEqual(calls);
		expect(of("result").map(({ tool }) => tool)).toEqual(calls);
		const others = last.filter(({ part }) => part === "messages").map(({ kind }) => kind);
		expect(others).toContain("user");
		expect(last.every(({ label }) => !label.includes("without a name"))).toBe(true);
	});
});

test.each(["claude-code", "opencode"])("%s: a sub-agent stands apart from its parent", (name) => {
	const shapes = goldenShapes(`${name}-subagent`);
	const speakers = shapes.map((shape) => readSpeaker(headersOf(shape), bodyOf(shape)));
	const requests = joined(shapes);
	const conversation = (isSubagent: boolean) =>
		requests.filter(
			(request, at) =>
				(speakers[at]?.subagent !== undefined) === isSubagent && toolsOf(request).length > 0,
		);
	for (const requests of [conversation(false), conversation(true)]) {
		const [first, second] = requests as [WireRequest, WireRequest];
		expect(requests).toHaveLength(2);
		expect(firstChange(first, second)).toBeUndefined();
	}
	const [parent] = conversation(false) as [WireRequest];
	const [child] = conversation(true) as [WireRequest];
	expect(firstChange(parent, child)).toBeDefined();
});

test("a tool that reads files names the file with its call and its result", () => {
	for (const name of ["claude-code", "opencode", "opencode-chat", "gemini-cli"]) {
		const last = joined(goldenShapes(name)).at(-1)?.pieces ?? [];
		const files = last.filter(({ path }) => path === "/project/notes.txt");
		expect(files.map(({ kind }) => kind)).toEqual(["call", "result", "call", "result"]);
	}
});

test("Claude Code marks its system prompt and its last message", () => {
	for (const { pieces } of joined(goldenShapes("claude-code"))) {
		const marked = pieces.flatMap(({ breakpoint }, at) => (breakpoint ? [at] : []));
		expect(marked).toHaveLength(3);
		expect(marked.at(-1)).toBe(pieces.length - 1);
	}
});

test("golden shapes hold no text, no key and no name of a machine", () => {
	for (const name of [...sessions.map(({ name }) => name), "claude-code-subagent"]) {
		const kept = JSON.stringify(goldenShapes(name));
		expect(kept).not.toMatch(/standin|Bearer|sk-|\/tmp\/|127\.0\.0\.1|How many|You are/);
	}
});

function joined(shapes: readonly RequestShape[]): WireRequest[] {
	return joinedRequests(
		shapes.map((shape) => ({
			path: shape.path,
			body: bodyOf(shape),
			...(shape.frames && { frames: shape.frames.map((frame) => JSON.stringify(frame)) }),
		})),
	);
}

function bodyOf({ body }: RequestShape): Buffer {
	return Buffer.from(JSON.stringify(body));
}

function headersOf({ headers }: RequestShape): Record<string, string> {
	const all = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
	return Object.fromEntries(all);
}

function toolsOf({ pieces }: Pick<WireRequest, "pieces">): (string | undefined)[] {
	return pieces.filter(({ kind }) => kind === "tool").map(({ tool }) => tool);
}
