import { delimiter, join, sep } from "node:path";
import { realOrGiven } from "../core/places.ts";

interface Start {
	readonly execPath: string;
	readonly packageFolder: string;
	readonly env: NodeJS.ProcessEnv;
	readonly platform: NodeJS.Platform;
}

/**
 * The words that start strata from an agent. Absolute paths: a desktop program has another path of programs than a
 * terminal, and the `node` on it may be too old. A package that npx fetched is in a cache that npm empties.
 */
export function startCommand({ execPath, packageFolder, env, platform }: Start): string[] {
	if (packageFolder.split(sep).includes("_npx")) {
		const npx = ["npx", "-y", "pi-strata"];
		return platform === "win32" ? ["cmd", "/c", ...npx] : npx;
	}
	return [lastingNode(execPath, env), join(packageFolder, "bin", "strata.js")];
}

/**
 * A link on the path to the running Node, if there is one: package managers such as Homebrew put each version into its
 * own folder and delete the old one. Links of a single shell (fnm) and of a project are gone sooner.
 */
function lastingNode(execPath: string, env: NodeJS.ProcessEnv): string {
	const real = realOrGiven(execPath);
	const folders = (env.PATH ?? env.Path ?? "").split(delimiter).filter(Boolean);
	const isLasting = (folder: string) => !/multishells|node_modules|[\\/]te?mp[\\/]/i.test(folder);
	const links = folders.filter(isLasting).map((folder) => join(folder, "node"));
	return links.find((link) => link !== real && realOrGiven(link) === real) ?? execPath;
}
