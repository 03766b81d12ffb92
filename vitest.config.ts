import { defineConfig } from "vitest/config";
import { PATIENCE } from "./test/support/patience.ts";

export default defineConfig({
	test: {
		include: ["test/**/*.test.ts"],
		// They need a browser: `npm run test:browser`.
		exclude: ["test/browser/**"],
		setupFiles: ["test/support/own-home.ts"],
		// Far more than any test takes: a busy machine is no failure. What must not take quadratic time is given enough
		// work in its test that it would take longer than this.
		testTimeout: 600_000,
		hookTimeout: 600_000,
		expect: { poll: PATIENCE },
		// Each file of test/e2e loads pi itself (about a second); two workers match the smallest machine we support.
		maxWorkers: 2,
		// Where the processor has protection keys, V8 keeps a list of code pages that several threads can corrupt: it then
		// aborts with "Check failed: jit_page.has_value()" (Node 24.21, once in some thousand threads).
		execArgv: ["--no-memory-protection-keys"],
	},
});
