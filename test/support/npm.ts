import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, dirname } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** npm's environment variables that a user who calls npm has, too. */
const USERS_OWN = /^npm_config_(cache|globalconfig|registry|userconfig)$/;

/** Runs npm in a folder as a user does: on this Node, and without the variables of an npm that runs us. Throws if it fails. */
export function npm(
	words: readonly string[],
	{ cwd, node = process.execPath }: { cwd: string; node?: string },
): Promise<{ stdout: string; stderr: string }> {
	const env = Object.fromEntries(
		Object.entries(process.env).filter(
			([name]) => !name.toLowerCase().startsWith("npm_") || USERS_OWN.test(name.toLowerCase()),
		),
	);
	env.PATH = [dirname(node), process.env.PATH].join(delimiter);
	const options = { cwd, env, maxBuffer: 64 * 1024 ** 2 };
	const program = process.env.npm_execpath; // set by npm run and npx; a bare start finds npm on the path
	if (program) return run(node, [program, ...words], options);
	return run("npm", [...words], { ...options, shell: process.platform === "win32" });
}

/** The names of the packages in our lockfile, which a registry has: `npm ci` took them from it. */
export function lockedPackages(which: "production" | "all"): Set<string> {
	const lock = readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8");
	const { packages } = JSON.parse(lock) as { packages: Record<string, { dev?: boolean }> };
	const names = Object.entries(packages)
		.filter(([, { dev }]) => which === "all" || !dev)
		.map(([place]) => place.split("node_modules/").at(-1) ?? "");
	return new Set(names);
}

/**
 * The registry's failure, from npm's output; `undefined` if the registry is not at fault. "Not found" is its fault only for
 * packages that are known to exist: otherwise we asked for the wrong thing.
 */
export function registryTrouble(printed: string, known: ReadonlySet<string>): string | undefined {
	const code = /^npm error code (\S+)/m.exec(printed)?.[1] ?? "";
	if (/^(E429|E5\d\d|EAI_AGAIN|EIDLETIMEOUT|ENOTFOUND|ETIMEDOUT)$/.test(code)) return code;
	if (/^(ECONN|ENET|EHOST|ERR_SOCKET)/.test(code)) return code;
	if (code !== "E404" && code !== "ETARGET") return undefined;
	const name = /'?(@[\w.-]+\/[\w.-]+|[\w.-]+)@\S+ (?:could not be found|is not in)/.exec(
		printed,
	)?.[1];
	const wanted = name ?? /No matching version found for (@?[^@\s]+)@/.exec(printed)?.[1];
	return wanted !== undefined && known.has(wanted) ? `${code} for ${wanted}` : undefined;
}
