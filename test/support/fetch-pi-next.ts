/**
 * The next pi, which npm cannot install: packages it depends on were missing when this was written. The bundle in it needs
 * only jiti, so it is unpacked into `.pi-next/` and used from there.
 */
import { type StdioOptions, spawnSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
} from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

const NAME = "@earendil-works/pi-coding-agent";
const VERSION = "1.5.0";
const PAUSES_SECONDS = [5, 15, 30, 60]; // before each retry: registries refuse in bursts

const root = fileURLToPath(new URL("../../", import.meta.url));
const store = join(root, ".pi-next");
const home = join(store, VERSION);

/** Its folder once it is fetched. */
export const piNext = { version: VERSION, folder: packageIn(home) };

/** Downloads it unless it is there. False if the registry refuses every retry; other failures throw. */
export async function fetchPiNext(): Promise<boolean> {
	if (isComplete(home)) return true;
	for (const pause of [0, ...PAUSES_SECONDS]) {
		await sleep(pause * 1000);
		if (download()) return true;
	}
	return false;
}

/** Builds the folder under another name and renames it atomically, so that it is never half full. */
function download(): boolean {
	mkdirSync(store, { recursive: true });
	const work = mkdtempSync(join(store, "download-"));
	try {
		if (!npmPack(work)) return false;
		const archive = `${NAME.replace("@", "").replace("/", "-")}-${VERSION}.tgz`;
		// A file name without a folder: some tars take the colon of a Windows drive for a host.
		if (!run("tar", ["-xzf", archive], work)) throw new Error(`tar cannot unpack ${archive}`);
		const next = join(work, "next");
		mkdirSync(dirname(packageIn(next)), { recursive: true });
		renameSync(join(work, "package"), packageIn(next));
		linkJiti(next);
		if (!isComplete(next)) throw new Error(`What came as ${NAME}@${VERSION} is something else`);
		rmSync(home, { recursive: true, force: true });
		renameSync(next, home);
		return true;
	} finally {
		rmSync(work, { recursive: true, force: true });
	}
}

function isComplete(folder: string): boolean {
	try {
		const manifest = JSON.parse(readFileSync(join(packageIn(folder), "package.json"), "utf8"));
		const files = [
			join(packageIn(folder), "dist", "bundle", "index.js"),
			join(packageIn(folder), manifest.bin.pi),
			join(folder, "node_modules", "jiti", "package.json"),
		];
		return manifest.name === NAME && manifest.version === VERSION && files.every(existsSync);
	} catch {
		return false; // no package there, or one that cannot be read
	}
}

/** jiti, with which pi loads extensions, is not in the bundle: the one of the installed pi is used. */
function linkJiti(folder: string): void {
	const installed = findPackageJSON(NAME, import.meta.url);
	const jiti = installed && findPackageJSON("jiti", pathToFileURL(installed));
	if (!jiti) throw new Error("jiti is missing: run `npm ci` first");
	symlinkSync(dirname(jiti), join(folder, "node_modules", "jiti"), "junction");
}

/** Under a `node_modules`, so that vitest loads the bundle as it is instead of transforming it. */
function packageIn(folder: string): string {
	return join(folder, "node_modules", ...NAME.split("/"));
}

function npmPack(folder: string): boolean {
	// No retries by npm itself: ours back off longer, as a busy registry needs.
	const options = ["--pack-destination", folder, "--fetch-retries=0", "--loglevel=error"];
	const args = ["pack", `${NAME}@${VERSION}`, ...options];
	// npm names its own file when it runs a script. Without it, Windows needs a shell to find npm.cmd.
	const cli = process.env.npm_execpath;
	if (cli?.endsWith("npm-cli.js")) return run(process.execPath, [cli, ...args], store);
	return run("npm", args, store, process.platform === "win32");
}

function run(command: string, args: string[], cwd: string, shell = false): boolean {
	const stdio: StdioOptions = ["ignore", "ignore", "inherit"];
	const { error, status } = spawnSync(command, args, { cwd, shell, stdio });
	if (error) throw error;
	return status === 0;
}
