import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		include: ["test/**/*.test.ts"],
		// They need a browser: `npm run test:browser`.
		exclude: ["test/browser/**"],
		setupFiles: ["test/support/own-home.ts"],
		testTimeout: 30_000,
		// Each file of test/e2e loads pi itself (about a second); two workers match the smallest machine we support.
		maxWorkers: 2,
	},
});
