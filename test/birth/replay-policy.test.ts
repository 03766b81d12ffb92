import { describe, expect, test } from "vitest";
import { birthPolicies } from "../../src/birth/index.ts";
import { loadConfig } from "../../src/core/config.ts";
import { promptSize } from "../../src/economy/replay/billed.ts";
import { knownModel, rebuildRequests, runPolicy } from "../../src/economy/replay/index.ts";
import { appendOnly } from "../../src/economy/replay/policies.ts";
import { readSessions, resultTextOf } from "../../src/importers/index.ts";
import { SessionWriter } from "../economy/replay/session-writer.ts";
import { ClaudeWriter } from "../importers/claude-writer.ts";
import { CodexWriter } from "../importers/codex-writer.ts";
import { code } from "./results.ts";

const policies = birthPolicies(resultTextOf);
const file = code(400).join("\n");
const log = [...Array(200).fill("waiting for the server to start"), ...code(40, "log")].join("\n");

/** The tokens of all requests under each policy, as shares of those under append-only. */
async function sharesIn(path: string, detail: "texts" | "contents" = "texts") {
	const [session] = await readSessions(path, { detail });
	if (!session) throw new Error("there is no session");
	const requests = rebuildRequests(session, knownModel);
	const sent = (policy: (typeof policies)[number]) => {
		const { input, read, write } = runPolicy(policy, requests);
		return input + read + write;
	};
	const without = sent(appendOnly);
	return Object.fromEntries(policies.map((policy) => [policy.name, sent(policy) / without]));
}

/** Two reads of one file, then two runs of a command. */
function piSession(): SessionWriter {
	const session = new SessionWriter();
	session.user("begin");
	const steps = [
		["read", { path: "a.ts" }, file],
		["read", { path: "a.ts" }, `// new\n${file}`],
		["bash", { command: "make" }, log],
		["bash", { command: "make" }, log],
	] as const;
	let prompt = 5000;
	for (const [at, [tool, input, text]] of steps.entries()) {
		session.assistant([session.call(`c${at}`, tool, input)], {
			input: 10,
			output: 50,
			cacheRead: prompt,
			cacheWrite: 100,
		});
		session.result(`c${at}`, tool, text);
		prompt += 100 + Math.ceil(text.length / 4);
	}
	session.assistant("done", { input: 10, output: 5, cacheRead: prompt });
	return session;
}

describe("a session of pi", () => {
	test("is cheaper with each part, and cheapest with both", async () => {
		const shares = await sharesIn(piSession().save());
		expect(Object.keys(shares)).toEqual(["birth", "quiet", "birth-quiet"]);
		expect(shares.birth).toBeLessThan(0.9);
		expect(shares.quiet).toBeLessThan(0.95);
		expect(shares["birth-quiet"]).toBeLessThan(Math.min(shares.birth ?? 0, shares.quiet ?? 0));
	});

	test("costs the same where the texts are unknown", async () => {
		const shares = await sharesIn(piSession().save(), "contents");
		expect(Object.values(shares)).toEqual([1, 1, 1]);
	});

	test("never refers to a result that a compaction removed", async () => {
		const session = piSession();
		session.entry("compaction", { summary: "all of it", firstKeptEntryId: session.leaf });
		session.assistant([session.call("later", "read", { path: "a.ts" })], {
			input: 3000,
			output: 50,
		});
		session.result("later", "read", file);
		const size = 3000 + Math.ceil(file.length / 4);
		session.assistant("done", { input: size, output: 5 });
		const [read] = await readSessions(session.save(), { detail: "texts" });
		const requests = rebuildRequests(read as NonNullable<typeof read>, knownModel);
		const birth = policies[0] as (typeof policies)[number];
		const last = runPolicy(birth, requests).requests.at(-1);
		expect(last).toEqual(runPolicy(appendOnly, requests).requests.at(-1));
	});
});

