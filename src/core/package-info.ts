import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folder of this package: the clone, or where it is installed. */
export function packageFolder(): string {
	return fileURLToPath(new URL("../..", import.meta.url)).replace(/[\\/]$/, "");
}

/** The version in this package's own package.json. */
export function packageVersion(): string {
	return manifest().version;
}

/** The names of the packages that this one cannot do without. */
export function packageDependencies(): string[] {
	return Object.keys(manifest().dependencies);
}

/** It lies two folders up, from `src/core` and `dist/core` alike. */
function manifest(): { version: string; dependencies: Record<string, string> } {
	return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
}
