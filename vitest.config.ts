import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		include: ["test/**/*.test.ts"],
		// They need a browser: `npm run test:browser`.
		exclude: ["test/browser/**"],
		setupFiles: ["test/support/own-home.ts"],
		// Far more than any test takes: a busy machine is no failure.
		testTimeout: 60_000,
		hookTimeout: 60_000,
		// Each file of test/e2e loads pi itself (about a second); two workers match the smallest machine we support.
		maxWorkers: 2,
	},
});
