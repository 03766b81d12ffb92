import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export function packageFolder(): string {
	return fileURLToPath(new URL("../..", import.meta.url)).replace(/[\\/]$/, "");
}

export function packageVersion(): string {
	return manifest().version;
}

export function packageDependencies(): string[] {
	return Object.keys(manifest().dependencies);
}

/** `package.json` is two folders above both `src/core` and `dist/core`. */
function manifest(): { version: string; dependencies: Record<string, string> } {
	return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
}
