import { defineConfig } from "vite";

export default defineConfig({
	base: "./",
	build: {
		outDir: "../../dist/dashboard",
		emptyOutDir: true,
		// The oldest versions that support `light-dark()`.
		target: ["chrome123", "edge123", "firefox120", "safari17.5"],
		// Assets stay separate files, which browsers cache and views share.
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		// One file packs better than one of some hundred bytes a view.
		cssCodeSplit: false,
		reportCompressedSize: true,
	},
	oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
