import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ExtensionAPI, VERSION } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { runPi, startPiProcess } from "../support/pi-process.ts";
import { sdk } from "../support/pi-sdk.ts";
import { type PiHarness, startPi } from "../support/pi-session.ts";
import { tempDir } from "../support/temp.ts";

const read = (path: string, id: string) => ({ tool: "read", args: { path }, id });

/** An extension that writes down the life of each of its instances. */
function diary() {
	const lines: string[] = [];
	let instances = 0;
	const factory = (pi: ExtensionAPI) => {
		instances += 1;
		const me = instances;
		pi.on("session_start", (event) => void lines.push(`${me} start ${event.reason}`));
		pi.on("session_shutdown", (event) => void lines.push(`${me} shutdown ${event.reason}`));
		pi.on("session_tree", () => void lines.push(`${me} tree`));
		pi.on("session_compact", () => void lines.push(`${me} compact`));
	};
	return { lines, extension: { name: "diary", factory } };
}

function entryOfPrompt(pi: PiHarness, prompt: string): string {
	const found = pi.session.getUserMessagesForForking().find(({ text }) => text === prompt);
	if (!found) throw new Error(`No prompt "${prompt}"`);
	return found.entryId;
}

function userTexts(pi: PiHarness): string[] {
	return pi
		.lastContext()
		.filter((message) => message.role === "user")
		.map(({ content }) =>
			typeof content === "string"
				? content
				: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
		);
}

test("the session, the process and the source under test have the same pi", {
	tags: "slow",
}, async () => {
	const { stdout, stderr } = await runPi(["--version"]);
	expect([VERSION, (stdout || stderr).trim()]).toEqual([sdk.VERSION, sdk.VERSION]);
});

describe("a scripted run", () => {
	test("uses pi's real tools and gives the model exactly what they returned", async () => {
		const pi = await startPi();
		pi.write("src/a.txt", "alpha\nbeta");
		await pi.run("change a.txt", [
			read("src/a.txt", "r1"),
			{ tool: "write", args: { path: "src/b.txt", content: "gamma" }, id: "w1" },
			"done",
		]);

		expect(pi.textOf("r1")).toBe("alpha\nbeta");
		expect(readFileSync(join(pi.cwd, "src/b.txt"), "utf8")).toBe("gamma");
		expect(pi.contexts).toHaveLength(3);
		expect(pi.contexts.map((context) => context.map((message) => message.role))).toEqual([
			["system", "user"],
			["system", "user", "assistant", "toolResult"],
			["system", "user", "assistant", "toolResult", "assistant", "toolResult"],
		]);
		expect(pi.seenTextOf("r1")).toBe("alpha\nbeta");
		expect(pi.toolResults()).toMatchObject([
			{ toolCallId: "r1", toolName: "read", text: "alpha\nbeta", isError: false },
			{ toolCallId: "w1", toolName: "write", isError: false },
		]);
	});

	test("makes several calls in one assistant message, with text", async () => {
		const pi = await startPi();
		pi.write("a.txt", "alpha");
		pi.write("b.txt", "beta");
		await pi.run("read both", [
			["both at once", read("a.txt", "a"), read("b.txt", "b"), read("missing.txt", "c")],
			"done",
		]);

		expect(pi.lastContext().map((message) => message.role)).toEqual([
			"system",
			"user",
			"assistant",
			"toolResult",
			"toolResult",
			"toolResult",
		]);
		expect(pi.toolResults().map(({ toolCallId, isError }) => [toolCallId, isError])).toEqual([
			["a", false],
			["b", false],
			["c", true],
		]);
	});

	test("can answer from the context, and an assertion in there fails the run", async () => {
		const pi = await startPi();
		await pi.run("count", [(context) => `${context.length} messages`]);
		expect(pi.session.getLastAssistantText()).toBe("2 messages");

		const failing = pi.run("again", [
			(context) => {
				expect(context).toHaveLength(0);
				return "never said";
			},
		]);
		await expect(failing).rejects.toThrow(/length/);
	});

	test("fails when the script and the requests do not match in number", async () => {
		const pi = await startPi();
		await expect(pi.run("hi", ["one", "two"])).rejects.toThrow(
			"2 steps, but the model was asked 1",
		);
		await expect(pi.run("hi", [])).rejects.toThrow("0 steps, but the model was asked 1");
	});

	test("offers only the tools asked for", async () => {
		const pi = await startPi({ tools: ["read"] });
		expect(pi.session.getActiveToolNames()).toEqual(["read"]);
	});
});

