import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { PATIENCE } from "./test/support/patience.ts";
import { postgresPrograms } from "./test/support/postgres.ts";

/**
 * Tests that mock modules, measure memory or count timers: each file has a process of its own. Others leave timers
 * behind: a connection of `fetch` arms one some seconds after its last use.
 */
const ALONE = [
	"test/importers/find.test.ts",
	"test/codeindex/extract/memory.test.ts",
	"test/codeindex/scan/unreadable.test.ts",
	"test/core/{blob-store-faults,in-time,worker-supervisor}.test.ts",
	"test/dashboard/conversation-search.test.ts",
	"test/e2e/readcache-matrix.test.ts",
	"test/extension/old-pi.test.ts",
	"test/server/engine/{durability,parts,programs}.test.ts",
	"test/server/sessions/{events,real-folders}.test.ts",
];
/** Tests that load pi, which takes a second: once a worker. */
const PI = ["test/{bench,cli,e2e,server}/**/*.test.ts"];
/** Run by configurations of their own: vitest.<folder>.config.ts. */
const OTHERS = ["test/agents/**", "test/install/**", "test/browser/**"];

// Source that imports pi gets the pi under test, as it does inside that pi.
const { PI_SDK } = process.env;
const resolve = PI_SDK
	? { alias: { "@earendil-works/pi-coding-agent": fileURLToPath(PI_SDK) } }
	: {};

const shared = (runs: string) => ({
	env: { STRATA_RUNS: process.env.STRATA_RUNS ?? runs },
	tags: [
		{ name: "slow", description: "a quarter of a second or more: in `npm run test:full` only" },
	],
	setupFiles: ["test/support/own-home.ts"],
	// Far more than any test takes: a busy machine is no failure. What must not take quadratic time is given enough
	// work in its test that it would take longer than this.
	testTimeout: 600_000,
	hookTimeout: 600_000,
	expect: { poll: PATIENCE },
	// Where the processor has protection keys, V8 keeps a list of code pages that several threads can corrupt: it then
	// aborts with "Check failed: jit_page.has_value()" (Node 24.21, once in some thousand threads).
	execArgv: ["--no-memory-protection-keys"],
});

/** The suites of a whole server again, with its journal in a database. All of them are slow. */
const onPostgres = (common: ReturnType<typeof shared>) => ({
	...common,
	name: "postgres",
	env: { ...common.env, STRATA_TEST_DATABASE: "1" },
	include: ["test/server/{conformance,crash}/*.test.ts"],
	isolate: false,
});

/** `npm test` leaves out what is tagged as slow, and searches properties for a fifth of the runs. */
export default defineConfig(({ mode }) => {
	const common = shared(mode === "full" ? "1" : "0.2");
	return {
		test: {
			maxWorkers: 2, // the smallest machine we support
			projects: [
				// A worker of "unit" and "pi" loads each module once. A file leaves nothing behind for the next.
				{
					test: {
						...common,
						name: "unit",
						include: ["test/**/*.test.ts"],
						exclude: [...ALONE, ...PI, ...OTHERS],
						isolate: false,
					},
				},
				{ resolve, test: { ...common, name: "pi", include: PI, exclude: ALONE, isolate: false } },
				{ resolve, test: { ...common, name: "alone", include: ALONE } },
				...(postgresPrograms === undefined ? [] : [{ resolve, test: onPostgres(common) }]),
			],
		},
	};
});
