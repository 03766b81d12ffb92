import { defineConfig } from "vite";

export default defineConfig({
	base: "./",
	build: {
		outDir: "../../dist/dashboard",
		emptyOutDir: true,
		// These browsers support `light-dark()`.
		target: ["chrome123", "edge123", "firefox120", "safari17.5"],
		// Nothing is inlined, because files are cached and shared.
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		reportCompressedSize: true,
	},
	oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
