/**
 * Golden runs: shows that a refactoring leaves every request of the scripted end-to-end sessions unchanged.
 *
 *   npm run golden -- record <folder> [test files]     run test/e2e and store each request that reaches a provider
 *   npm run golden -- compare <folder> <folder>        print the differences, status 1 if there are any
 *
 * Record on the old commit first, then on the new one (`test/support/golden.ts` and its three callers must be there).
 * Exact bytes are recorded, one file per test, one request per line. `RANDOM`, `UNSTABLE` and `NOTES` list the exceptions
 * of the comparison: they differ between two runs of one commit.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The checkout in which requests were recorded: pi names its own folder in system prompts. */
const ROOT_FILE = "root.txt";

/** Random values; each is replaced by its kind and a number. */
const RANDOM: readonly { kind: string; pattern: RegExp }[] = [
	{ kind: "temp folder", pattern: /\/(?:[\w.-]+\/)*(?:pi-strata(?: |%20)|strata-)[\w-]+-\w{6}/g },
	{ kind: "UUID", pattern: /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g },
	{ kind: "cursor", pattern: /(?<![\w-])A[\w-]{47}(?![\w-])/g },
	{ kind: "nonce", pattern: /(?<=\[|pi-bash-)[0-9a-f]{16}(?=\] Working files|\.log)/g },
	{ kind: "entry", pattern: /(?<=<summary>\\nbefore )[0-9a-f]{8}/g },
	// A text that names a log of pi's has a different hash, too.
	{ kind: "blob", pattern: /(?<=blobs\/)[0-9a-f]{64}/g },
	{ kind: "time", pattern: /(?<=\()\d+\.\d s(?=\))|(?<=checked )[\d,]+ h ago/g },
	{ kind: "call", pattern: /\bread-\d+\b/g },
	{ kind: "address", pattern: /\b127\.0\.0\.1:\d+/g },
];

/** Sessions that differ from run to run on purpose: files that change during the test, random sizes, the whole environment. */
const UNSTABLE: readonly RegExp[] = [
	/^pruned-texts.any-text-comes-back-in-pieces/,
	/^readcache-input.a-file-on-the-move/,
	/^readcache-matrix.robustness-17/,
	/^readcache-safety.the-bytes-that-are-hashed/,
	/^secrets.output-that-holds-a-value/,
	/^server-runs.a-prompt-is-stopped-by-an-abort-that-comes/,
];

/**
 * Pi's notes about its own messages, which no provider gets, and limits that pi derives from the rest of the request:
 * token counts depend on the length of the checkout's path.
 */
const NOTES: readonly RegExp[] = [
	/"(?:max|budget)_tokens":\d+/g,
	/"timestamp":\d+/g,
	/"api":"faux:\d+:\w+"/g,
	/"usage":\{[^{}]*(?:\{[^{}]*\}[^{}]*)?\}/g,
];

const [command, ...rest] = process.argv.slice(2);
if (command === "record" && rest[0]) record(resolve(rest[0]), rest.slice(1));
else if (command === "compare" && rest.length === 2) compare(rest as [string, string]);
else {
	console.error("Usage: golden record <folder> [test files] | golden compare <folder> <folder>");
	process.exitCode = 2;
}

function record(folder: string, tests: readonly string[]): void {
	rmSync(folder, { recursive: true, force: true });
	mkdirSync(folder, { recursive: true });
	writeFileSync(join(folder, ROOT_FILE), process.cwd());
	// package.test.ts sends no requests.
	const all = ["test/e2e", "--exclude", "**/package.test.ts"];
	const vitest = join("node_modules", "vitest", "vitest.mjs");
	const args = [vitest, "run", ...(tests.length > 0 ? tests : all)];
	const env = { ...process.env, STRATA_GOLDEN: folder };
	process.exitCode = spawnSync(process.execPath, args, { stdio: "inherit", env }).status ?? 1;
}

function compare([before, after]: [string, string]): void {
	// Sessions that only the second one has belong to new tests.
	const names = filesIn(before).sort();
	let different = 0;
	for (const name of names) {
		const difference = differenceOf(comparable(before, name), comparable(after, name));
		if (!difference) continue;
		different++;
		console.log(`${name}\n${difference}\n`);
	}
	console.log(`${names.length - different} of ${names.length} sessions send the same requests`);
	if (different > 0 || names.length === 0) process.exitCode = 1;
}

function filesIn(folder: string): string[] {
	return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
		(name) => name.endsWith(".jsonl") && !UNSTABLE.some((unstable) => unstable.test(name)),
	);
}

/** The requests of one session, without random values. */
function comparable(folder: string, name: string): string[] | undefined {
	const path = join(folder, name);
	if (!existsSync(path)) return undefined;
	let text = readFileSync(path, "utf8");
	text = text.replaceAll(readFileSync(join(folder, ROOT_FILE), "utf8"), "<checkout>");
	for (const { kind, pattern } of RANDOM) {
		// The same value gets the same number, so that two values in place of one are a difference.
		const seen = new Map<string, number>();
		text = text.replaceAll(pattern, (value: string) => {
			if (!seen.has(value)) seen.set(value, seen.size + 1);
			return `<${kind} ${seen.get(value)}>`;
		});
	}
	for (const note of NOTES) text = text.replaceAll(note, '"note":0');
	return text.trimEnd().split("\n");
}

/** The first request that differs, and the surroundings of its first different character. */
function differenceOf(
	before: string[] | undefined,
	after: string[] | undefined,
): string | undefined {
	if (!before || !after) return "  not in the second folder";
	const request = before.findIndex((line, at) => line !== after[at]);
	if (request < 0 && before.length === after.length) return undefined;
	const counts = `  requests: ${before.length} and ${after.length}`;
	if (request < 0) return counts;
	const [left = "", right = ""] = [before[request], after[request]];
	let at = 0;
	while (at < left.length && left[at] === right[at]) at++;
	const around = (text: string) => text.slice(Math.max(0, at - 80), at + 120);
	return `${counts}; request ${request + 1} differs at ${at}\n  - ${around(left)}\n  + ${around(right)}`;
}
