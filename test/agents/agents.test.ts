import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { type Driver, DUMMY_KEY, drivers } from "../support/agents/drivers.ts";
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
import { firstChange, joinedRequests } from "../wire/joined-requests.ts";
import { betweens, throughProxy } from "./between.ts";
import { expectGolden } from "./golden.ts";
import { ANSWER, outcomeOf, PROMPT, session, usualScript } from "./session.ts";

const fetched = agentPackages.filter(isFetched).map(({ name }) => name);
const ready = drivers.filter(({ agent }) => fetched.includes(agent));

describe.each(betweens)("$name", (between) => {
	test.each(ready)("$name follows a script to its end", async (driver) => {
		const { home, run, standIn } = await session(driver, between, usualScript);
		expect(outcomeOf(run, standIn)).toBe("answered");
		const scripted = standIn.requests.filter(({ isScripted }) => isScripted);
		expect(scripted).toHaveLength(4);
		// Each prompt begins with all of the one before it, so the cache never misses.
		for (const [at, { usage }] of scripted.entries()) {
			const before = scripted[at - 1]?.usage;
			if (!before || !usage) continue;
			expect(usage.read).toBeGreaterThan(0.98 * (before.input + before.read + before.write) - 128);
		}
		// A title request may come at any time; responses of all requests are needed for the join.
		const billed = standIn.requests.filter(({ usage }) => usage);
		const joined = joinedRequests(billed);
		const requests = joined.filter((_, at) => billed[at]?.isScripted);
		for (const [at, request] of requests.entries()) {
			const before = requests[at - 1];
			if (before) expect(firstChange(before, request)).toBeUndefined();
		}
		expectGolden(driver.name, home, standIn.requests, between === betweens[0]);
	});

	test.each(ready.filter(({ delegates }) => delegates))("$name and a sub-agent", async (driver) => {
		const { home, run, standIn } = await session(driver, between, ({ notes }) => [
			{ delegate: "Count the notes." },
			{ read: notes },
			{ say: "They are 40." },
			{ say: ANSWER },
		]);
		expect(outcomeOf(run, standIn)).toBe("answered");
		expectGolden(`${driver.name}-subagent`, home, standIn.requests, between === betweens[0]);
	});

	test.each(ready)("$name and refusals, compressed ones too", async (driver) => {
		const { run, standIn } = await session(driver, between, ({ notes }) => [
			{ status: 429, retryAfter: 1, gzip: true },
			{ read: notes, gzip: true, pings: 3 },
			{ status: driver.upstream === "anthropic" ? 529 : 503 },
			{ say: ANSWER, pings: 1 },
		]);
		expect(outcomeOf(run, standIn)).toBe(driver.givesUpOn === "refusal" ? "gave up" : "answered");
	});

	test.each(ready)("$name and a stream that is cut", async (driver) => {
		const { run, standIn } = await session(driver, between, ({ notes }) => [
			{ read: notes, pings: 1 },
			{ cut: true },
			{ shell: "wc -l notes.txt", gzip: true },
			{ say: ANSWER },
		]);
		expect(outcomeOf(run, standIn)).toBe(driver.givesUpOn === "cut" ? "gave up" : "answered");
	});
});

test.each(ready)("$name gets errors, overload and cuts byte for byte", async (driver) => {
	const { standIn } = await session(driver, throughProxy, faultyScript(driver));
	const statuses = standIn.requests.map(({ status }) => status);
	expect(statuses).toContain(500);
	if (driver.givesUpOn !== "refusal") expect(statuses).toEqual(expect.arrayContaining([200, 429]));
});

const hasRun = existsSync(fileURLToPath(new URL("../../src/cli/run.ts", import.meta.url)));
const runnable = hasRun ? ready.filter(({ isRunnable }) => isRunnable !== false) : [];
const STRATA = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));

test.each(runnable)("strata run: $name works, and nothing is left behind", async (driver) => {
	const { home, run, standIn } = await runUnderStrata(driver, usualScript);
	expect(outcomeOf(run, standIn)).toBe("answered");
	expectGolden(driver.name, home, standIn.requests);
	const settings = filesIn(home.home).filter(({ name }) => SETTINGS.test(name));
	expect(settings.filter(({ text }) => text.includes("127.0.0.1"))).toEqual([]);
});

test.each(runnable)(
	"strata run: $name leaves no text and no key behind after faults",
	async (driver) => {
		await runUnderStrata(driver, faultyScript(driver));
	},
);

/** Errors, overload and a cut stream before turns of the model; last what the agent does not survive. */
function faultyScript({ upstream, givesUpOn }: Driver) {
	const cut = { cut: true } as const;
	return ({ notes }: AgentHome): Step[] => [
		...(givesUpOn === "refusal" ? [cut] : []),
		{ status: 500 },
		{ status: 429, retryAfter: 1 },
		{ read: notes },
		{ status: upstream === "anthropic" ? 529 : 503 },
		{ shell: "wc -l notes.txt" },
		cut,
		{ say: ANSWER },
	];
}

/** Runs an agent to its end. A key or a text in what strata wrote fails the test. */
async function runUnderStrata(driver: Driver, script: (home: AgentHome) => readonly Step[]) {
	const standIn = await StandIn.start(driver.standIn);
	atEnd(() => standIn.close());
	const home = agentHome(driver);
	const upstreams = { [driver.upstream]: standIn.url };
	writeIn(home.home, ".pi/agent/strata.json", JSON.stringify({ proxy: { upstreams } }));
	standIn.script(script(home));
	const under = [process.execPath, STRATA, "run", "--"];
	const run = await runAgent(driver, home, { prompt: PROMPT, under });
	const said = run.stderr.split("\n").filter((line) => line.startsWith("strata"));
	expect(said.join("\n")).toMatch(/^strata: /);
	expect(run.stdout + run.stderr).not.toContain(DUMMY_KEY);
	const texts = textsOf(standIn.requests);
	expect(texts.length).toBeGreaterThan(5);
	const ours = filesIn(home.home).filter(({ name }) => OURS.test(name));
	expect(ours.map(({ name }) => name)).toContain(".pi/agent/strata/traffic/book.sqlite");
	for (const { name, text } of [...ours, { name: "output", text: said.join("\n") }]) {
		const leaks = [DUMMY_KEY, PROMPT, ANSWER, NOTES.slice(0, 15), ...texts];
		expect(
			leaks.filter((leak) => text.includes(leak)),
			name,
		).toEqual([]);
	}
	return { home, run, standIn };
}

/** A part of each long text of the requests: prompts, descriptions of tools, results, encoded as in JSON and not. */
function textsOf(requests: readonly StandInRequest[]): string[] {
	const texts = new Set<string>();
	for (const { body, isScripted } of requests) {
		if (!isScripted) continue;
		JSON.parse(body.toString("utf8"), (_key, value: unknown) => {
			if (typeof value !== "string" || value.length < 120) return value;
			const part = value.slice(40, 100);
			for (const text of [part, JSON.stringify(part).slice(1, -1)]) {
				texts.add(Buffer.from(text).toString("latin1"));
			}
			return value;
		});
	}
	return [...texts];
}

/** Below the home and temporary folder of a run. Agents name folders of their own after that path. */
const OURS = /^\.pi\/|(^|\/)(pi-)?strata/;

/** Files in which agents keep their settings. */
const SETTINGS = /(^|\/)(\.claude\.json|settings\.json|config\.toml|opencode\.jsonc?)$/;

function filesIn(folder: string): { name: string; text: string }[] {
	return readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name))
		.map((path) => ({ name: relative(folder, path), text: readFileSync(path, "latin1") }));
}
