import {
	existsSync,
	mkdirSync,
	readFileSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { SessionWriter } from "../economy/replay/session-writer.ts";
import { CodexWriter } from "../importers/codex-writer.ts";
import { OpencodeSession, openDatabase } from "../importers/opencode-writer.ts";
import { tempDir } from "../support/temp.ts";

const POLICIES = [
	"no-cache",
	"append-only",
	"billed",
	"read-cache",
	"prune-each",
	"prune-batch",
	"clearing",
	"ttl-auto",
	"birth",
	"quiet",
	"strata",
	"pruning",
];

describe("strata replay", () => {
	test("begins with dollars, four policies and what they are, and misses with what to do", async () => {
		const file = aSession();
		const { status, out, err } = await run(file);
		expect({ status, err }).toEqual({ status: 0, err: "" });
		const [first, second, third] = out.split("\n");
		expect(first).toContain(`Session ${file}`);
		expect(second).toMatch(/^3 requests of \S+$/);
		expect(third).toMatch(
			/^Prompts cost \$0\.\d+ as billed, without the answers\. By the provider's rules \$0\.\d+, with pi-strata about \$0\.\d+: \$0\.\d+ \(\d+ %\) less\.$/,
		);
		const rows = [...out.matchAll(/^ {2}([a-z-]+) +\$\d+\.\d+ +\d\.\d\d {2}\w.+$/gm)];
		expect(rows.map(([, name]) => name)).toEqual(["billed", "append-only", "strata", "no-cache"]);
		expect(out).toContain("8 more policies with --all");
		expect(out).toMatch(
			/^1 cache miss cost about \$0\.\d+:\n {2}1 × .*evicted the prefix\n +what to do: \w/m,
		);
		expect(out.split("\n").length).toBeLessThan(20);
	});

	test("without an argument takes the last session of this folder, or of its repository", async () => {
		const home = tempDir();
		const project = tempDir();
		const below = join(project, "below");
		for (const folder of [join(project, ".git"), below]) mkdirSync(folder);
		const store = join(home, ".codex", "sessions", "2026", "05", "01");
		mkdirSync(store, { recursive: true });
		const write = (name: string, cwd: string) =>
			new CodexWriter({ cwd })
				.turn()
				.user("a")
				.assistant("b")
				.count({ input: 5000 })
				.save(name, store);
		const old = write("old.jsonl", project);
		utimesSync(old, 1, 1);
		const file = write("new.jsonl", project);
		write("other.jsonl", tempDir());
		for (const cwd of [project, below]) {
			const printed: string[] = [];
			const status = await main(["replay"], {
				...silentTerminal(cwd),
				env: { HOME: home },
				print: (line: string) => void printed.push(line),
			});
			expect(status).toBe(0);
			expect(printed[0]).toContain(`Session ${file}`);
		}
	});

	test("--all prints every policy with what it is, and what replay is worth", async () => {
		const file = aSession();
		const { status, out, err } = await run(file, "--all");
		expect({ status, err }).toEqual({ status: 0, err: "" });
		expect(out).toContain(`Session ${file}`);
		for (const name of POLICIES) {
			expect(out).toMatch(new RegExp(`^ +${name} +\\d`, "m"));
			expect(out).toMatch(new RegExp(`^ +${name}: \\w`, "m"));
		}
		expect(out).toContain("replay deviates from the bill by ");
	});

	test("--json has the report in a fixed shape", async () => {
		const file = aSession();
		const report = JSON.parse((await run(file, "--json")).out);
		expect(report).toMatchObject({ file, requests: 3, skipped: 0 });
		expect(report.policies.map(({ name }: { name: string }) => name)).toEqual(POLICIES);
		for (const row of report.policies) {
			for (const key of ["cost", "ratio", "read", "write", "input", "maxContext"]) {
				expect(row[key]).toEqual(expect.any(Number));
			}
		}
		expect(report.misses).toEqual([
			expect.objectContaining({ request: 3, tokens: 6000, cause: "provider" }),
		]);
	});

	test("--policy compares only what was named, in either way of writing it", async () => {
		const file = aSession();
		for (const words of [
			[file, "--policy", "strata", "--policy", "billed"],
			[file, "--policy", "strata", "billed"],
			["--policy", "strata", "billed", file],
			[file, "--policy", "strata,billed"],
		]) {
			const { policies } = JSON.parse((await run(...words, "--json")).out);
			expect(policies.map(({ name }: { name: string }) => name)).toEqual(["billed", "strata"]);
		}
	});

	test("layouts of a working set, which no session file shows, are compared only when named", async () => {
		const file = aSession();
		const compared = async (...words: string[]): Promise<[string, string][]> => {
			const { policies } = JSON.parse((await run(file, "--json", ...words)).out);
			return policies.map((row: { name: string; description: string }) => [
				row.name,
				row.description,
			]);
		};
		expect((await compared()).map(([name]) => name)).toEqual(POLICIES);
		expect(await compared("--policy", "tiers,log")).toEqual([
			["tiers", expect.stringContaining("not what a working set costs")],
			["log", expect.stringContaining("the session's own requests")],
		]);
		expect((await run("--help")).out).toContain("tiers and log are compared only when named");
	});

	test("savings at birth need the texts of results, and both together are compared only when named", async () => {
		const file = readTwiceThenOld().save();
		const { policies } = JSON.parse(
			(await run(file, "--json", "--policy", "append-only,birth,quiet,birth-quiet")).out,
		);
		expect(policies.map(({ name }: { name: string }) => name)).toEqual([
			"append-only",
			"birth",
			"quiet",
			"birth-quiet",
		]);
		const [without, birth] = policies.map(({ cost }: { cost: number }) => cost);
		expect(birth).toBeLessThan(without);
		expect((await run("--help")).out).toContain("birth, quiet and birth-quiet");
	});

	test("strata is the read cache and pruning together, as the settings have it", async () => {
		const file = readTwiceThenOld().save();
		const costsWith = async (keepRecentTurns: number) => {
			const cwd = tempDir();
			mkdirSync(join(cwd, ".pi"));
			writeFileSync(
				join(cwd, ".pi", "strata.json"),
				JSON.stringify({ prune: { keepRecentTurns } }),
			);
			const { policies } = JSON.parse((await runIn(cwd, file, "--json")).out);
			return Object.fromEntries(
				policies.map(({ name, cost }: { name: string; cost: number }) => [name, cost]),
			);
		};
		const kept = await costsWith(100);
		expect(kept.pruning).toBe(kept["append-only"]);
		expect(kept.strata).toBe(kept["read-cache"]);
		const pruned = await costsWith(2);
		expect(pruned.pruning).toBeLessThan(kept.pruning);
		expect(pruned.strata).toBeLessThan(Math.min(pruned.pruning, pruned["read-cache"]));
	});

	test("--model takes the rules of another model for all requests", async () => {
		const { models } = JSON.parse((await run(aSession(), "--model", "gpt-5", "--json")).out);
		expect(models).toEqual([expect.objectContaining({ name: "openai/gpt-5", writeRatio: 1 })]);
	});

	test("--html writes one private page and says where", async () => {
		const cwd = tempDir();
		const { status, out } = await runIn(cwd, aSession(), "--html", "report.html");
		expect(status).toBe(0);
		expect(out).toContain("Charts: report.html");
		expect(readFileSync(join(cwd, "report.html"), "utf8")).toMatch(/^<!doctype html>/);
	});

	test("a page that cannot be written is named, and not the file it is made from", async () => {
		const cwd = tempDir();
		writeFileSync(join(cwd, "file"), "in the way of a folder");
		const { status, out, err } = await runIn(cwd, aSession(), "--html", "file/report.html");
		expect({ status, out }).toEqual({ status: 1, out: "" });
		expect(err).toContain(`cannot write ${join(cwd, "file", "report.html")} (`);
		expect(err).not.toContain(".tmp");
	});

	test("--html never overwrites the session", async () => {
		const file = aSession();
		const before = readFileSync(file, "utf8");
		const { status, err } = await run(file, "--html", file);
		expect(status).toBe(2);
		expect(err).toContain("would overwrite");
		expect(readFileSync(file, "utf8")).toBe(before);
	});

	test("--html overwrites its own page and no other file, not even through a link", async () => {
		const cwd = tempDir();
		const file = session().save("session.jsonl", cwd);
		symlinkSync(cwd, join(cwd, "link"));
		writeFileSync(join(cwd, "notes.html"), "<!doctype html><p>my notes");
		for (const name of ["notes.html", "link/session.jsonl", "link", ""]) {
			const { status, out, err } = await runIn(cwd, file, "--html", name);
			expect({ status, out }).toEqual({ status: 2, out: "" });
			expect(err).toContain("--html");
		}
		expect(readFileSync(join(cwd, "notes.html"), "utf8")).toContain("my notes");
		expect(readFileSync(file, "utf8")).toContain('"type":"session"');
		for (const _ of [1, 2]) {
			expect(await runIn(cwd, file, "--html", "page.html")).toMatchObject({ status: 0 });
		}
	});

	test("--json has no characters that terminals act on", async () => {
		const folder = tempDir();
		const writer = new SessionWriter();
		writer.assistant("a", { input: 100 }, { model: "\u009b31m\u007f\u001b[2J" });
		const { out } = await run(writer.save("a.jsonl", folder), "--json");
		expect(out.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
		expect(JSON.parse(out).models[0].name).toContain("\u009b31m\u007f\u001b[2J");
	});

	test("says what was skipped in a damaged file and replays the rest", async () => {
		const writer = session();
		writer.raw('{"type":"message","id":"x"');
		const { status, out } = await run(writer.save());
		expect(status).toBe(0);
		expect(out).toContain("1 line was skipped: 1 damaged");
	});

	test("shows what it is doing", async () => {
		const seen: string[] = [];
		await main(["replay", aSession()], {
			...silentTerminal(tempDir()),
			progress: (line) => seen.push(line),
		});
		expect(seen.some((line) => line.includes("100 %"))).toBe(true);
		expect(seen.some((line) => line.includes("strata …"))).toBe(true);
		expect(seen.at(-1)).toBe("");
	});
});

describe("strata replay --find", () => {
	async function find(home: string, ...args: string[]) {
		const printed: string[] = [];
		const terminal = {
			...silentTerminal(tempDir()),
			env: { HOME: home },
			print: (line: string) => void printed.push(line),
		};
		return { status: await main(["replay", "--find", ...args], terminal), out: printed.join("\n") };
	}

	test("lists what the agents of this user have stored", async () => {
		const home = tempDir();
		const folder = join(home, ".codex", "sessions", "2026", "05", "01");
		mkdirSync(folder, { recursive: true });
		const file = new CodexWriter({ cwd: "/w/\u001b[2Japp" })
			.turn()
			.user("a")
			.save("r.jsonl", folder);
		const { status, out } = await find(home);
		expect(status).toBe(0);
		expect(out).toMatch(/^last use \(UTC\) +agent +size +project$/m);
		expect(out).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d {2}codex .*0\.0 MB.*app$/m);
		expect(out).toContain(file);
		expect(out).not.toContain("\u001b");
		const { sessions } = JSON.parse((await find(home, "--json")).out);
		expect(sessions).toMatchObject([{ agent: "codex", file, project: "/w/\u001b[2Japp" }]);
	});

	test("says that there is nothing", async () => {
		const { status, out } = await find(tempDir());
		expect(status).toBe(3);
		expect(out).toContain("No session files");
	});
});

describe("strata replay of a folder", () => {
	test("adds up its sessions and names the files it could not use", async () => {
		const folder = tempDir();
		mkdirSync(join(folder, "--project--"));
		session().save("a.jsonl", folder);
		session().save("b.jsonl", join(folder, "--project--"));
		writeFileSync(join(folder, "broken.jsonl"), "no session\n");
		writeFileSync(join(folder, "other.txt"), "not looked at");
		const { status, out } = await run(folder, "--json");
		expect(status).toBe(0);
		const report = JSON.parse(out);
		expect(report).toMatchObject({ file: folder, requests: 6, skipped: 0 });
		expect(report.sessions).toHaveLength(2);
		expect(report.misses).toHaveLength(2);
		expect(report.failed).toEqual([
			{ file: join(folder, "broken.jsonl"), reason: expect.stringContaining("not a session") },
		]);
		const single = report.sessions[0].policies[0];
		expect(report.policies[0]).toMatchObject({ cost: 2 * single.cost, ratio: single.ratio });
		expect((await run(folder)).out).toContain("6 requests in 2 sessions");
		expect((await run(join(folder, "--project--"))).out).toMatch(/^3 requests in 1 session$/m);
	});

	test("shows the names of its files without what could move the cursor", async () => {
		const folder = tempDir();
		session().save("\u001b[2Ja.jsonl", folder);
		writeFileSync(join(folder, "\u001b[2Jb.jsonl"), "");
		const seen: string[] = [];
		const note = (line: string) => void seen.push(line);
		const terminal = {
			...silentTerminal(tempDir()),
			print: note,
			printError: note,
			progress: note,
		};
		expect(await main(["replay", folder], terminal)).toBe(0);
		expect(await main(["replay", folder, "--policy", "strata"], terminal)).toBe(0);
		expect(seen.join("\n")).toContain("a.jsonl");
		expect(seen.join("\n")).not.toContain("\u001b");
	});

	test("--html begins with the sums and what was left out", async () => {
		const folder = tempDir();
		const pages = tempDir();
		session().save("a.jsonl", folder);
		session().save("b.jsonl", folder);
		writeFileSync(join(folder, "broken.jsonl"), "no session\n");
		const { status } = await runIn(pages, folder, "--html", "page.html");
		expect(status).toBe(0);
		const page = readFileSync(join(pages, "page.html"), "utf8");
		expect(page).toContain("Cost of these 2 sessions");
		expect(page).toContain("6 requests in 2 sessions.");
		expect(page).toContain("1 file failed");
		expect(page).toContain("broken.jsonl is not a session");
	});

	test("counts a request that several files hold once, and says so", async () => {
		const folder = tempDir();
		const writer = session();
		writer.save("a.jsonl", folder);
		writer.save("copy.jsonl", folder);
		writer.user("g");
		writer.assistant("h", { cacheRead: 8000 });
		writer.save("fork.jsonl", folder);
		const report = JSON.parse((await run(folder, "--json")).out);
		expect(report).toMatchObject({ requests: 4, copies: 6, failed: [] });
		expect(report.sessions).toHaveLength(2);
		expect((await run(folder)).out).toContain(
			"4 requests in 2 sessions, and 6 copies that count elsewhere",
		);
	});

	test("takes files of all agents, and a file that is no session harms nothing", async () => {
		const folder = tempDir();
		session().save("pi.jsonl", folder);
		const usage = { input: 5000, output: 10 };
		new CodexWriter().turn().user("a").assistant("b").count(usage).save("codex.jsonl", folder);
		const own = new OpencodeSession().user("a").assistant("b", { input: 5, write: 5000 });
		const sub = new OpencodeSession("ses_2", { parentID: "ses_1" }).user("c");
		sub.assistant("d", { input: 6, write: 4500 });
		openDatabase(join(folder, "opencode.db"), [own, sub]).close();
		writeFileSync(join(folder, "package.json"), '{\n  "name": "x"\n}\n');
		const report = JSON.parse((await run(folder, "--json")).out);
		expect(report.requests).toBe(6);
		expect(report.sessions.map(({ subagent }: { subagent?: string }) => subagent ?? "")).toContain(
			"ses_2",
		);
		expect(report.failed).toEqual([
			{ file: join(folder, "package.json"), reason: expect.stringContaining("not a session") },
		]);
		const single = JSON.parse((await run(join(folder, "opencode.db"), "--json")).out);
		expect(single).toMatchObject({ requests: 2, check: { deviation: expect.any(Number) } });
		expect(single.sessions).toMatchObject([{ session: "ses_1" }, { subagent: "ses_2" }]);
		expect((await run(join(folder, "opencode.db"), "--all")).out).toContain("sub-agent ses_2");
	});

	test("does not follow links out of it", async () => {
		const folder = tempDir();
		symlinkSync(tempDir(), join(folder, "elsewhere"));
		symlinkSync(aSession(), join(folder, "linked.jsonl"));
		const { status, err } = await run(folder);
		expect(err).toContain("has no .jsonl files in it");
		expect(status).toBe(3);
	});

	test("marks the dollars of the demo as made up, in every form", async () => {
		const folder = tempDir();
		const writer = new SessionWriter();
		writer.user("hello");
		writer.assistant("hi", { input: 5000 }, { provider: "strata-demo", model: "scripted" });
		const file = writer.save("demo.jsonl", folder);
		session().save("real.jsonl", folder);
		const note = "The prices of the demo are made up.";
		for (const words of [[file], [file, "--all"], [folder], [folder, "--all"]]) {
			expect((await run(...words)).out, words.join(" ")).toContain(note);
		}
		const page = join(folder, "page.html");
		await run(folder, "--html", page);
		expect(readFileSync(page, "utf8").split(note)).toHaveLength(3); // in the sum and in the session
		expect((await run(join(folder, "real.jsonl"))).out).not.toContain(note);
	});
});

describe("strata replay refuses, in one line,", () => {
	test.each([
		["no session in this folder", [], 3, "no session of an agent worked in this folder"],
		["two files", ["a.jsonl", "b.jsonl"], 2, 'unexpected argument "b.jsonl"'],
		["an unknown policy", ["a.jsonl", "--policy", "strat"], 2, 'did you mean "strata"?'],
		["an unknown model", ["a.jsonl", "--model", "claude-opus-4-55"], 2, "did you mean"],
		["a missing file", ["missing.jsonl"], 1, "there is no such file"],
	])("%s", async (_, words, status, reason) => {
		const answer = await run(...words);
		expect(answer).toMatchObject({ status, out: "" });
		expect(answer.err).toContain(reason);
	});

	test.each([
		["an empty file", "", "it is empty"],
		["a binary file", "\u0000\u0001", "it is binary"],
		["a newer format", '{"type":"session","version":9}\n', "formats 1 to 3"],
		["a hostile format", '{"type":"session","version":"\u009b2J"}\n', "formats 1 to 3"],
		[
			"a session without a bill",
			'{"type":"session","version":3}\n',
			"no request with token counts from a provider",
		],
	])("%s", async (_, content, reason) => {
		const file = join(tempDir(), "session.jsonl");
		writeFileSync(file, content);
		const { status, err } = await run(file, "--html", "page.html");
		expect(status).toBe(1);
		expect(err).toContain(file);
		expect(err).toContain(reason);
		expect(err.split("\n")).toHaveLength(1);
		expect(err).not.toMatch(/\p{Cc}/u);
		expect(existsSync(join(file, "..", "page.html"))).toBe(false);
	});
});

/** Three requests, of which the last found nothing in the cache. */
let sessions = 0;

/** Each at another time: the same requests in two files would be copies. */
function session(): SessionWriter {
	const writer = new SessionWriter();
	writer.atMs += 3_600_000 * sessions++;
	writer.user("a");
	writer.assistant("b", { cacheWrite: 5000 });
	writer.user("c");
	writer.assistant("d", { cacheRead: 5000, cacheWrite: 1000 });
	writer.user("e");
	writer.assistant("f", { cacheWrite: 8000 });
	return writer;
}

/** A file is read twice; turns later the user is away for so long that what was cached is gone. */
function readTwiceThenOld(): SessionWriter {
	const writer = new SessionWriter();
	const text = Array.from({ length: 400 }, (_, at) => `line ${at} of the file`).join("\n");
	writer.user("read it, twice");
	writer.assistant([writer.call("c1", "read", { path: "a.ts" })], { cacheWrite: 5000 });
	writer.result("c1", "read", text);
	writer.assistant([writer.call("c2", "read", { path: "a.ts" })], {
		cacheRead: 5000,
		cacheWrite: 2000,
	});
	writer.result("c2", "read", text);
	writer.assistant("done", { cacheRead: 7000, cacheWrite: 2000 });
	for (let prompt = 9000; prompt < 9300; prompt += 100) {
		writer.user("and then?");
		writer.assistant("this", { cacheRead: prompt, cacheWrite: 100 });
	}
	writer.atMs += 3_600_000;
	writer.user("back again");
	writer.assistant("hello", { cacheWrite: 9400 });
	return writer;
}

function aSession(): string {
	return session().save();
}

function run(...argv: string[]) {
	return runIn(tempDir(), ...argv);
}

async function runIn(cwd: string, ...argv: string[]) {
	const out: string[] = [];
	const err: string[] = [];
	const status = await main(["replay", ...argv], {
		...silentTerminal(cwd),
		print: (line) => out.push(line),
		printError: (line) => err.push(line),
	});
	return { status, out: out.join("\n"), err: err.join("\n") };
}

function silentTerminal(cwd: string) {
	return { cwd, env: {}, print: () => {}, write: () => {}, printError: () => {} };
}
