import { createHash } from "node:crypto";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { openProxy } from "../../src/cli/proxy.ts";
import { runCli } from "./../hook/run-cli.ts";
import { type Driver, drivers } from "../support/agents/drivers.ts";
import { agentPackages, isFetched } from "../support/agents/packages.ts";
import {
	type AgentHome,
	agentHome,
	NOTES,
	runAgent,
	writeIn,
} from "../support/agents/run-agent.ts";
import type { Step } from "../support/stand-in/script.ts";
import { StandIn, type StandInRequest } from "../support/stand-in/stand-in.ts";
import { atEnd } from "../support/temp.ts";
import { ANSWER, outcomeOf, PROMPT } from "./session.ts";

const fetched = agentPackages.filter(isFetched).map(({ name }) => name);
const ready = drivers.filter(
	({ agent, name }) => fetched.includes(agent) && ["claude-code", "opencode"].includes(name),
);
const claude = ready.filter(({ name }) => name === "claude-code");

/** `gone`: a proxy that does not run. */
type Mode = "none" | "shadow" | "on" | "http" | "gone";

const STRATA = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));

/** Output with many equal lines, and others that a command repeats. */
const LOG = "for i in 1 2 3; do seq 1 60 | sed 's/.*/waiting for the server/'; cat notes.txt; done";

function script({ notes }: AgentHome): readonly Step[] {
	return [
		...[{ shell: "cat notes.txt" }, { read: notes }, { shell: LOG }, { read: notes }],
		...[{ shell: "cat nothing.txt" }, { shell: LOG }, { say: ANSWER }],
	];
}

/** With our hook as its settings name it. Other settings stay as they are. */
async function withHook(driver: Driver, { home }: AgentHome, mode: Mode): Promise<Driver> {
	const program = writeIn(
		home,
		"bin/strata",
		`#!/bin/sh\nexec '${process.execPath}' '${STRATA}' "$@"\n`,
	);
	chmodSync(program, 0o755);
	if (mode === "none") return driver;
	const terminal = { env: { HOME: home, PI_CODING_AGENT_DIR: join(home, ".pi/agent") }, cwd: home };
	const flags = mode === "shadow" ? ["--shadow"] : [];
	if (mode === "gone") flags.push("--port", "9");
	if (mode === "http") {
		const proxy = await openProxy(
			{ ...terminal, print: () => {}, write: () => {}, printError: () => {} },
			{ port: 0, savings: "off" },
		);
		atEnd(() => proxy.close());
		flags.push("--port", String(proxy.running.port));
	}
	const settings = await runCli(["hook", driver.name, "--print-settings", ...flags], terminal);
	if (driver.name === "claude-code") {
		writeIn(home, ".claude/settings.json", settings.stdout);
		return driver;
	}
	return {
		...driver,
		aim(base) {
			const aim = driver.aim(base);
			const own = JSON.parse(aim.env?.OPENCODE_CONFIG_CONTENT ?? "{}");
			const content = JSON.stringify({ ...own, ...JSON.parse(settings.stdout) });
			return { ...aim, env: { ...aim.env, OPENCODE_CONFIG_CONTENT: content } };
		},
	};
}

async function run(driver: Driver, mode: Mode, steps = script) {
	const standIn = await StandIn.start(driver.standIn);
	atEnd(() => standIn.close());
	const home = agentHome(driver);
	const hooked = await withHook(driver, home, mode);
	standIn.script(steps(home));
	const ran = await runAgent(hooked, home, { prompt: PROMPT, base: standIn.url });
	expect(outcomeOf(ran, standIn)).toBe("answered");
	const asked = standIn.requests.filter(({ isScripted }) => isScripted);
	expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 200));
	const env = { HOME: home.home, PI_CODING_AGENT_DIR: join(home.home, ".pi/agent") };
	const report = await runCli(["hook", "report", "--json"], { env, cwd: home.home });
	return { home, asked, sums: JSON.parse(report.stdout) };
}

interface Shown {
	readonly id: string;
	readonly tool: string;
	readonly argument: string;
	readonly text: string;
}

/** The results of a request in order. */
function resultsOf({ body }: StandInRequest): Shown[] {
	const parts = JSON.parse(body.toString("utf8")).messages.flatMap(
		({ content }: { content: unknown }) => (Array.isArray(content) ? content : []),
	);
	const calls = new Map<string, { name: string; input: Record<string, string> }>();
	const results: Shown[] = [];
	for (const { type, id, name, input, tool_use_id: callId, content } of parts) {
		if (type === "tool_use") calls.set(id, { name, input });
		if (type !== "tool_result") continue;
		const call = calls.get(callId);
		const { command, file_path: path, filePath = path } = call?.input ?? {};
		const text = typeof content === "string" ? content : content[0].text;
		results.push({ id: callId, tool: call?.name ?? "", argument: command ?? filePath ?? "", text });
	}
	return results;
}

