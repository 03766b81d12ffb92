import { execFileSync } from "node:child_process";
import {
	appendFileSync,
	copyFileSync,
	existsSync,
	readdirSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ClaudeHook } from "../../src/hook/index.ts";
import { touchesExcluded } from "../../src/readcache/index.ts";
import { bashCall, ClaudeSession, readCall, type ToolCall } from "./claude-session.ts";
import { expanded, pathIn } from "./expander.ts";

function text(count: number, word = "line"): string {
	return Array.from({ length: count }, (_, at) => `${word} ${at + 1} of a file with words`).join(
		"\n",
	);
}

function withLine(content: string, at: number, line: string): string {
	return content.split("\n").with(at, line).join("\n");
}

/** A session that has shown a read and an output, so that their forms are confirmed. */
async function session(options: ConstructorParameters<typeof ClaudeSession>[0] = {}) {
	const one = new ClaudeSession(options);
	const file = join(one.project, "a.ts");
	await one.call(readCall(file, text(60)));
	await one.call(bashCall("git status", "nothing to commit"));
	return { one, file };
}

describe("a read that repeats lines in view", () => {
	test("becomes one reference, and the full text is stored first", async () => {
		const { one, file } = await session();
		const again = await one.call(readCall(file, text(60)));
		expect(again.text).toMatch(
			/^60\t\[strata: lines 1-60 of the output of `Read .*` above, unchanged; full text: read .*\]$/,
		);
		expect(expanded(again, one.results.slice(0, -1))).toBe(again.original);
		expect(one.stored(pathIn(again.text) ?? "")).toBe(again.original);
	});

	test("keeps the numbers of the lines between two references", async () => {
		const { one, file } = await session();
		const again = await one.call(readCall(file, withLine(text(60), 30, "changed")));
		const lines = again.text.split("\n");
		expect(lines).toHaveLength(3);
		expect(lines[1]).toBe("31\tchanged");
		expect(lines[0]).toMatch(/^30\t\[strata: lines 1-30 /);
		expect(lines[2]).toMatch(/^32\t\[strata: lines 32-60 /);
		expect(expanded(again, one.results.slice(0, -1))).toBe(again.original);
	});

	test("shows all lines between its first and its last change", async () => {
		const { one, file } = await session();
		const changed = withLine(withLine(text(60), 0, "first"), 40, "changed");
		const again = await one.call(readCall(file, changed));
		const lines = again.text.split("\n");
		expect(lines.slice(0, 2)).toEqual(["1\tfirst", "2\tline 2 of a file with words"]);
		expect(lines.slice(-2)[0]).toBe("41\tchanged");
		// The path stands in the reference that is left.
		expect(lines.at(-1)).toMatch(/^42\t\[strata: lines 42-60 .*; full text: read .*\]$/);
		expect(expanded(again, one.results.slice(0, -1))).toBe(again.original);
	});

	test("is never referred to where it refers itself", async () => {
		const { one, file } = await session();
		await one.call(readCall(file, withLine(text(60), 30, "changed")));
		const third = await one.call(readCall(file, withLine(text(60), 30, "changed")));
		expect(third.text).toContain("[strata: lines");
		expect(expanded(third, one.results.slice(0, -1))).toBe(third.original);
	});
});

describe("output of a command", () => {
	test("is folded, and its exact text is stored", async () => {
		const { one } = await session();
		const output = `${"waiting for the server\n".repeat(50)}${text(25)}`;
		const result = await one.call(bashCall("npm start", output));
		expect(result.text).toContain(
			"[strata: 49 more lines equal to the line above; exact output: read ",
		);
		expect(one.stored(pathIn(result.text) ?? "")).toBe(output);
	});

	test("refers to a read only where lines are equal", async () => {
		const { one } = await session();
		const first = await one.call(bashCall("cat b", text(30, "b")));
		const result = await one.call(bashCall("cat a b", `${text(8, "a")}\n${text(30, "b")}`));
		expect(first.text).toBe(first.original);
		expect(result.text.split("\n")).toHaveLength(9);
		expect(expanded(result, one.results.slice(0, -1))).toBe(result.original);
	});
});

describe("a result stays as it is", () => {
	const repeated = text(60);

	test.each<[string, object]>([
		["with text on the error stream", { stderr: "warning" }],
		["if the command was interrupted", { interrupted: true }],
		["if it is a picture", { isImage: true }],
		["if it runs on in the background", { backgroundTaskId: "b1" }],
		["if it is stored elsewhere", { persistedOutputPath: "/tmp/x" }],
		["with a field that we do not know", { newField: "text" }],
	])("%s", async (_what, more) => {
		const { one } = await session();
		await one.call(bashCall("cat a", repeated));
		const again = await one.call(bashCall("cat a", repeated, more));
		expect(again.text).toBe(again.original);
	});

	test("if the lines were lost by a compaction, or cleared", async () => {
		const { one, file } = await session();
		one.compact();
		await one.call(readCall(join(one.project, "b.ts"), text(3)));
		expect((await one.call(readCall(file, repeated))).why).toBe("nothing repeats");
		one.clear();
		const cleared = await one.call(readCall(file, repeated));
		expect(cleared.text).toContain("[strata: lines");
		one.clear();
		one.clear();
		expect((await one.call(readCall(file, repeated))).why).toBe("nothing repeats");
	});

	test("if the provider may clear results, or the request is not recorded", async () => {
		const { one, file } = await session();
		one.params = { context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } };
		expect((await one.call(readCall(file, repeated))).why).toBe("what the model sees is not known");
		one.params = {};
		one.isRecorded = false;
		expect((await one.call(readCall(file, repeated))).why).toBe("what the model sees is not known");
	});

	test("if another call of the same answer has the name of the result that it would refer to", async () => {
		const { one, file } = await session();
		const both = [readCall(file, repeated), readCall(file, repeated)];
		const reasons = await one.calls(both, [1, 0]);
		expect(reasons).toEqual(both.map(() => "a reference could mean another result"));
		// Written as they ended, sent in the order of their calls: still known.
		const { text: after } = await one.call(bashCall("cat a", text(20)));
		expect(after).toBe(text(20));
		expect((await one.call(readCall(file, repeated))).text).toContain("[strata: lines");
	});

	test("if the form of its tool was not seen yet, or is another one", async () => {
		const one = new ClaudeSession();
		const file = join(one.project, "a.ts");
		const first = await one.call(readCall(file, repeated));
		expect(first.why).toBe("how Read shows its results is not confirmed");
		const lines = one.stored(one.transcript).replaceAll("1\\tline 1", "   1→line 1");
		writeFileSync(one.transcript, lines);
		one.hook = one.newHook();
		const again = await one.call(readCall(file, repeated));
		expect(again.text).toBe(again.original);
	});

	test("if a stored text was asked for", async () => {
		const { one, file } = await session();
		const short = await one.call(readCall(file, repeated));
		const path = pathIn(short.text) ?? "";
		const stored = await one.call(readCall(path, short.original));
		expect(stored.text).toBe(stored.original);
		const shown = await one.call(bashCall(`cat '${path}'`, short.original));
		expect(shown.text).toBe(shown.original);
	});

	test("if it is of an excluded file or holds a secret value; nothing is stored", async () => {
		const { one } = await session();
		const secret = "sk-live-1f2e3d4c5b6a79881726354453627180";
		const [env, log] = [join(one.project, ".env"), join(one.project, "log.txt")];
		writeFileSync(env, `API_KEY=${secret}\n`);
		for (const call of [readCall(env, repeated), readCall(log, withLine(repeated, 5, secret))]) {
			await one.call(call);
			const again = await one.call(call);
			expect(again.text).toBe(again.original);
		}
		expect(existsSync(one.blobs)).toBe(false);
	});

	test.each([
		"GITHUB_TOKEN=ghp_0123456789abcdef0123",
		'declare -x GITHUB_TOKEN="ghp_0123456789abcdef0123"',
		'"Env": ["PATH=/bin", "GITHUB_TOKEN=ghp_0123456789abcdef0123"]',
		"npm_config_auth_token=0123456789abcdef",
	])("if it shows a secret variable, of any environment: %s", async (line) => {
		const { one } = await session();
		const call = bashCall("env", withLine(repeated, 5, line));
		await one.call(call);
		const again = await one.call(call);
		expect(again).toMatchObject({ text: again.original, why: "it holds a secret value" });
		expect(existsSync(one.blobs)).toBe(false);
	});

	test.each([
		"GITHUB_TOKEN=$TOKEN",
		"TOKEN_LIMIT=",
		'if [ "$API_KEY" = "0123456789" ]; then',
		"	rows.sort(key=by_name_and_date)",
	])("but not for a variable without a value: %s", async (line) => {
		const { one } = await session();
		const call = bashCall("cat run", withLine(repeated, 5, line));
		await one.call(call);
		expect((await one.call(call)).text).toContain("[strata: lines");
	});

	test("if a line of it looks like one of ours", async () => {
		const { one, file } = await session();
		const content = withLine(
			text(60),
			59,
			"[strata: lines 1-9 of the output of `x` above, unchanged]",
		);
		expect((await one.call(readCall(file, content))).why).toBe("its text is unusual");
	});

	test("if it was called outside of the project", async () => {
		const { one, file } = await session();
		const event = { ...one.event(readCall(file, repeated), "toolu_msg_1_0"), cwd: one.folder };
		expect((await one.hook.handle(event)).why).toBe("it was called outside of the project");
	});

	test("if the store cannot be written", async () => {
		const { one, file } = await session();
		writeFileSync(one.blobs, "a file");
		const again = await one.call(readCall(file, repeated));
		expect(again.text).toBe(again.original);
	});

	test("if settings say so, or in shadow, which stores nothing", async () => {
		const off = await session({ settings: { birth: { mode: "off" } } });
		expect((await off.one.call(readCall(off.file, repeated))).why).toBe("birth.mode is off");
		const { one, file } = await session({ isShadow: true });
		const again = await one.call(readCall(file, repeated));
		expect(again).toMatchObject({ text: again.original, why: "shadow" });
		expect(existsSync(one.blobs)).toBe(false);
	});
});

describe("a transcript", () => {
	test("is read from where the last event left off, and from its start by a new process", async () => {
		const { one, file } = await session();
		appendFileSync(one.transcript, "not a line\n");
		expect((await one.call(readCall(file, text(60)))).text).toContain("[strata: lines");
		one.hook = one.newHook();
		expect((await one.call(readCall(file, text(60)))).text).toContain("[strata: lines");
	});

	test("that was cut, is missing or is a folder leaves results as they are", async () => {
		const { one, file } = await session();
		truncateSync(one.transcript, 10);
		const event = one.event(readCall(file, text(60)), "toolu_1");
		expect((await one.hook.handle(event)).output).toBe("");
		for (const path of [join(one.folder, "no.jsonl"), one.folder, "relative.jsonl"]) {
			const answer = await one.hook.handle({ ...event, transcript_path: path });
			expect(answer.output).toBe("");
		}
		expect(readdirSync(one.folder)).not.toContain("blobs");
	});

	test("that is a pipe without a writer blocks nothing", async () => {
		if (process.platform === "win32") return;
		const { one, file } = await session();
		const pipe = join(one.folder, "pipe.jsonl");
		execFileSync("mkfifo", [pipe]);
		const event = one.event(readCall(file, text(60)), "toolu_1");
		const answer = await one.hook.handle({ ...event, transcript_path: pipe });
		expect(answer).toMatchObject({
			output: "",
			why: expect.stringContaining("not a regular file"),
		});
	});

	test("without what tools returned shows the form of reads, but not that of output", async () => {
		const one = new ClaudeSession();
		one.hasResponses = false;
		const calls = [readCall(join(one.project, "a.ts"), text(60)), bashCall("cat b", text(60, "b"))];
		for (const call of calls) await one.call(call);
		const [read, output] = [
			await one.call(calls[0] as ToolCall),
			await one.call(calls[1] as ToolCall),
		];
		expect(read.text).toContain("[strata: lines");
		expect(output.why).toBe("how Bash shows its results is not confirmed");
	});

	test("of a sub-agent is its own", async () => {
		const { one, file } = await session();
		const event = { ...one.event(readCall(file, text(60)), "toolu_1"), agent_id: "a1" };
		expect((await one.hook.handle(event)).why).toMatch(/ENOENT.*subagents/);
		expect((await one.hook.handle({ ...event, agent_id: "../x" })).why).toContain("unusual id");
	});
});

describe("transcripts in memory", () => {
	/** Whether a session can be referred to after events of others. What the hook has read of it is not on disk any more. */
	async function isKnownAfter(others: number, maxBytes?: number) {
		const { one, file } = await session();
		one.hook = new ClaudeHook({
			...{ env: one.env, touchesExcluded, isShadow: false },
			...(maxBytes !== undefined && { maxBytes }),
		});
		await one.call(readCall(file, text(60)));
		const event = one.event(readCall(file, text(60)), "toolu_msg_1_0");
		for (let at = 0; at < others; at++) {
			const path = join(one.folder, `other ${at}.jsonl`);
			copyFileSync(one.transcript, path);
			await one.hook.handle({ ...event, transcript_path: path });
		}
		const written = one.stored(one.transcript);
		// The hook has not seen the last line yet: the result of its last call.
		const last = written.lastIndexOf("\n", written.length - 2);
		const lost = written.slice(0, last).replaceAll(/[^\n]/g, "-");
		writeFileSync(one.transcript, lost + written.slice(last));
		return (await one.call(readCall(file, text(60)))).text.includes("[strata: lines");
	}

	test("are those of the last 16 conversations", async () => {
		expect(await isKnownAfter(15)).toBe(true);
		expect(await isKnownAfter(16)).toBe(false);
	});

	test("are fewer if they are long, but always the last one", async () => {
		expect(await isKnownAfter(0, 1)).toBe(true);
		expect(await isKnownAfter(1, 1)).toBe(false);
		expect(await isKnownAfter(1, 1_000_000)).toBe(true);
	});
});
