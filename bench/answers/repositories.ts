import { cpSync, existsSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Repository } from "./questions.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const PI = ["pi-agent-core", "pi-ai", "pi-coding-agent", "pi-tui"];

/** TypeScript; JavaScript with declarations, some of it minified; CommonJS. */
const SOURCES: Readonly<Record<Repository, readonly (readonly [from: string, to: string])[]>> = {
	strata: [["src", "."]],
	pi: PI.map((name) => [`node_modules/@earendil-works/${name}/dist`, `${name}/dist`]),
	undici: [["node_modules/undici/lib", "."]],
};

/** Copies the sources of a repository, so that questions about them do not find this benchmark. */
export function copyRepository(name: Repository, folder: string): string {
	const root = join(folder, name);
	for (const [from, to] of SOURCES[name]) {
		const source = join(PROJECT, from);
		if (!existsSync(source)) throw new Error(`${from} is missing: run npm ci`);
		cpSync(source, join(root, to), {
			recursive: true,
			filter: (path) => !path.slice(source.length).split(sep).includes("node_modules"),
		});
	}
	return root;
}
