/** Results that are shortened before their first request, in real pi and against a provider with a cache of its own. */
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentSession, CompactionSettings } from "@earendil-works/pi-coding-agent";
import { describe, expect, test, vi } from "vitest";
import { BirthSystem } from "../../src/birth/system.ts";
import { createBlobStore } from "../../src/core/blob-store.ts";
import strata from "../../src/extension/index.ts";
import { isCacheAnswer, touchesExcluded } from "../../src/readcache/index.ts";
import { shortenedOf } from "../../src/session/index.ts";
import { output } from "../birth/results.ts";
import {
	FREE_MODEL,
	type LoopbackRequest,
	startLoopbackAnthropic,
} from "../support/loopback-anthropic.ts";
import { openLoopbackSession } from "../support/loopback-session.ts";
import { oneSystem } from "../support/one-system.ts";
import type { NamedExtension } from "../support/pi-runtime.ts";
import { startPi } from "../support/pi-session.ts";
import { strataExtension } from "../support/read-session.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const LINES = output(60);
const TEXT = `${LINES.join("\n")}\n`;
const SHORT =
	/\[strata: lines \d+-\d+ of the output of `([^`]*)` above, unchanged(?:; full text: read (.*))?\]/;

/** A tool whose results pi passes on as they are, in every version. */
const echo: NamedExtension = {
	name: "echo",
	factory: (pi) =>
		pi.registerTool({
			name: "show",
			label: "show",
			description: "Show a file.",
			parameters: { type: "object", properties: { path: { type: "string" } } } as never,
			execute: async (_id, params, _signal, _update, ctx) => {
				const text = readFileSync(join(ctx.cwd, (params as { path: string }).path), "utf8");
				return { content: [{ type: "text", text }], details: undefined };
			},
		}),
};

async function start(
	settings: Record<string, unknown> = {},
	thinking: "bound" | "free" = "bound",
	compaction?: CompactionSettings,
	others: NamedExtension[] = [],
) {
	const agentDir = tempDir();
	const blobs = { dir: join(tempDir(), "blobs") };
	writeFileSync(join(agentDir, "strata.json"), JSON.stringify({ blobs, ...settings }));
	const extensions = [echo, strataExtension, ...others];
	const pi = await startPi({
		extensions,
		mode: "rpc",
		agentDir,
		persist: true,
		thinking,
		...(compaction && { compaction }),
	});
	let calls = 0;
	/** A prompt in which the model makes one call; returns what it sees of the result. */
	const call = async (tool: string, path: string) => {
		const id = `c${++calls}`;
		await pi.run("go", [{ tool, args: { path }, id }, "done"]);
		return pi.seenTextOf(id) ?? "";
	};
	return { pi, call, blobs: blobs.dir };
}

describe("in a session of pi", () => {
	test("a result refers to lines in view, and the path it names gives back its exact text", async () => {
		const { pi, call } = await start();
		pi.write("a.txt", TEXT);
		pi.write("b.txt", `more\n${TEXT}`);
		expect(await call("show", "a.txt")).toBe(TEXT);
		const shown = await call("show", "b.txt");
		const [, name, path = ""] = SHORT.exec(shown) ?? [];
		expect(name).toBe("show a.txt");
		expect(shown.length).toBeLessThan(400);
		expect(await call("read", path)).toBe(`more\n${TEXT}`);
		await pi.restart();
		pi.write("c.txt", `else\n${TEXT}`);
		expect(await call("show", "c.txt")).toMatch(/^else\n\[strata: lines /);
	});

	test("nothing refers to what a compaction removed, in this process and in the next", async () => {
		const { pi, call } = await start();
		for (const name of ["a", "b", "c"]) pi.write(`${name}.txt`, `${name}\n${TEXT}`);
		await call("show", "a.txt");
		await pi.compact();
		expect(await call("show", "b.txt")).toBe(`b\n${TEXT}`);
		expect(await call("show", "c.txt")).toMatch(SHORT);
	});

	test("what a compaction keeps shows the lines of references to what it removed", async () => {
		for (const thinking of ["bound", "free"] as const) {
			const compaction = { enabled: false, reserveTokens: 1000, keepRecentTokens: 60 };
			const { pi, call } = await start({}, thinking, compaction);
			pi.write("a.txt", TEXT);
			pi.write("b.txt", `more\n${TEXT}`);
			await call("read", "a.txt");
			expect(await call("read", "b.txt")).toMatch(SHORT);
			await pi.compact();
			await pi.run("go on", ["after it"]);
			expect(pi.seenTextOf("c1")).toBeUndefined();
			expect(pi.seenTextOf("c2")).toBe(`more\n${TEXT}`);
			await pi.restart();
			await pi.run("go on", ["and on"]);
			expect(pi.seenTextOf("c2")).toBe(`more\n${TEXT}`);
			// The file is in view again, and later results refer to it.
			expect(await call("read", "b.txt")).toBe("[readcache: unchanged, 62 lines]");
			pi.write("c.txt", `else\n${TEXT}`);
			expect(await call("show", "c.txt")).toMatch(/^else\n\[strata: lines 2-62 of .*`read b\.txt`/);
			await pi.close();
		}
	});

	test("a fork and another branch have the lines that their results refer to", async () => {
		const { pi, call } = await start();
		for (const name of ["a", "b", "c"]) pi.write(`${name}.txt`, `${name}\n${TEXT}`);
		await call("show", "a.txt");
		const before = pi.sessionManager.getLeafId() ?? "";
		const shown = await call("show", "b.txt");
		expect(shown).toMatch(SHORT);
		await pi.fork(pi.sessionManager.getLeafId() ?? "");
		expect(await call("show", "c.txt")).toMatch(/^c\n\[strata: lines .*`show [ab]\.txt`/);
		expect(pi.seenTextOf("c2")).toBe(shown);
		expect(pi.seenTextOf("c1")).toBe(`a\n${TEXT}`);
		await pi.navigate(before);
		expect(await call("show", "c.txt")).toMatch(/^c\n\[strata: lines .*`show a\.txt`/);
		expect(pi.seenTextOf("c2")).toBeUndefined();
	});

	test("what another extension makes of a shortened result proves nothing, and keeps its path", async () => {
		const noisy: NamedExtension = {
			name: "noisy",
			factory: (pi) => {
				pi.on("tool_result", ({ toolCallId, content }) => {
					if (toolCallId !== "c2") return undefined;
					return { content: [...content, { type: "text" as const, text: "(checked)" }] };
				});
			},
		};
		const compaction = { enabled: false, reserveTokens: 1000, keepRecentTokens: 60 };
		const { pi, call } = await start({}, "bound", compaction, [noisy]);
		pi.write("a.txt", TEXT);
		pi.write("b.txt", `more\n${TEXT}`);
		await call("read", "a.txt");
		const shown = await call("read", "b.txt");
		const [, , path = ""] = SHORT.exec(shown) ?? [];
		expect(shown).toContain("(checked)");
		// No marker: the file is read again.
		expect(await call("read", "b.txt")).toMatch(/^more\n\[strata: lines 1-61 of .*`read a\.txt`/);
		await pi.compact();
		await pi.run("go on", ["after it"]);
		expect(await call("read", path)).toContain(`more\n${TEXT}`);
	});

	test("off and shadow leave results as they are, and shadow counts", async () => {
		for (const mode of ["off", "shadow"]) {
			const { pi, call } = await start({ birth: { mode } });
			pi.write("a.txt", TEXT);
			pi.write("b.txt", `more\n${TEXT}`);
			await call("show", "a.txt");
			expect(await call("show", "b.txt")).toBe(`more\n${TEXT}`);
			await pi.command("/strata cost");
			const report = JSON.stringify(pi.reports.at(-1)?.data);
			expect(/1 result would have been shorter by/.test(report)).toBe(mode === "shadow");
			await pi.close();
		}
	});

	test("a lost store leaves results as they are when it cannot be written again", async () => {
		const { pi, call, blobs } = await start();
		for (const name of ["a", "b", "c"]) pi.write(`${name}.txt`, `${name}\n${TEXT}`);
		await call("show", "a.txt");
		expect(await call("show", "b.txt")).toMatch(SHORT);
		rmSync(blobs, { recursive: true });
		writeFileSync(blobs, "no folder");
		expect(await call("show", "c.txt")).toBe(`c\n${TEXT}`);
		await pi.command("/strata cost");
		expect(JSON.stringify(pi.reports.at(-1)?.data)).toContain("a result stayed as it was");
	});

	test("the exact text of a result in view outlives its age; other old texts are evicted", async () => {
		const { pi, call, blobs: dir } = await start();
		for (const name of ["a", "b"]) pi.write(`${name}.txt`, `${name}\n${TEXT}`);
		await call("show", "a.txt");
		const [, , path = ""] = SHORT.exec(await call("show", "b.txt")) ?? [];
		const store = createBlobStore({ enabled: true, dir, maxBytes: 1e8, maxAgeDays: 14 });
		const other = await store.keep("of no session");
		const otherPath = other.kind === "kept" ? other.blob.path : "";
		const longAgo = new Date(Date.now() - 100 * 24 * 60 * 60_000);
		for (const name of readdirSync(dir).filter((one) => one.endsWith(".txt")))
			utimesSync(join(dir, name), longAgo, longAgo);
		await pi.restart();
		await vi.waitFor(() => expect(existsSync(otherPath)).toBe(false));
		expect(await call("read", path)).toBe(`b\n${TEXT}`);
	});

	test("the file of a shortened read is in view as long as the lines that it refers to are", async () => {
		const { pi, call } = await start({}, "free");
		pi.write("a.txt", TEXT);
		pi.write("b.txt", `more\n${TEXT}`);
		await call("read", "a.txt");
		const shown = await call("read", "b.txt");
		const [first, second] = pi.toolResults();
		expect(second && shortenedOf(second)).toBeDefined();
		expect(shown).toMatch(SHORT);
		expect(await call("read", "b.txt")).toBe("[readcache: unchanged, 62 lines]");
		pi.editContext(first?.entryId ?? "", "gone");
		expect(await call("read", "b.txt")).toBe(`more\n${TEXT}`);
	});
});

/** Characters of a block, of which JSON writes some as two. */
const charactersOf = (json: string) => json.replaceAll(/\\./g, ".").length;
/** Anthropic caches no prompt below 4,096 tokens, and results stay as they are until it does. */
const LONG_PROMPT = "Read what I ask for. ".repeat(1500);
const promptOf = ({ usage }: LoopbackRequest) =>
	(usage?.input ?? 0) + (usage?.cacheRead ?? 0) + (usage?.cacheWrite ?? 0);

describe("on the wire", () => {
	const birthAlone = oneSystem("birth", () => new BirthSystem({ isCacheAnswer, touchesExcluded }));
	const whole: NamedExtension = { name: "strata", factory: strata };

	/** The same conversation with these extensions, on a model that binds thinking. */
	async function talk(mode: string, extensions: NamedExtension[], folder: string) {
		writeFileSync(
			join(folder, "strata.json"),
			JSON.stringify({ birth: { mode }, blobs: { dir: join(folder, "blobs") } }),
		);
		for (const [at, name] of ["a", "b", "c", "d"].entries()) {
			writeFileSync(join(folder, `${name}.txt`), `${name}\n${LINES.slice(0, 60 - at).join("\n")}`);
		}
		const cache = { minTokens: 64, tokensOf: charactersOf };
		const loop = await startLoopbackAnthropic({ cache, now: () => Date.now(), thinks: true });
		atEnd(() => loop.close());
		const session = await openLoopbackSession({
			loop,
			folder,
			model: { reasoning: true },
			extensions: [echo, ...extensions],
			tools: ["read", "show", "bash"],
			uiContext: { notify: () => {}, setStatus: () => {} },
		});
		const log = [
			"start",
			...Array(80).fill("waiting for the server to start"),
			...output(30, "log"),
		];
		writeFileSync(join(folder, "log.txt"), log.join("\n"));
		const calls = [
			...["a", "b", "c", "d"].map((name) => ({ name: "show", input: { path: `${name}.txt` } })),
			{ name: "bash", input: { command: "cat log.txt" } },
			{ name: "bash", input: { command: "tail -n 20 log.txt; cat a.txt" } },
			{ name: "read", input: { path: "b.txt" } },
		];
		for (const [at, call] of calls.entries()) {
			loop.script([{ content: [{ type: "tool_use", id: `c${at}`, ...call }] }, "seen"]);
			await session.prompt(`call ${at}`);
		}
		return { session, requests: [...loop.requests] };
	}

	test("in a cold cache a result is pruned with the one that refers to it", {
		tags: "slow",
	}, async () => {
		vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 });
		atEnd(() => vi.useRealTimers());
		const folder = tempDir();
		const settings = { blobs: { dir: join(folder, "b") }, prune: { keepRecentTurns: 0 } };
		writeFileSync(join(folder, "strata.json"), JSON.stringify(settings));
		writeFileSync(join(folder, "a.txt"), TEXT);
		writeFileSync(join(folder, "b.txt"), `more\n${TEXT}`);
		const loop = await startLoopbackAnthropic({ now: () => Date.now() });
		atEnd(() => loop.close());
		const session = await openLoopbackSession({
			loop,
			folder,
			model: { id: FREE_MODEL },
			extensions: [whole],
		});
		loop.script(["ready"]);
		await session.prompt(LONG_PROMPT);
		for (const name of ["a", "b"]) {
			const input = { path: `${name}.txt` };
			loop.script([{ content: [{ type: "tool_use", id: name, name: "read", input }] }, "seen"]);
			await session.prompt("go");
		}
		expect(loop.requests.at(-1)?.raw).toContain("[strata: lines 1-61 of");
		vi.setSystemTime(Date.now() + 2 * 60 * 60_000);
		loop.script(["later", "and later"]);
		for (let times = 0; times < 2; times++) {
			await session.prompt("go on");
			const { raw = "" } = loop.requests.at(-1) ?? {};
			expect(raw.match(/\(Pruned\) read/g)).toHaveLength(2);
			expect(raw).not.toContain("[strata: lines");
		}
	});

	test("read and bash are shortened for the provider, and whole for scripts and interfaces", {
		tags: "slow",
	}, async () => {
		const folder = tempDir();
		writeFileSync(
			join(folder, "strata.json"),
			JSON.stringify({ blobs: { dir: join(folder, "b") } }),
		);
		writeFileSync(join(folder, "a.txt"), TEXT);
		writeFileSync(join(folder, "b.txt"), `more\n${TEXT}`);
		const loop = await startLoopbackAnthropic({ now: () => Date.now() });
		atEnd(() => loop.close());
		const session = await openLoopbackSession({
			loop,
			folder,
			extensions: [whole],
			tools: ["read", "bash"],
		});
		const structured: unknown[] = [];
		session.subscribe((event) => {
			if (event.type === "tool_execution_end") structured.push(event.result.structuredContent);
		});
		loop.script(["ready"]);
		await session.prompt(LONG_PROMPT);
		const calls = [
			{ name: "read", input: { path: "a.txt" } },
			{ name: "read", input: { path: "b.txt" } },
			{ name: "bash", input: { command: "cat b.txt" } },
		];
		for (const [at, call] of calls.entries()) {
			loop.script([{ content: [{ type: "tool_use", id: `c${at}`, ...call }] }, "seen"]);
			await session.prompt("go");
		}
		const messages = loop.requests.at(-1)?.body.messages as { content: unknown }[] | undefined;
		const results = (messages ?? [])
			.flatMap(({ content }) => (Array.isArray(content) ? content : []))
			.filter(({ type }) => type === "tool_result");
		const texts = results.map(({ content }) => content[0]?.text ?? content);
		expect(texts).toEqual([
			TEXT,
			expect.stringMatching(/^more\n\[strata: lines 1-61 of the output of `read a\.txt` above/),
			expect.stringMatching(/^more\n\[strata: lines 1-61 of the output of `read a\.txt` above/),
		]);
		const isNext = structured[0] !== undefined; // since pi 1.5
		expect(structured).toEqual(
			isNext
				? [TEXT, `more\n${TEXT}`, expect.objectContaining({ output: `more\n${TEXT}` })]
				: [undefined, undefined, undefined],
		);
	});

	async function costOf(session: AgentSession): Promise<string> {
		await session.prompt("/strata cost");
		return JSON.stringify(session.sessionManager.getEntries().at(-1));
	}

	test("off, every byte is that of pi alone", { tags: "slow" }, async () => {
		vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 });
		atEnd(() => vi.useRealTimers());
		const folder = tempDir();
		const alone = await talk("off", [], folder);
		const off = await talk("off", [birthAlone], folder);
		expect(off.requests.map(({ raw }) => raw)).toEqual(alone.requests.map(({ raw }) => raw));
		const shadow = await talk("shadow", [birthAlone], folder);
		expect(shadow.requests.map(({ raw }) => raw)).toEqual(alone.requests.map(({ raw }) => raw));
	});

	test("the saving that is printed is the difference of two bills, and no thinking is lost", {
		tags: "slow",
	}, async () => {
		vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 });
		atEnd(() => vi.useRealTimers());
		const folder = tempDir();
		const off = await talk("off", [whole], folder);
		const on = await talk("on", [whole], folder);
		for (const { usage, transformations } of on.requests) {
			expect(usage).toBeDefined();
			expect(transformations).toEqual([]);
		}
		const sum = (requests: LoopbackRequest[]) =>
			requests.reduce((total, request) => total + promptOf(request), 0);
		const report = await costOf(on.session);
		const [, printed = ""] =
			/requests since the start were shorter by ([\d,]+) characters/.exec(report) ?? [];
		expect(Number(printed.replaceAll(",", ""))).toBe(sum(off.requests) - sum(on.requests));
		expect(sum(off.requests) - sum(on.requests)).toBeGreaterThan(10_000);
		for (const [at, request] of on.requests.entries()) {
			expect(promptOf(request)).toBeLessThanOrEqual(promptOf(off.requests[at] as LoopbackRequest));
		}
	});
});