describe("extensions", () => {
	test("may rewrite the tool results of another, in load order", async () => {
		const note = (text: string) => ({
			name: text,
			factory: (pi: ExtensionAPI) => {
				pi.on("tool_result", (event) => ({
					content: [...event.content, { type: "text" as const, text }],
				}));
			},
		});
		const pi = await startPi({ extensions: [note("first"), note("second")] });
		pi.write("a.txt", "alpha");
		await pi.run("read", [read("a.txt", "r1"), "done"]);
		expect(pi.seenTextOf("r1")).toBe("alpha\nfirst\nsecond");
	});

	test("may bring tools and details", async () => {
		const factory = (pi: ExtensionAPI) =>
			pi.registerTool({
				name: "shout",
				label: "shout",
				description: "Shouts.",
				parameters: Type.Object({ text: Type.String() }),
				execute: async (_id, { text }) => ({
					content: [{ type: "text", text: text.toUpperCase() }],
					details: { length: text.length },
				}),
			});
		const pi = await startPi({ extensions: [{ name: "shout", factory }] });
		await pi.run("shout", [{ tool: "shout", args: { text: "hey" } }, "done"]);
		expect(pi.toolResults()).toMatchObject([
			{ toolCallId: "call-1", text: "HEY", details: { length: 3 } },
		]);
	});

	test("have commands, reports and notifications, and may ask the user and the model", async () => {
		const factory = (pi: ExtensionAPI) => {
			pi.registerCommand("count", {
				description: "counts",
				handler: async (args, ctx) => {
					pi.appendEntry("count-report", { text: args });
					ctx.ui.notify(`counted ${args}`, "warning");
					const name = await ctx.ui.input("Who?");
					pi.sendUserMessage(`I am ${name}`);
				},
			});
		};
		const pi = await startPi({
			extensions: [{ name: "counter", factory }],
			mode: "rpc",
			uiContext: { input: async () => "Ada" },
		});
		await pi.command("/count to ten", ["hello Ada"]);

		expect(pi.reports).toMatchObject([{ customType: "count-report", data: { text: "to ten" } }]);
		expect(pi.notifications).toEqual([{ message: "counted to ten", type: "warning" }]);
		expect(userTexts(pi)).toEqual(["I am Ada"]);
		await expect(pi.command("/missing")).rejects.toThrow('the command "/missing"');
	});

	test("find the folders of the harness, and a user interface in the modes that have one", async () => {
		const seen: unknown[] = [];
		const factory = (pi: ExtensionAPI) => {
			pi.on("session_start", (_event, ctx) => {
				ctx.ui.setStatus("look", ctx.hasUI ? ctx.ui.theme.fg("dim", "ready") : "");
				seen.push(ctx.cwd, sdk.getAgentDir(), ctx.mode, ctx.hasUI);
			});
		};
		const extensions = [{ name: "look", factory }];
		const one = await startPi({ extensions });
		const two = await startPi({ extensions, mode: "tui" });
		expect(seen.slice(0, 4)).toEqual([one.cwd, one.agentDir, "print", false]);
		expect(seen.slice(4)).toEqual([two.cwd, two.agentDir, "tui", true]);
	});

	test("that fail to load stop the start", async () => {
		const factory = () => {
			throw new Error("no luck");
		};
		const started = startPi({ extensions: [{ name: "bad", factory }] });
		await expect(started).rejects.toThrow("no luck");
	});

	test("that fail later, or that claim the same tool, are errors until the test takes them", async () => {
		const factory = (pi: ExtensionAPI) => {
			pi.registerTool(sdk.createReadToolDefinition(process.cwd()));
			pi.on("agent_start", () => {
				throw new Error("oops");
			});
		};
		const pi = await startPi({
			extensions: [
				{ name: "one", factory },
				{ name: "two", factory },
			],
		});
		await pi.run("hi", ["hello"]);
		expect(pi.errors.map(({ event, error }) => [event, error])).toEqual([
			["load", expect.stringContaining('Tool "read" conflicts')],
			["agent_start", "oops"],
			["agent_start", "oops"],
		]);

		const other = await startPi({ extensions: [{ name: "one", factory }] });
		await other.run("hi", ["hello"]);
		await expect(other.close()).rejects.toThrow("agent_start: Error: oops");
		await other.close();
		pi.errors.splice(0);
	});
});

