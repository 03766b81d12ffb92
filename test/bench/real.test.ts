// @module-tag slow
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { kinds, sessionOf } from "../birth/kinds.ts";
import { code } from "../birth/results.ts";
import { ClaudeWriter } from "../importers/claude-writer.ts";
import { CodexWriter } from "../importers/codex-writer.ts";
import { tempDir } from "../support/temp.ts";

const bench = fileURLToPath(new URL("../../bench/run.ts", import.meta.url));

test("all policies run over a folder of sessions, and the worst of each source is shown", async () => {
	const folder = tempDir();
	sessionOf(kinds["a run of calls"] as (typeof kinds)[string], 1).save("pi.jsonl", folder);
	for (const name of ["own_1", "own_2", "other_1"]) claudeSession().save(`${name}.jsonl`, folder);
	const packed = join(folder, "own_2.jsonl");
	writeFileSync(`${packed}.gz`, gzipSync(readFileSync(packed)));
	writeFileSync(packed, "no session");
	codexSession().save("own_3.jsonl", folder);

	const words = [bench, "real", "--traces", folder];
	const { stdout } = await promisify(execFile)(process.execPath, words);
	expect(stdout).toContain("skipped: own_2.jsonl: ");
	const rows = new Map(
		stdout.split("\n").flatMap((line) => {
			const [, , name, value, , , , , from] = line.split("│").map((cell) => cell.trim());
			return name?.startsWith("'") ? [[name.slice(1, -1), [Number(value), from]]] : [];
		}),
	);
	const policies = ["billed", "read-cache", "clearing", "ttl-auto", "birth", "quiet", "strata"];
	const further = ["pruning", "birth-quiet", "birth-clearing"];
	for (const group of ["pi", "claude-code", "claude-code, own", "claude-code, other", "codex, own"])
		for (const policy of [...policies, ...further])
			for (const figure of ["median", "mean", "worst"])
				expect(rows.get(`${group}: ${policy}, ${figure}`)?.[0]).toBeGreaterThan(0);
	expect(rows.get("claude-code: birth, worst")?.[1]).toContain("sessions 3, requests 9");
	expect(rows.get("claude-code, own: birth, worst")?.[0]).toBeLessThan(0.95);
	expect(rows.get("pi: birth, reads at 0.025")?.[0]).toBeLessThan(0.95);
});

function claudeSession(): ClaudeWriter {
	const file = code(400).join("\n");
	const claude = new ClaudeWriter();
	claude.user("read it");
	claude.call("m1", "t1", { file_path: "/w/a.ts" }, { write: 10_000 });
	claude.result("t1", file);
	claude.call("m2", "t2", { file_path: "/w/b.ts" }, { read: 10_000, write: 8000 });
	claude.result("t2", file);
	claude.text("m3", "done", { read: 18_000, write: 8000 });
	return claude;
}

function codexSession(): CodexWriter {
	const output = code(300, "log").join("\n");
	const codex = new CodexWriter().turn().user("build it");
	codex.call("c1", "make").count({ input: 8000 }).output("c1", output);
	codex.call("c2", "make").count({ input: 12_000, cached: 8000 }).output("c2", output);
	return codex.assistant("done").count({ input: 16_000, cached: 12_000 });
}
