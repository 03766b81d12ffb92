import { readFileSync } from "node:fs";

/** The version in this package's own package.json. It lies two folders up, from `src/core` and `dist/core` alike. */
export function packageVersion(): string {
	const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
	return (JSON.parse(manifest) as { version: string }).version;
}
