import { existsSync } from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

/**
 * What pi loads. A clone has the TypeScript source, the published package only compiled JavaScript, which starts
 * quicker and which Node needs under node_modules. This file is the only one that knows the difference.
 *
 * It is TypeScript and its imports are relative on purpose: so pi's own loader follows them and hands in pi's own
 * modules. A JavaScript entry goes to Node, which would load a second copy of pi, a second slower.
 */
export default async function loadStrata(pi: ExtensionAPI): Promise<void> {
	const isClone = existsSync(new URL("./src/extension/index.ts", import.meta.url));
	const compiled = "./dist/extension/index.js";
	const { default: strata } = isClone
		? await import("./src/extension/index.ts")
		: await import(compiled);
	return strata(pi);
}