describe("what the model sees", () => {
	test("changes with tree navigation, without and with a summary", async () => {
		const { lines, extension } = diary();
		const pi = await startPi({ extensions: [extension] });
		await pi.run("one", ["first"]);
		const afterOne = pi.sessionManager.getLeafId() ?? "";
		await pi.run("two", ["second"]);

		await pi.navigate(afterOne);
		await pi.run("three", ["third"]);
		expect(userTexts(pi)).toEqual(["one", "three"]);

		await pi.navigate(afterOne, { summary: "there was a third" });
		await pi.run("four", ["fourth"]);
		expect(userTexts(pi)).toEqual(["one", expect.stringContaining("there was a third"), "four"]);
		expect(pi.summaryRequests).toHaveLength(1);
		expect(pi.contexts).toHaveLength(4);
		expect(lines).toEqual(["1 start startup", "1 tree", "1 tree"]);
	});

	test("changes with compaction by hand", async () => {
		const { lines, extension } = diary();
		const pi = await startPi({ extensions: [extension] });
		pi.write("a.txt", "alpha");
		await pi.run("one", [read("a.txt", "r1"), "first"]);
		await pi.compact("they read a file");
		await pi.run("two", ["second"]);

		expect(pi.textOf("r1")).toBe("alpha");
		expect(pi.seenTextOf("r1")).toBeUndefined();
		expect(userTexts(pi)).toEqual([expect.stringContaining("they read a file"), "two"]);
		expect(JSON.stringify(pi.summaryRequests)).toContain("alpha");
		expect(lines).toEqual(["1 start startup", "1 compact"]);
	});

	test("changes with compaction that pi starts itself", async () => {
		const pi = await startPi({
			contextWindow: 40_000,
			compaction: { enabled: true, reserveTokens: 30_000 },
		});
		await pi.run("many words ".repeat(6_000), ["first", { summary: "a long prompt" }]);
		await pi.run("two", ["second"]);
		expect(userTexts(pi)).toEqual([expect.stringContaining("a long prompt"), "two"]);

		const unforeseen = pi.run("many words ".repeat(6_000), ["third", "fourth"]);
		await expect(unforeseen).rejects.toThrow("pi asked for a summary, but the next step");
	});

	test("changes with context edits, not what is stored", async () => {
		const pi = await startPi({ thinking: "free" });
		pi.write("a.txt", "alpha");
		await pi.run("one", [[read("a.txt", "r1"), read("a.txt", "r2")], "first"]);
		const [first] = pi.toolResults();
		pi.editContext(first?.entryId ?? "", "[gone]");
		pi.editContext(entryOfPrompt(pi, "one"), null);
		await pi.run("two", ["second"]);

		expect(pi.seenTextOf("r1")).toBe("[gone]");
		expect(pi.seenTextOf("r2")).toBe("alpha");
		expect(pi.textOf("r1")).toBe("alpha");
		expect(userTexts(pi)).toEqual(["two"]);
	});
});

describe("another session", () => {
	for (const persist of [false, true]) {
		test(`by fork carries the branch so far (${persist ? "file" : "memory"})`, async () => {
			const { lines, extension } = diary();
			const pi = await startPi({ extensions: [extension], persist });
			await pi.run("one", ["first"]);
			const afterOne = pi.sessionManager.getLeafId() ?? "";
			await pi.run("two", ["second"]);

			await pi.fork(afterOne);
			await pi.run("three", ["third"]);
			expect(userTexts(pi)).toEqual(["one", "three"]);

			const back = await pi.fork(entryOfPrompt(pi, "three"), "before");
			expect(back.selectedText).toBe("three");
			expect(lines).toEqual([
				"1 start startup",
				"1 shutdown fork",
				"2 start fork",
				"2 shutdown fork",
				"3 start fork",
			]);
		});
	}

	test("by a command of an extension is followed, and reload starts extensions afresh", async () => {
		const { lines, extension } = diary();
		const factory = (pi: ExtensionAPI) => {
			pi.registerCommand("leave", {
				handler: async (_args, ctx) => {
					await ctx.newSession({ withSession: (next) => next.sendUserMessage("arrived") });
				},
			});
		};
		const pi = await startPi({ extensions: [extension, { name: "leave", factory }] });
		await pi.run("one", ["first"]);
		await pi.command("/leave", ["welcome"]);
		expect(userTexts(pi)).toEqual(["arrived"]);

		await pi.session.reload();
		await pi.run("two", ["second"]);
		expect(userTexts(pi)).toEqual(["arrived", "two"]);
		expect(lines).toEqual([
			"1 start startup",
			"1 shutdown new",
			"2 start new",
			"2 shutdown reload",
			"3 start reload",
		]);
	});

	test("that cannot start leaves a harness that can be closed", async () => {
		let instances = 0;
		const factory = () => {
			instances += 1;
			if (instances > 1) throw new Error("once is enough");
		};
		const pi = await startPi({ extensions: [{ name: "once", factory }] });
		await expect(pi.newSession()).rejects.toThrow("once is enough");
		await pi.close();
	});

	test("by new is empty", async () => {
		const { lines, extension } = diary();
		const pi = await startPi({ extensions: [extension] });
		await pi.run("one", ["first"]);
		await pi.newSession();
		await pi.run("two", ["second"]);
		expect(userTexts(pi)).toEqual(["two"]);
		expect(lines).toEqual(["1 start startup", "1 shutdown new", "2 start new"]);
	});

	test("by resume or restart goes on from the file with fresh extensions", async () => {
		const { lines, extension } = diary();
		const pi = await startPi({ extensions: [extension], persist: true });
		await expect(pi.resume()).rejects.toThrow("No session file yet");
		pi.write("a.txt", "alpha");
		await pi.run("one", [read("a.txt", "r1"), "first"]);
		const before = pi.lastContext();

		await pi.resume();
		await pi.run("two", ["second"]);
		expect(pi.lastContext().slice(0, before.length)).toEqual(before);

		await pi.restart();
		await pi.run("three", ["third"]);
		expect(userTexts(pi)).toEqual(["one", "two", "three"]);
		expect(pi.textOf("r1")).toBe("alpha");
		expect(lines).toEqual([
			"1 start startup",
			"1 shutdown resume",
			"2 start resume",
			"2 shutdown quit",
			"3 start startup",
		]);
	});

	test("can be opened from the file of a closed one", async () => {
		const dirs = { cwd: tempDir(), agentDir: tempDir() };
		const first = await startPi({ ...dirs, persist: true });
		await first.run("one", ["first"]);
		const sessionFile = first.session.sessionFile ?? "";
		await first.close();

		const second = await startPi({ ...dirs, sessionFile });
		await second.run("two", ["second"]);
		expect(userTexts(second)).toEqual(["one", "two"]);
	});
});

