import { expect } from "vitest";
import type { Driver } from "../support/agents/drivers.ts";
import { type AgentHome, type AgentRun, agentHome, runAgent } from "../support/agents/run-agent.ts";
import { Tap, type TappedExchange } from "../support/agents/tap.ts";
import { PATIENCE } from "../support/patience.ts";
import type { Step } from "../support/stand-in/script.ts";
import { StandIn } from "../support/stand-in/stand-in.ts";
import { atEnd } from "../support/temp.ts";
import type { Between, Observed, Opened } from "./between.ts";
import { OF_ONE_HOP } from "./golden.ts";

export const PROMPT = "How many notes does notes.txt have?";
export const ANSWER = "It has 40 notes.";

/** Read a file, run a command, read the file again, answer. */
export function usualScript({ notes }: AgentHome): readonly Step[] {
	return [{ read: notes }, { shell: "wc -l notes.txt" }, { read: notes }, { say: ANSWER }];
}

/** What went wrong, in the agent's words, if it neither answered nor gave up. */
export function outcomeOf({ exitCode, stdout, stderr }: AgentRun, { rest }: StandIn): string {
	if (exitCode === 0 && stdout.includes(ANSWER) && rest.length === 0) return "answered";
	if (exitCode !== 0 && exitCode !== null && rest.length > 0) return "gave up";
	return `exit ${exitCode}, ${rest.length} steps left\n${stdout}\n${stderr}`;
}

interface Session {
	readonly home: AgentHome;
	readonly run: AgentRun;
	readonly standIn: StandIn;
}

/** Runs an agent against a stand-in with this script. Bytes that differ on the way fail the test. */
export async function session(
	driver: Driver,
	between: Between,
	script: (home: AgentHome) => readonly Step[],
): Promise<Session> {
	const standIn = await StandIn.start(driver.standIn);
	atEnd(() => standIn.close());
	const opened = await between.open(standIn.url, driver.upstream);
	atEnd(opened.close);
	const { tap, base } = await Tap.start(opened.base);
	atEnd(() => tap.close());
	const home = agentHome(driver);
	standIn.script(script(home));
	const run = await runAgent(driver, home, { prompt: PROMPT, base });
	await expectSameBytes(standIn, tap, opened);
	return { home, run, standIn };
}

/** What the agent sent and got is what the provider got and sent, and what an observer saw. */
async function expectSameBytes(standIn: StandIn, tap: Tap, opened: Opened): Promise<void> {
	const prefix = new URL(opened.base).pathname.replace(/\/$/, "");
	const byAgent = tap.exchanges.map((one) => ({ ...one, path: one.path.slice(prefix.length) }));
	const byProvider = standIn.requests.filter(({ transport }) => transport === "http");
	expect(byAgent.map(passed).sort()).toEqual(byProvider.map(passed).sort());
	const { observed } = opened;
	if (!observed) return;
	// An observer gets what has ended.
	await expect.poll(() => observed.length, PATIENCE).toBe(standIn.requests.length);
	const hashes = (all: readonly Pick<Observed, "sha256" | "answerSha256">[]) =>
		all.map(({ sha256, answerSha256 }) => `${sha256} ${answerSha256}`).sort();
	expect(hashes(observed)).toEqual(hashes(standIn.requests));
	expect(observed.filter(({ hasKey }) => hasKey)).toEqual([]);
}

function passed({ method, path, headers, sha256, status, answerSha256 }: TappedExchange): string {
	const kept = headers
		.filter(([name]) => !OF_ONE_HOP.test(name))
		.map(([name, value]) => `${name}: ${value}`);
	return JSON.stringify({ method, path, sha256, status, answerSha256, headers: kept.sort() });
}
