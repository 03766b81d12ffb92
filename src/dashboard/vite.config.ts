import { defineConfig } from "vite";

/** Builds the page into `dist/dashboard`, from where the server serves it. */
export default defineConfig({
	base: "./",
	build: {
		outDir: "../../dist/dashboard",
		emptyOutDir: true,
		// Browsers that know `light-dark()`, which the colours are made of.
		target: ["chrome123", "edge123", "firefox120", "safari17.5"],
		// The policy of the page allows pictures as data, but files are cached and shared.
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		reportCompressedSize: true,
	},
	oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
