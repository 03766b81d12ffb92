// @module-tag slow
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ask } from "../proxy/harness.ts";
import { StandIn } from "../support/stand-in/stand-in.ts";
import { atEnd, tempDir } from "../support/temp.ts";
import { play, promptTokens, reads, START } from "./played.ts";
import { code, PATHS, read, type Turn } from "./talks.ts";

const STRATA = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));

type Savings = "off" | "shadow" | "birth";

/** A stand-in, and `strata proxy` as a process of its own in front of it. */
async function world(savings: Savings) {
	const standIn = await StandIn.start();
	atEnd(() => standIn.close());
	const agentDir = tempDir();
	const settings = { proxy: { upstreams: { anthropic: standIn.url } } };
	writeFileSync(join(agentDir, "strata.json"), JSON.stringify(settings));
	const env: NodeJS.ProcessEnv = { ...process.env, PI_CODING_AGENT_DIR: agentDir };
	for (const name of Object.keys(env)) if (/_proxy$/i.test(name)) delete env[name];
	const options = { cwd: agentDir, env };
	let proxy: ChildProcess | undefined;
	let port = 0;
	return {
		standIn,
		post: (body: Buffer) => ask(port, `/anthropic${PATHS.anthropic}`, { method: "POST", body }),
		async start() {
			const words = [STRATA, "proxy", "--port", "0", "--savings", savings, "--json"];
			const child = spawn(process.execPath, words, {
				...options,
				stdio: ["ignore", "pipe", "inherit"],
			});
			atEnd(() => child.kill("SIGKILL"));
			const [line] = await once(createInterface(child.stdout), "line");
			[proxy, port] = [child, JSON.parse(line).port];
		},
		/** With SIGKILL, without a chance to write anything. */
		async stop(signal: NodeJS.Signals = "SIGTERM") {
			if (!proxy) return;
			const closed = once(proxy, "close");
			proxy.kill(signal);
			await closed;
		},
		/** What `strata traffic` says. */
		printed(...words: string[]): string {
			const ran = spawnSync(process.execPath, [STRATA, "traffic", ...words], options);
			expect(String(ran.stderr)).toBe("");
			return String(ran.stdout);
		},
	};
}

/** Reads and commands whose lines repeat wholly, in part and not at all. */
const TALK: readonly Turn[] = [
	...reads(1, 3),
	read("call_4", "b.ts", `${code("b", 20)}\n${code("a", 40)}`),
	{ answer: "It computes." },
	{ user: "And what is \u00e9 in b.ts?" },
	read("call_5", "b.ts", `${code("b", 20)}\n// \u00e9\n${code("a", 40)}`),
	read("call_6", "c.ts", code("c", 50)),
	...reads(7, 2),
	{ answer: "All of it." },
	{ user: "Thanks." },
];

/** Plays the conversation, across a restart in its middle. Returns the bill and what is printed of it. */
async function played(savings: Savings) {
	const one = await world(savings);
	await one.start();
	const { done } = await play(one, TALK.slice(0, 5), [START]);
	await one.stop();
	await one.start();
	await play(one, TALK.slice(5), done);
	await one.stop();
	const list = JSON.parse(one.printed("--json"));
	const [{ id }] = list.conversations;
	return { tokens: promptTokens(one.standIn), list, text: one.printed(String(id)) };
}

test("what strata traffic prints as saved is the difference of the provider's two bills", async () => {
	const off = await played("off");
	const birth = await played("birth");
	const saved = off.tokens - birth.tokens;
	expect(saved).toBeGreaterThan(3000);
	expect(off.text).not.toContain("save");
	expect(birth.text).toContain(`about ${saved.toLocaleString("en-US")} prompt tokens saved`);
	expect(birth.list.conversations).toMatchObject([{ savedTokens: saved }]);
	const steps = [...birth.text.matchAll(/about ([\d,]+) tokens saved/g)];
	const each = steps.map(([, tokens]) => Number(tokens?.replaceAll(",", "")));
	expect(each.reduce((sum, tokens) => sum + tokens, 0)).toBe(saved);
});

test("what shadow prints is what birth would have saved, and its bill is that of off", async () => {
	const [one, two, three] = [await world("off"), await world("shadow"), await world("birth")];
	const bills: number[] = [];
	for (const each of [one, two, three]) {
		await each.start();
		await play(each, TALK, [START]);
		await each.stop();
		bills.push(promptTokens(each.standIn));
	}
	const [off = 0, shadow, birth = 0] = bills;
	expect(shadow).toBe(off);
	const bodies = [one, two].map(({ standIn }) => standIn.requests.map(({ sha256 }) => sha256));
	expect(bodies[1]).toEqual(bodies[0]);
	const { conversations } = JSON.parse(two.printed("--json"));
	expect(conversations).toMatchObject([{ savedInShadow: off - birth, savedTokens: 0 }]);
});

test("a proxy that is killed in mid-conversation goes on with what it sent", async () => {
	const one = await world("birth");
	await one.start();
	let done: Turn[] = [START];
	for (let from = 0; from < TALK.length; from += 3) {
		// The stand-in refuses a conversation whose texts have changed.
		({ done } = await play(one, TALK.slice(from, from + 3), done));
		await one.stop("SIGKILL");
		await one.start();
	}
	expect(one.standIn.requests.map(({ status }) => status)).toEqual(TALK.map(() => 200));
	expect(String(one.standIn.requests.at(-1)?.body)).toContain("[strata: lines ");
});
