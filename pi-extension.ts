import { existsSync } from "node:fs";
import { type ExtensionAPI, VERSION } from "@earendil-works/pi-coding-agent";

/**
 * What pi loads. A clone has the TypeScript source, the published package only compiled JavaScript, whose first start
 * is quicker and which Node needs under node_modules. This file and `bin/strata.js` know the difference.
 *
 * It is TypeScript and its imports are relative on purpose: so pi's own loader follows them and hands in pi's own
 * modules. A JavaScript entry goes to Node, which would load a second copy of pi, a second slower.
 */
export default async function loadStrata(pi: ExtensionAPI): Promise<void> {
	const isClone = existsSync(new URL("./src/extension/index.ts", import.meta.url));
	const compiled = { version: "./dist/core/pi-version.js", extension: "./dist/extension/index.js" };
	// Before the rest, which may ask for something that another pi does not have.
	const { piFault } = isClone
		? await import("./src/core/pi-version.ts")
		: await import(compiled.version);
	const fault = piFault(VERSION);
	if (fault !== undefined) throw new Error(fault);
	const { default: strata } = isClone
		? await import("./src/extension/index.ts")
		: await import(compiled.extension);
	return strata(pi);
}
