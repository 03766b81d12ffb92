/**
 * Runs the end-to-end tests on the next pi: `npm run test:pi-next [-- vitest arguments]`. That pi
 * cannot be installed (some of its dependencies are not published), but the bundle in its package
 * needs only jiti, so the package is unpacked into `.pi-next/` and used from there.
 */
import { spawnSync } from "node:child_process";
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
const bundle = join(packageIn(home), "dist", "bundle", "index.js");

if (!(await ensurePi())) {
	console.error(
		[
			"",
			"=".repeat(72),
			`WARNING: pi ${VERSION} could not be downloaded.`,
			"The end-to-end tests were NOT run on it. Nothing is known to be broken,",
			"and nothing is known to work: run `npm run test:pi-next` again later.",
			"=".repeat(72),
			"",
		].join("\n"),
	);
	process.exit(0);
}
process.exit(runTests(process.argv.slice(2)));

async function ensurePi(): Promise<boolean> {
	if (isComplete(home)) return true;
	for (const pause of [0, ...PAUSES_SECONDS]) {
		await sleep(pause * 1000);
		try {
			download();
			return true;
		} catch (error) {
			console.error(`pi ${VERSION}: ${error instanceof Error ? error.message : error}`);
		}
	}
	return false;
}

/** Builds the folder beside its place and moves it there in one step, so that it is never half full. */
function download(): void {
	mkdirSync(store, { recursive: true });
	const work = mkdtempSync(join(store, "download-"));
	try {
		npm(["pack", `${NAME}@${VERSION}`, "--pack-destination", work, "--silent"]);
		const archive = `${NAME.replace("@", "").replace("/", "-")}-${VERSION}.tgz`;
		run("tar", ["-xzf", archive], work);
		const next = join(work, "next");
		mkdirSync(dirname(packageIn(next)), { recursive: true });
		renameSync(join(work, "package"), packageIn(next));
		linkJiti(next);
		if (!isComplete(next)) throw new Error("the downloaded package is not the one expected");
		rmSync(home, { recursive: true, force: true });
		renameSync(next, home);
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

/** jiti, with which pi loads extensions, is not in the bundle: the installed pi lends its own. */
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

function runTests(args: string[]): number {
	const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
	const { status } = spawnSync(process.execPath, [vitest, "run", "test/e2e", ...args], {
		cwd: root,
		stdio: "inherit",
		env: { ...process.env, PI_SDK: pathToFileURL(bundle).href },
	});
	return status ?? 1;
}

function npm(args: string[]): void {
	// npm names its own file when it runs a script. Without it, Windows needs a shell to find npm.cmd.
	const cli = process.env.npm_execpath;
	if (cli?.endsWith("npm-cli.js")) run(process.execPath, [cli, ...args], store);
	else run("npm", args, store, process.platform === "win32");
}

function run(command: string, args: string[], cwd: string, shell = false): void {
	const { error, status, stderr } = spawnSync(command, args, { cwd, shell, encoding: "utf8" });
	if (error) throw error;
	if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed\n${stderr}`);
}
