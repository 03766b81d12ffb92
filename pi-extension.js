import { existsSync } from "node:fs";

/**
 * What pi loads. A clone has the TypeScript source, the published package only compiled JavaScript
 * (Node refuses to strip types under node_modules). This file is the only one that knows the difference.
 */
const source = new URL("./src/extension/index.ts", import.meta.url);
const compiled = new URL("./dist/extension/index.js", import.meta.url);

/** @param {import("@earendil-works/pi-coding-agent").ExtensionAPI} pi */
export default async function loadStrata(pi) {
	const entry = existsSync(source) ? source : compiled;
	const { default: strata } = await import(entry.href);
	return strata(pi);
}
