import { defineConfig } from "vitest/config";

/** The package, installed from the registry as a user does. In `npm test` the same file says that it is skipped. */
export default defineConfig({
	test: {
		include: ["test/install/**/*.test.ts"],
		setupFiles: ["test/support/own-home.ts"],
		env: { STRATA_REGISTRY: "1" },
		reporters: ["verbose"],
	},
});
