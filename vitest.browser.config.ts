import { defineConfig } from "vitest/config";

/** The dashboard in a real browser. One file at a time: a browser and a server take a small machine's cores. */
export default defineConfig({
	test: {
		include: ["test/browser/**/*.test.ts"],
		setupFiles: ["test/support/own-home.ts"],
		testTimeout: 60_000,
		maxWorkers: 1,
	},
});
