import { defineConfig } from "vitest/config";

/** The package, installed from the registry as a user does. */
export default defineConfig({
	test: {
		include: ["test/install/**/*.test.ts"],
		setupFiles: ["test/support/own-home.ts"],
		reporters: ["verbose"],
	},
});
