import { defineConfig } from "vitest/config";

/** The package, installed from the registry as a user does. */
export default defineConfig({
	test: {
		include: ["test/install/**/*.test.ts"],
		setupFiles: ["test/support/own-home.ts"],
		// Removing the installed packages takes longer than the default.
		hookTimeout: 600_000,
		reporters: ["verbose"],
	},
});
