/** The kota tools as guests of pi: consent, progress, budgets, commands and briefings, with an engine of the test's. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { codeTools } from "../../src/code/tool-definitions.ts";
import { CodeIndexError } from "../../src/codeindex/index.ts";
import { coverage, type FakeIndex, fakeIndex, file, usage } from "../code/fake-index.ts";
import { type KotaOptions, startKota } from "../support/kota-session.ts";
import { sdk } from "../support/pi-sdk.ts";

const usages = async () => ({
	symbol: "render",
	definitions: [
		{
			path: "src/render.ts",
			line: 3,
			column: 17,
			kind: "function" as const,
			exported: true,
			signature: "export function render(): void",
			usages: Array.from({ length: 5000 }, (_, at) =>
				usage(`packages/p${at % 50}/src/file-${at}.ts`, at),
			),
		},
	],
	coverage: coverage({ checkedMs: Date.now() }),
});
const taskContext = async ({ files }: { files: readonly string[] }) => ({
	targets: files.map((path) => ({
		path,
		dependencies: ["src/dep.ts"],
		dependentCount: 2,
		symbols: [],
	})),
	impacted: [file("src/user.ts")],
	impactedCount: 2,
	tests: ["test/a.test.ts"],
	unknown: [],
	coverage: coverage(),
});
const search = async () => ({ hits: [], total: 0, coverage: coverage({ checkedMs: Date.now() }) });

function start(index: FakeIndex, options: KotaOptions = {}) {
	return startKota({ openEngine: async () => index, ...options });
}

/** Dialogs that answer in order, and record what they were asked. */
function dialogs(...answers: boolean[]) {
	const asked: string[] = [];
	const confirm = async (title: string) => {
		asked.push(title);
		return answers.shift() ?? false;
	};
	return { asked, uiContext: { confirm } };
}

describe("what the model is told of the tools", () => {
	test("is small: names, descriptions and schemas of all eight", () => {
		const bytes = codeTools.map(({ name, description, parameters }) =>
			Buffer.byteLength(JSON.stringify({ name, description, parameters })),
		);
		expect(bytes).toHaveLength(8);
		expect(bytes.reduce((sum, size) => sum + size)).toBeLessThan(3000);
	});

	test("reaches the model with each tool active", async () => {
		const { pi } = await start(fakeIndex());
		const active = pi.session.getActiveToolNames();
		expect(codeTools.filter(({ name }) => !active.includes(name))).toEqual([]);
	});
});

