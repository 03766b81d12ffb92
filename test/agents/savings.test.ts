import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { startProxy, upstreamsFrom } from "../../src/proxy/index.ts";
import { MemoryMarks, Rewriter } from "../../src/savings/index.ts";
import { formatOf } from "../../src/wire/index.ts";
import { type Driver, drivers } from "../support/agents/drivers.ts";
import { agentPackages, isFetched } from "../support/agents/packages.ts";
import { agentHome, runAgent, writeIn } from "../support/agents/run-agent.ts";
import { StandIn, type StandInRequest } from "../support/stand-in/stand-in.ts";
import { atEnd } from "../support/temp.ts";
import { outcomeOf, PROMPT, usualScript } from "./session.ts";

const fetched = agentPackages.filter(isFetched).map(({ name }) => name);
/** WebSockets are forwarded as they are. */
const ready = drivers.filter(({ agent, name }) => fetched.includes(agent) && name !== "codex");

/** Runs an agent with savings on. Returns what it sent beside what the stand-in got. */
async function run(driver: Driver) {
	const standIn = await StandIn.start(driver.standIn);
	atEnd(() => standIn.close());
	const rewriter = new Rewriter({ marks: new MemoryMarks(), maxMs: 1e9 });
	const originals: { path: string; body: Buffer }[] = [];
	let noted = 0;
	const proxy = await startProxy({
		port: 0,
		upstreams: upstreamsFrom({ [driver.upstream]: standIn.url }),
		rewrite(request) {
			if (formatOf(request.path)) originals.push(request);
			return rewriter.rewrite(request);
		},
		onExchange({ savings }) {
			noted += savings?.tokens ?? 0;
		},
	});
	atEnd(() => proxy.close());
	const home = agentHome(driver);
	standIn.script([...usualScript(home)]);
	const ran = await runAgent(driver, home, {
		prompt: PROMPT,
		base: proxy.baseUrl(driver.upstream),
	});
	await proxy.close();
	return { ran, standIn, originals, noted };
}

function promptTokens(requests: readonly StandInRequest[]): number {
	return requests.reduce((sum, { usage }) => {
		return sum + (usage ? usage.input + usage.read + usage.write : 0);
	}, 0);
}

/** The bill of another stand-in for what the agent sent. Its own thinking would be another's. */
async function billOf(originals: readonly { path: string; body: Buffer }[]): Promise<number> {
	const standIn = await StandIn.start();
	atEnd(() => standIn.close());
	standIn.script(originals.map(() => ({ say: "Yes." })));
	for (const { path, body } of originals) {
		const answer = await fetch(standIn.url + path, {
			method: "POST",
			body: body.toString("utf8"),
		});
		expect(answer.status, await answer.text()).toBe(200);
	}
	return promptTokens(standIn.requests);
}

const STRATA = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));

/** Under `strata run`, as a user starts it. Returns the stand-in's bill and the line at the end. */
async function runUnder(driver: Driver, savings: "off" | "shadow" | "birth") {
	const standIn = await StandIn.start(driver.standIn);
	atEnd(() => standIn.close());
	const home = agentHome(driver);
	const upstreams = { [driver.upstream]: standIn.url };
	writeIn(home.home, ".pi/agent/strata.json", JSON.stringify({ proxy: { upstreams } }));
	standIn.script(usualScript(home));
	const under = [process.execPath, STRATA, "run", "--savings", savings, "--"];
	const ran = await runAgent(driver, home, { prompt: PROMPT, under });
	expect(outcomeOf(ran, standIn)).toBe("answered");
	const line = /^strata: .*$/m.exec(ran.stderr)?.[0] ?? "";
	return { tokens: promptTokens(standIn.requests), line };
}

describe("with savings on", () => {
	test.each(ready)(
		"$name is refused nothing, and two bills differ by what is noted",
		async (driver) => {
			const { ran, standIn, originals, noted } = await run(driver);
			expect(outcomeOf(ran, standIn)).toBe("answered");
			const asked = standIn.requests.filter(({ method, path }) => {
				return method === "POST" && formatOf(path.replace(/\?.*$/, ""));
			});
			expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 200));
			expect(asked).toHaveLength(originals.length);
			expect(noted).toBeGreaterThan(0);
			expect((await billOf(originals)) - promptTokens(asked)).toBe(noted);
		},
	);

	// Codex states the time that a command took, so that no two of its runs have the same bill.
	const runnable = ready.filter(
		({ isRunnable, agent }) => isRunnable !== false && agent !== "codex",
	);
	test.each(runnable)("strata run prints what $name saved, and would have", async (driver) => {
		const [off, shadow, birth] = [
			await runUnder(driver, "off"),
			await runUnder(driver, "shadow"),
			await runUnder(driver, "birth"),
		];
		expect(off.line).not.toContain("save");
		expect(shadow.tokens).toBe(off.tokens);
		const saved = (off.tokens - birth.tokens).toLocaleString("en-US");
		expect(birth.line).toContain(`about ${saved} prompt tokens saved`);
		expect(shadow.line).toContain(`birth would save about ${saved}`);
	});
});