test("closing ends the session once and removes what the harness made", async () => {
	const { lines, extension } = diary();
	const agentDir = tempDir();
	const pi = await startPi({ extensions: [extension], agentDir });
	await pi.close();
	await pi.close();
	expect(lines).toEqual(["1 start startup", "1 shutdown quit"]);
	expect([existsSync(pi.cwd), existsSync(agentDir)]).toEqual([false, true]);
	expect(process.env.PI_CODING_AGENT_DIR).not.toBe(agentDir);
	expect(() => pi.session).toThrow("closed");
});

describe("a pi process", () => {
	const source = `export default function (pi) {
		pi.registerCommand("hello", {
			description: "greets",
			handler: async (args, ctx) => {
				if (ctx.mode === "print") require("node:fs").writeSync(1, "hello " + args);
				else if (await ctx.ui.confirm("Sure?", args)) ctx.ui.notify("hello " + args, "info");
			},
		});
	}`;

	test("answers commands, reports events and takes answers to dialogs", {
		tags: "slow",
	}, async () => {
		const pi = await startPiProcess({ args: ["-e", extensionFile(source)] });
		const { success, data } = await pi.request({ type: "get_commands" });
		expect(success).toBe(true);
		expect(data).toMatchObject({ commands: expect.arrayContaining([namedHello]) });

		const prompted = pi.request({ type: "prompt", message: "/hello you" });
		const dialog = await pi.waitFor((event) => event.method === "confirm");
		pi.send({ type: "extension_ui_response", id: dialog.id, confirmed: true });
		await pi.waitFor((event) => event.message === "hello you");
		expect(await prompted).toMatchObject({ success: true });

		const state = await pi.request({ type: "get_state" });
		expect(state).toMatchObject({ success: true });
		expect(await pi.close()).toBe(0);
		expect(await pi.close()).toBe(0);
	});

	test("installs a package for later processes, and prints", { tags: "slow" }, async () => {
		const dirs = { cwd: tempDir(), agentDir: tempDir() };
		const installed = await runPi(["install", extensionFile(source)], dirs);
		expect(installed).toMatchObject({ status: 0 });

		const pi = await startPiProcess(dirs);
		const { data } = await pi.request({ type: "get_commands" });
		expect(data).toMatchObject({ commands: expect.arrayContaining([namedHello]) });
		expect(await runPi(["-p", "/hello you"], dirs)).toMatchObject({ stdout: "hello you" });
	});

	test("says why it ended or what it did not do in time", { tags: "slow" }, async () => {
		const broken = startPiProcess({ args: ["--no-such-option"] });
		await expect(broken).rejects.toThrow(
			/pi ended before the answer to get_state.*no-such-option/s,
		);

		const late = runPi(["--version"], { timeoutMs: 1 });
		await expect(late).rejects.toThrow("pi was still running after 1 ms");

		const pi = await startPiProcess();
		const never = pi.waitFor(() => false, 50);
		await expect(never).rejects.toThrow("50 ms passed before an event");
	});

	const namedHello = expect.objectContaining({ name: "hello", source: "extension" });

	function extensionFile(text: string): string {
		const path = join(tempDir(), "hello.ts");
		writeFileSync(path, text);
		return path;
	}
});