describe("the first question of a project", () => {
	test("asks the user, shows progress, and is answered", async () => {
		const index = fakeIndex({ search }, "absent");
		const { asked, uiContext } = dialogs(true);
		const { pi, call, statuses } = await start(index, { uiContext });
		const updates: unknown[] = [];
		pi.session.subscribe((event) => {
			if (event.type === "tool_execution_update") updates.push(event.partialResult);
		});
		const { text, isError } = await call("kota_search", { query: "nothing" });
		expect(updates).toMatchObject([
			{ content: [{ type: "text", text: "indexing: parsing, 60 of 120 (50 %)" }] },
		]);
		expect([isError, asked]).toEqual([false, ["Index this project?"]]);
		expect(text).toMatch(/^Nothing matches "nothing"/);
		expect(statuses[0]).toMatch(/^kota: stopped repo: pi-strata cwd-\S+ indexed: not checked yet$/);
		expect(statuses).toContainEqual(expect.stringContaining("indexing: parsing, 60 of 120 (50 %)"));
		expect(statuses.at(-1)).toMatch(/^kota: running repo: pi-strata cwd-\S+ indexed: yes$/);
	});

	test("declined, is an error that tells the model how to go on", async () => {
		const { uiContext, asked } = dialogs(false);
		const { call } = await start(fakeIndex({ search }, "absent"), { uiContext });
		for (let time = 1; time <= 2; time++) {
			const { text, isError } = await call("kota_search", { query: "x" });
			expect([isError, text]).toEqual([true, expect.stringContaining("go on with read and grep")]);
		}
		expect(asked).toHaveLength(1);
	});

	test("without a user is an error with the setting and the command", async () => {
		const { call } = await start(fakeIndex({ search }, "absent"));
		const { text, isError } = await call("kota_search", { query: "x" });
		expect(isError).toBe(true);
		expect(text).toMatch(/kota\.confirmIndex/);
		expect(text).toMatch(/strata index/);
	});

	test("without a question where the user does not want one", async () => {
		const { call } = await start(fakeIndex({ search }, "absent"), {
			kota: { confirmIndex: false },
		});
		expect((await call("kota_index", {})).text).toMatch(
			/^The index is up to date: 120 files, 120 added \(1\.3 s\)\.\n\[120 files indexed; /,
		);
	});

	test("a project cannot switch the question off", async () => {
		const { pi, call } = await start(fakeIndex({ search }, "absent"));
		pi.write(".pi/strata.json", '{ "kota": { "confirmIndex": false } }');
		await pi.newSession();
		expect((await call("kota_search", { query: "x" })).isError).toBe(true);
	});
});

describe("an answer that is too large", () => {
	test("is kept, and its excerpt is within the budget", { tags: "slow" }, async () => {
		const { call } = await start(fakeIndex({ usages }));
		const { text, details } = await call("kota_usages", { symbol: "render" });
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(5000);
		expect(details).toMatchObject({ truncated: true, excerptBytes: Buffer.byteLength(text) });
		const whole = readFileSync(String(details?.blobPath), "utf8");
		expect(details?.originalBytes).toBe(Buffer.byteLength(whole));
		expect(whole).toContain("file-4999.ts  4999:5 call");
		expect(text).toContain(String(details?.blobPath));
	});

	test("can be read on from its blob by the model", { tags: "slow" }, async () => {
		const { pi, call } = await start(fakeIndex({ usages }));
		const { details } = await call("kota_usages", { symbol: "render" });
		const args = { path: String(details?.blobPath), offset: 1, limit: 2 };
		await pi.run("more", [{ tool: "read", args, id: "r" }, "done"]);
		expect(pi.textOf("r")).toContain("render: 1 definition, 5,000 usages in 5,000 files");
	});

	test("follows the setting", async () => {
		const { call } = await start(fakeIndex({ usages }), { kota: { maxAnswerBytes: 700 } });
		const { text } = await call("kota_usages", { symbol: "render" });
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(700);
	});

	test("is not kept where the user wants none kept", async () => {
		const { call } = await start(fakeIndex({ usages }), { blobs: { enabled: false } });
		const { text, details } = await call("kota_usages", { symbol: "render" });
		expect(text).toContain("not kept (blobs.enabled is false)");
		expect(details).not.toHaveProperty("blobId");
	});

	test("is offered whole to a user, until they say no", { tags: "slow" }, async () => {
		const { asked, uiContext } = dialogs(true, false, true);
		const { call } = await start(fakeIndex({ usages }), { uiContext });
		const sizes = [];
		for (let time = 1; time <= 3; time++) {
			const { text } = await call("kota_usages", { symbol: "render" });
			sizes.push(Buffer.byteLength(text) > 5000);
		}
		expect(sizes).toEqual([true, false, false]);
		expect(asked).toEqual(Array(2).fill("kota_usages: the answer was shortened"));
	});

	test("is not offered where the user does not want to be asked", async () => {
		const { asked, uiContext } = dialogs(true);
		const { call } = await start(fakeIndex({ usages }), { uiContext, kota: { offerWhole: false } });
		await call("kota_usages", { symbol: "render" });
		expect(asked).toEqual([]);
	});
});

describe("a call", () => {
	test("gives the engine paths of the project, whatever way they are written", async () => {
		const seen: unknown[] = [];
		const index = fakeIndex({
			taskContext: async (query) => {
				seen.push(query.files);
				return taskContext(query);
			},
		});
		const { pi, call } = await start(index);
		const path = pi.write("src/a.ts", "");
		await call("kota_task_context", { files: [path, "./src/a.ts", "@src/a.ts"] });
		await call("kota_task_context", { files: "src/a.ts" }); // a string where a list is wanted
		expect(seen).toEqual([["src/a.ts"], ["src/a.ts"]]);
	});

	test("that the engine refuses is an error with its words", async () => {
		const index = fakeIndex({
			dependencies: () => Promise.reject(new CodeIndexError("unknown-file", "no such file: x.ts")),
		});
		const { call } = await start(index);
		expect(await call("kota_deps", { file_path: "x.ts" })).toMatchObject({
			isError: true,
			text: expect.stringContaining("no such file: x.ts"),
		});
	});

	test("with a wrong type is refused by pi, before the engine is opened", async () => {
		const index = fakeIndex({ search });
		const { call } = await start(index);
		expect((await call("kota_search", { query: ["a"], limit: {} })).isError).toBe(true);
		expect((await call("kota_search", { query: "x", output: "everything" })).isError).toBe(true);
		expect(index.calls).toEqual([]);
	});

	test("that is aborted ends, and the engine is told", async () => {
		const index = fakeIndex({
			search: (_query, options) =>
				new Promise((_resolve, reject) => {
					const end = () => reject(new CodeIndexError("aborted", "stopped at file 7"));
					options?.signal?.addEventListener("abort", end);
					void pi.session.abort();
				}),
		});
		const { pi } = await start(index);
		await pi.run("go", [{ tool: "kota_search", args: { query: "x" }, id: "aborted" }]);
		expect(pi.toolResults()).toMatchObject([{ toolCallId: "aborted", isError: true }]);
		expect(pi.textOf("aborted")).toContain("aborted");
		expect(pi.textOf("aborted")).not.toContain("file 7");
	});

	test("kota_index of another folder is refused", async () => {
		const { call } = await start(fakeIndex({}, "absent"), { kota: { confirmIndex: false } });
		const { text, isError } = await call("kota_index", { path: ".." });
		expect([isError, text]).toEqual([true, expect.stringMatching(/outside of the project/)]);
	});
});

describe("/kota", () => {
	test("status tells the engine, the index, what is kept and the settings in force", async () => {
		const { ask } = await start(fakeIndex(), { mode: "rpc", uiContext: {} });
		const text = await ask("/kota status");
		expect(text.split("\n")).toEqual([
			"kota: running (embedded engine)",
			"project: /project",
			"indexed: yes",
			expect.stringMatching(/^contents: 120 files, 900 symbols, last changed .* ago$/),
			"database: /cache/index.db (5.0 MB)",
			expect.stringMatching(/^whole answers kept: 0, 0\.0 MB in .*blobs$/),
			"settings: autoContext off, confirmIndex true, maxAnswerBytes 5000; from strata.json",
		]);
		expect(await ask("/kota")).toBe(text);
	});

	test("status of an engine that does not start says why", async () => {
		const { ask } = await startKota({
			mode: "rpc",
			openEngine: () => Promise.reject(new Error("bun: command not found")),
		});
		const text = await ask("/kota status");
		expect(text).toContain("kota: stopped");
		expect(text).toContain("bun: command not found");
	});

	test("index asks and indexes", async () => {
		const { asked, uiContext } = dialogs(true);
		const { ask } = await start(fakeIndex({}, "absent"), { mode: "rpc", uiContext });
		expect(await ask("/kota index")).toContain("120 added");
		expect(await ask("/kota index")).toContain("nothing had changed");
		expect(asked).toHaveLength(1);
	});

	test("index without dialogs is consent enough", async () => {
		const index = fakeIndex({}, "absent");
		const { ask } = await start(index, { mode: "json" });
		expect(await ask("/kota index")).toContain("120 added");
	});

	test("restart opens the engine anew", async () => {
		const indexes: FakeIndex[] = [];
		const { ask } = await startKota({
			mode: "json",
			openEngine: async () => {
				const index = fakeIndex();
				indexes.push(index);
				return index;
			},
		});
		await ask("/kota status");
		expect(await ask("/kota restart")).toBe("kota: running");
		expect(indexes.map(({ closed }) => closed)).toEqual([true, false]);
	});

	test("anything else is explained, and its commands are completed", async () => {
		const { pi, ask } = await start(fakeIndex(), { mode: "json" });
		expect(await ask("/kota dance")).toMatch(/no command "dance"\n\/kota status/);
		expect(await ask("/kota help")).toMatch(/^\/kota status/);
		const command = pi.session.extensionRunner.getCommand("kota");
		expect(await command?.getArgumentCompletions?.("re")).toEqual([
			{ value: "restart", label: "restart" },
		]);
	});
});

describe("autoContext", () => {
	const briefed = (messages: readonly { role: string; content: unknown }[]) =>
		messages.filter(
			({ role, content }) => role === "user" && JSON.stringify(content).includes("Context of"),
		);

	test("off adds nothing and opens nothing", async () => {
		const index = fakeIndex({ taskContext });
		const { pi } = await start(index);
		pi.write("src/a.ts", "");
		await pi.run("fix src/a.ts", ["ok"]);
		expect(briefed(pi.lastContext())).toEqual([]);
		expect(index.calls).toEqual([]);
	});

	test("onPaths adds a tiny briefing behind a prompt that names files, once", async () => {
		const { pi } = await start(fakeIndex({ taskContext }), { kota: { autoContext: "onPaths" } });
		pi.write("src/a.ts", "");
		await pi.run("fix src/a.ts:12 please", ["ok"]);
		expect(briefed(pi.lastContext())).toHaveLength(1);
		expect(JSON.stringify(briefed(pi.lastContext()))).toContain(
			"Context of src/a.ts\\nimports:\\n  src/dep.ts\\nused by (1 of 2):\\n  src/user.ts\\ntests:\\n  test/a.test.ts\\n",
		);
		await pi.run("and src/a.ts again", ["ok"]);
		await pi.run("and nothing named", ["ok"]);
		expect(briefed(pi.lastContext())).toHaveLength(1);
	});

	test("onPaths leaves prompts alone that name no file, or more than three", async () => {
		const index = fakeIndex({ taskContext });
		const { pi } = await start(index, {
			kota: { autoContext: "onPaths" },
			mode: "rpc",
			uiContext: {},
		});
		const paths = ["a", "b", "c", "d"].map((name) => `src/${name}.ts`);
		for (const path of paths) pi.write(path, "");
		await pi.run("hello", ["ok"]);
		await pi.run(paths.join(" "), ["ok"]);
		expect(briefed(pi.lastContext())).toEqual([]);
		expect(index.calls).toEqual([]);
		expect(pi.notifications.map(({ message }) => message)).toEqual([
			expect.stringMatching(/names 4 files.*kota_task_context/),
		]);
	});

	test("always also takes the files of the turn before", async () => {
		const { pi } = await start(fakeIndex({ taskContext }), { kota: { autoContext: "always" } });
		pi.write("src/a.ts", "x");
		await pi.run("read it", [{ tool: "read", args: { path: "src/a.ts" } }, "done"]);
		expect(briefed(pi.lastContext())).toEqual([]);
		await pi.run("now go on", ["ok"]);
		expect(JSON.stringify(briefed(pi.lastContext()))).toContain("Context of src/a.ts");
	});

	test("asks to index where that was never done, and goes on without a briefing after a no", async () => {
		const { asked, uiContext } = dialogs(false);
		const { pi } = await start(fakeIndex({ taskContext }, "absent"), {
			uiContext,
			kota: { autoContext: "onPaths" },
		});
		pi.write("src/a.ts", "");
		for (let time = 1; time <= 2; time++) await pi.run("fix src/a.ts", ["ok"]);
		expect(asked).toHaveLength(1);
		expect(briefed(pi.lastContext())).toEqual([]);
		expect(pi.notifications).toHaveLength(1);
	});

	test("after a yes the briefing comes with the same prompt", async () => {
		const { uiContext } = dialogs(true);
		const { pi } = await start(fakeIndex({ taskContext }, "absent"), {
			uiContext,
			kota: { autoContext: "onPaths" },
		});
		pi.write("src/a.ts", "");
		await pi.run("fix src/a.ts", ["ok"]);
		expect(briefed(pi.lastContext())).toHaveLength(1);
	});

	test("never stops a prompt: an engine that fails, or nobody to ask, means no briefing", async () => {
		for (const index of [fakeIndex({}), fakeIndex({ taskContext }, "absent")]) {
			const { pi } = await start(index, { kota: { autoContext: "onPaths" } });
			pi.write("src/a.ts", "");
			await pi.run("fix src/a.ts", ["ok"]);
			expect(briefed(pi.lastContext())).toEqual([]);
		}
	});
});

test("a prompt that names only files outside of the index goes without a briefing, and without a word", async () => {
	const notified: string[] = [];
	const index = fakeIndex({
		taskContext: async () => {
			throw new CodeIndexError("unknown-file", "src/a.ts is not in the index.");
		},
	});
	const notify = (message: string) => void notified.push(message);
	const { pi } = await start(index, {
		kota: { autoContext: "onPaths" },
		uiContext: { notify },
	});
	pi.write("src/a.ts", "");
	await pi.run("fix src/a.ts", ["ok"]);
	expect(index.calls).toContain("taskContext");
	expect(notified).toEqual([]);
});

describe("the engine", () => {
	test("is not opened by a session that asks nothing", async () => {
		const index = fakeIndex();
		const { pi } = await start(index);
		await pi.run("hello", ["hi"]);
		await pi.newSession();
		expect(index.calls).toEqual([]);
	});

	test("is closed with the session, and opened again by the next", async () => {
		const index = fakeIndex({ search });
		const { pi, call } = await start(index, {
			openEngine: async () => {
				index.closed = false;
				return index;
			},
		});
		await call("kota_search", { query: "x" });
		await pi.newSession();
		expect(index.closed).toBe(true);
		expect((await call("kota_search", { query: "x" })).isError).toBe(false);
	});
});

describe("in pi's terminal", () => {
	const theme = { fg: (_color: string, text: string) => text, bold: (text: string) => text };

	test("a call is a line, and an answer is folded until somebody unfolds it", async () => {
		const { pi } = await start(fakeIndex());
		sdk.initTheme("dark");
		const tool = pi.session.getToolDefinition("kota_usages");
		const render = (component: unknown) =>
			(component as { render(width: number): string[] }).render(200).map((line) => line.trimEnd());
		expect(
			render(tool?.renderCall?.({ symbol: "a\u001b[2Jb" }, theme as never, {} as never)),
		).toEqual(["kota_usages a�[2Jb"]);
		expect(render(tool?.renderCall?.({}, theme as never, {} as never))).toEqual(["kota_usages"]);
		const result = {
			content: [
				{
					type: "text" as const,
					text: Array.from({ length: 9 }, (_, at) => `line ${at}`).join("\n"),
				},
			],
			details: {
				truncated: true,
				blobPath: "/blobs/x.txt",
				originalBytes: 12_345,
				excerptBytes: 60,
			},
		};
		const shown = (expanded: boolean) =>
			render(
				tool?.renderResult?.(result, { expanded, isPartial: false }, theme as never, {} as never),
			);
		expect(shown(false).slice(0, 4)).toEqual(["line 0", "line 1", "line 2", "line 3"]);
		expect(shown(false)[4]).toMatch(
			/5 more lines.*shortened from 12\.3 KB, whole answer: \/blobs\/x\.txt/,
		);
		expect(shown(true).slice(0, 9)).toEqual(Array.from({ length: 9 }, (_, at) => `line ${at}`));
	});
});
