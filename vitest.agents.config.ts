import { defineConfig } from "vitest/config";

/** Real agents against the stand-in provider; started by `npm run test:agents`, which fetches them. */
export default defineConfig(({ mode }) => ({
	test: {
		env: { STRATA_RECORD: mode === "record" ? "yes" : "" },
		include: ["test/agents/**/*.test.ts"],
		setupFiles: ["test/support/own-home.ts"],
		testTimeout: 600_000,
		hookTimeout: 600_000,
		reporters: ["verbose"],
		maxWorkers: 1, // an agent takes the cores of a small machine
	},
}));
