import { defineConfig } from "vitest/config";
import { PATIENCE } from "./test/support/patience.ts";

/** The dashboard in a real browser. One file at a time: a browser and a server take a small machine's cores. */
export default defineConfig({
	test: {
		include: ["test/browser/**/*.test.ts"],
		setupFiles: ["test/support/own-home.ts"],
		// Far more than any test takes: a busy machine is no failure.
		testTimeout: 600_000,
		hookTimeout: 600_000,
		expect: { poll: PATIENCE },
		maxWorkers: 1,
	},
});