/** Shares no code with the engine. The temporary folder is taken out. */
function expanded(results: readonly Shown[], { home }: AgentHome): string[] {
	const texts = results.map(({ text }, at) =>
		text.replace(
			/^(?:\d+\t)?\[strata: lines (\d+)-(\d+) of the output of `(\w+) ([^`]*)`(?: \((\w+)\))? above, unchanged.*\]$/gm,
			(_line, first, last, tool, argument, id) => {
				const [start = "", end = ""] = argument.replaceAll("'", "").split("…");
				const isMeant = (one: Shown) => {
					const words = one.argument.replaceAll("'", "");
					const isNamed = words.startsWith(start) && words.endsWith(end);
					return one.tool === tool && isNamed && (id === undefined || one.id === id);
				};
				const lines = results.slice(0, at).findLast(isMeant)?.text.split("\n") ?? [];
				return lines.slice(Number(first) - 1, Number(last)).join("\n");
			},
		),
	);
	return texts.map((text) => text.replaceAll(home, ""));
}

function promptTokens({ usage }: StandInRequest): number {
	return usage ? usage.input + usage.read + usage.write : 0;
}

function lastOf<T>(list: readonly T[]): T {
	return list.at(-1) as T;
}

describe("a hook of the agent", () => {
	test.each(ready)("in shadow, $name sends what it sends alone, and counts", async (driver) => {
		const alone = await run(driver, "none");
		const shadow = await run(driver, "shadow");
		const texts = ({ asked, home }: typeof alone) =>
			asked.map((one) => expanded(resultsOf(one), home));
		expect(texts(shadow)).toEqual(texts(alone));
		expect(shadow.asked.map(promptTokens)).toEqual(alone.asked.map(promptTokens));
		expect(alone.sums).toEqual([]);
		expect(shadow.sums).toMatchObject([{ agent: driver.name, isShadow: true, sessions: 1 }]);
	});

	const modes = [
		...ready.map((driver) => ({ driver, mode: "on" as Mode, name: driver.name })),
		...claude.map((driver) => ({ driver, mode: "http" as Mode, name: `${driver.name} over HTTP` })),
	];
	test.each(modes)(
		"$name is refused nothing, and two bills differ by what is printed",
		async ({ driver, mode }) => {
			const alone = await run(driver, "none");
			const short = await run(driver, mode);
			const results = resultsOf(lastOf(short.asked));
			const before = expanded(resultsOf(lastOf(alone.asked)), alone.home);
			expect(
				results.filter(({ text }) => /^(\d+\t)?\[strata: lines/m.test(text)).length,
			).toBeGreaterThan(1);
			// Folds say what they stand for, but not in full.
			const isFolded = expanded(results, short.home).map((text) =>
				/^\[strata: \d+ more lines/m.test(text),
			);
			expect(isFolded).toContain(true);
			const comparable = (texts: readonly string[]) => texts.filter((_, at) => !isFolded[at]);
			expect(comparable(expanded(results, short.home))).toEqual(comparable(before));
			// Short from its first request on.
			for (const request of short.asked) {
				const held = resultsOf(request);
				expect(held).toEqual(results.slice(0, held.length));
			}
			const saved = promptTokens(lastOf(alone.asked)) - promptTokens(lastOf(short.asked));
			expect(short.sums).toMatchObject([{ agent: driver.name, isShadow: false, tokens: saved }]);
			expect(saved).toBeGreaterThan(0);
		},
	);

	test.each(claude)("$name sends what it sends alone if the proxy does not run", async (driver) => {
		const alone = await run(driver, "none");
		const gone = await run(driver, "gone");
		expect(gone.asked.map(promptTokens)).toEqual(alone.asked.map(promptTokens));
	});

	test.each(claude)("a sub-agent of $name is referred to its own results only", async (driver) => {
		const { asked, home } = await run(driver, "on", ({ notes }) => [
			...[{ read: notes }, { delegate: "Count." }, { read: notes }, { read: notes }],
			...[{ say: "40" }, { read: notes }, { say: ANSWER }],
		]);
		const isShort = ({ text }: Shown) => text.includes("[strata: lines");
		const bySub = resultsOf(asked[4] as StandInRequest);
		expect(bySub.map(isShort)).toEqual([false, true]);
		expect(expanded(bySub, home)[1]).toBe(bySub[0]?.text);
		expect(resultsOf(lastOf(asked)).map(isShort)).toEqual([false, false, true]);
	});

	test.each(claude)("$name reads the stored text in full", async (driver) => {
		const shown = NOTES.split("\n")
			.map((line, at) => `${at + 1}\t${line}`)
			.join("\n");
		const id = createHash("sha256").update(shown).digest("hex");
		const { asked } = await run(driver, "on", ({ home, notes }) => [
			...[{ read: notes }, { read: notes }],
			...[{ read: join(home, `.pi/cache/pi-kota/blobs/${id}.txt`) }, { say: ANSWER }],
		]);
		const [first, second, stored] = resultsOf(lastOf(asked));
		expect(first?.text).toBe(shown);
		expect(second?.text).toContain(`/${id}.txt]`);
		expect(stored?.text.replace(/^\d+\t/gm, "")).toBe(shown);
	});
});
