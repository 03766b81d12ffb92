import { defineConfig } from "vitest/config";

/** Long random, crash and load runs. Their size comes from STRATA_LONG_STEPS (default in each file). */
export default defineConfig({
	test: {
		include: ["test/**/*.long.ts"],
		setupFiles: ["test/support/own-home.ts"],
		testTimeout: 4 * 60 * 60_000,
		maxWorkers: 2,
	},
});