describe("what a live session would not shorten stays whole", () => {
	/** Each answer makes some calls; the last one makes none. Returns the tokens that each request saves. */
	async function savedBy(
		answers: readonly (readonly (readonly [tool: string, input: object, text: string])[])[],
		settings: Partial<typeof config.birth> = {},
	) {
		const session = new SessionWriter();
		session.user("begin");
		let prompt = 5000;
		for (const [turn, calls] of answers.entries()) {
			const usage = { input: prompt, output: 50 };
			session.assistant(
				calls.map(([tool, input], at) => session.call(`c${turn}-${at}`, tool, input)),
				usage,
			);
			for (const [at, [tool, , text]] of calls.entries()) {
				session.result(`c${turn}-${at}`, tool, text);
				prompt += 100 + Math.ceil(text.length / 4);
			}
		}
		session.assistant("done", { input: prompt, output: 5 });
		const [read] = await readSessions(session.save(), { detail: "texts" });
		const requests = rebuildRequests(read as NonNullable<typeof read>, knownModel);
		const sizes = (policy: (typeof policies)[number]) =>
			runPolicy(policy, requests).requests.map(promptSize);
		const [, , both] = birthPolicies(resultTextOf, { ...config.birth, ...settings });
		const own = sizes(appendOnly);
		return sizes(both).map((size, at) => (own[at] ?? 0) - size);
	}
	const { config } = loadConfig({ agentDir: "/none", cwd: "/none" });
	const readOf = (path: string) => ["read", { path }, file] as const;

	test("results of one answer do not refer to each other, since no request held them", async () => {
		expect(await savedBy([[readOf("a.ts"), readOf("b.ts")]])).toEqual([0, 0]);
		expect((await savedBy([[readOf("a.ts")], [readOf("b.ts")]])).at(-1)).toBeGreaterThan(1000);
	});

	test("a result stays if another call of its answer has the name of its base", async () => {
		const other = ["read", { path: "a.ts" }, "gone"] as const;
		expect(await savedBy([[readOf("a.ts")], [readOf("b.ts"), other]])).toEqual([0, 0, 0]);
	});

	test("a read of a stored text stays", async () => {
		const stored = readOf(`~/.pi/cache/pi-kota/blobs/${"0a".repeat(32)}.txt`);
		expect(await savedBy([[readOf("a.ts")], [stored]])).toEqual([0, 0, 0]);
	});

	test("the settings decide", async () => {
		const make = ["bash", { command: "make all" }, log] as const;
		expect((await savedBy([[make]])).at(-1)).toBeGreaterThan(500);
		expect(await savedBy([[make]], { quiet: "off" })).toEqual([0, 0]);
		expect(await savedBy([[make]], { quietExcept: ["make*"] })).toEqual([0, 0]);
		const again = [[readOf("a.ts")], [readOf("b.ts")]];
		expect(await savedBy(again, { minLines: 1000 })).toEqual([0, 0, 0]);
		expect(await savedBy(again, { minTokens: 100_000 })).toEqual([0, 0, 0]);
	});
});

test("sessions of Claude Code and Codex are shortened too", async () => {
	const claude = new ClaudeWriter();
	claude.user("read it");
	claude.call("m1", "t1", { file_path: "/w/a.ts" }, { write: 10_000 });
	claude.result("t1", file);
	claude.call("m2", "t2", { file_path: "/w/b.ts" }, { read: 10_000, write: 8000 });
	claude.result("t2", file);
	claude.text("m3", "done", { read: 18_000, write: 8000 });
	expect((await sharesIn(claude.save())).birth).toBeLessThan(0.9);
	const codex = new CodexWriter().turn().user("build it");
	const output = (chunk: string) =>
		`Chunk ID: ${chunk}\nWall time: 1.${chunk} seconds\nOutput:\n${log}`;
	codex.call("c1", "make").count({ input: 8000 }).output("c1", output("07"));
	codex.call("c2", "make").count({ input: 12_000, cached: 8000 }).output("c2", output("19"));
	codex.assistant("done").count({ input: 16_000, cached: 12_000 });
	const shares = await sharesIn(codex.save());
	expect(shares.birth).toBeLessThan(0.95);
	expect(shares.quiet).toBeLessThan(0.95);
});
