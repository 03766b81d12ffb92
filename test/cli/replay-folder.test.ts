import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ReplayJob } from "../../src/cli/replay-file.ts";
import { replayFiles } from "../../src/cli/replay-folder.ts";
import { loadConfig } from "../../src/core/config.ts";
import type { ReplayReport } from "../../src/economy/replay/index.ts";
import { randomSession } from "../economy/replay/random-session.ts";
import { SessionWriter } from "../economy/replay/session-writer.ts";
import { ClaudeWriter } from "../importers/claude-writer.ts";
import { CodexWriter } from "../importers/codex-writer.ts";
import { atEnd, tempDir } from "../support/temp.ts";

/** What the jobs say of their files: it decides whether workers pay. */
const LITTLE = 1000;
const MUCH = 1e9;

const { birth, prune, tiers } = loadConfig({ agentDir: "/none", cwd: "/none" }).config;
const INCIDENTS = { rearranged: 0.1, misbilled: 0.1 };

describe("files that are replayed in workers", () => {
	test("have the outcomes of one thread, in the same order, with each request counted once", {
		tags: "slow",
	}, async () => {
		const files = aFolder();
		const [alone, together] = [await outcomes(files, LITTLE), await outcomes(files, MUCH)];
		expect(together).toEqual(alone);
		const copies = alone.flatMap((one) => ("reports" in one ? one.reports : []));
		expect(copies.some((report: ReplayReport) => (report.copies ?? 0) > 0)).toBe(true);
		expect(alone.filter((one) => "path" in one)).toHaveLength(2);
	});

	test("are counted while they are replayed", async () => {
		const files = aFolder();
		const lines: string[] = [];
		await outcomes(files, LITTLE, (line) => lines.push(line));
		expect(lines[0]).toMatch(new RegExp(`^0 of ${files.length} done; reading .*: 100 %$`));
		expect(lines.at(-1)).toMatch(new RegExp(`^${files.length - 1} of .*: misses …$`));
	});

	test.runIf(availableParallelism() > 1)(
		"end with the process on a signal",
		{
			tags: "slow",
		},
		async () => {
			const writer = randomSession(7, 300, INCIDENTS);
			const path = writer.save("long.jsonl", tempDir());
			const module = new URL("../../src/cli/replay-folder.ts", import.meta.url).href;
			const script = `
			import { replayFiles } from ${JSON.stringify(module)};
			const jobs = new Array(1000).fill(${JSON.stringify(jobFor(path, MUCH))});
			const onReplayed = () => console.log("replayed");
			await replayFiles(jobs, { onProgress() {}, onReplayed, onFailure: console.log });`;
			const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
				stdio: ["ignore", "pipe", "ignore"],
			});
			atEnd(() => void child.kill("SIGKILL"));
			const ended = once(child, "exit");
			const [output] = await once(child.stdout, "data");
			expect(String(output)).toMatch(/^replayed/);
			child.kill("SIGINT");
			expect(await ended).toEqual([null, "SIGINT"]);
		},
	);
});

type Outcome =
	| { readonly reports: readonly ReplayReport[]; readonly billed: number }
	| { readonly path: string; readonly reason: string };

async function outcomes(
	files: readonly string[],
	size: number,
	onProgress: (line: string) => void = () => {},
): Promise<Outcome[]> {
	const found: Outcome[] = [];
	await replayFiles(
		files.map((path) => jobFor(path, size)),
		{
			onProgress,
			onReplayed: (replayed) => found.push(replayed),
			onFailure: (path, error) => found.push({ path, reason: (error as Error).message }),
		},
	);
	return found;
}

function jobFor(path: string, size: number): ReplayJob {
	const settings = { birth, prune, tiers };
	return { path, size, policies: ["strata", "billed"], settings };
}

/** Sessions of several agents and sizes; some repeat requests of others, and two cannot be replayed. */
function aFolder(): string[] {
	const folder = tempDir();
	const shared = randomSession(1, 60, INCIDENTS);
	const files = [shared.save("first.jsonl", folder), shared.save("copy.jsonl", folder)];
	shared.user("one more");
	shared.assistant("done", { cacheRead: 8000 });
	files.push(shared.save("fork.jsonl", folder));
	const broken = join(folder, "broken.jsonl");
	writeFileSync(broken, "no session\n");
	files.push(broken, new SessionWriter().save("without a bill.jsonl", folder));
	const claude = new ClaudeWriter();
	claude.user("hello");
	claude.text("m1", "answer", { write: 9000, output: 5 });
	claude.text("m2", "more", { read: 9000, write: 50, output: 5 });
	files.push(claude.save("claude.jsonl", folder), claude.save("claude copy.jsonl", folder));
	const usage = { input: 5000, output: 10 };
	const codex = new CodexWriter().turn().user("a").assistant("b").count(usage);
	files.push(codex.save("codex.jsonl", folder));
	for (const seed of [2, 3, 4])
		files.push(randomSession(seed, 40, INCIDENTS).save(`${seed}.jsonl`, folder));
	return files;
}
