import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { makePdf } from "../support/make-pdf.ts";
import { runPi, startPiProcess } from "../support/pi-process.ts";
import { tempDir } from "../support/temp.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

const ourCommands = ["strata", "readcache-status", "readcache-refresh"].map((name) =>
	expect.objectContaining({ name, source: "extension" }),
);

describe("a clone", () => {
	test("pi install <path> makes pi list the extension's commands", async () => {
		const dirs = { cwd: tempDir(), agentDir: tempDir() };
		expect(await runPi(["install", root], dirs)).toMatchObject({ status: 0 });
		const pi = await startPiProcess(dirs);
		const { data } = await pi.request({ type: "get_commands" });
		expect(data).toMatchObject({ commands: expect.arrayContaining(ourCommands) });
	});

	test("/strata answers on standard output in print mode", async () => {
		const { status, stdout } = await runPi(["-e", join(root, "pi-extension.ts"), "-p", "/strata"]);
		expect(status).toBe(0);
		expect(stdout).toMatch(/^on {3}read cache/m);
	});
});

describe("the packed tarball, under node_modules", { timeout: 120_000 }, () => {
	test("runs its extension, its command and its worker threads as compiled JavaScript", async () => {
		const installed = await packAndUnpack();
		expect(readdirSync(installed)).not.toContain("src");

		const cli = join(installed, "dist", "cli", "main.js");
		const { stdout } = await run(process.execPath, [cli, "doctor", "--json"], { cwd: tempDir() });
		expect(JSON.parse(stdout)).toMatchObject({
			ok: true,
			findings: expect.arrayContaining([
				{ name: "worker threads", ok: true, required: true, note: "start" },
			]),
		});

		const cwd = tempDir();
		writeFileSync(join(cwd, "a.pdf"), makePdf({ pages: [{ lines: ["The only page."] }] }));
		const read = await run(process.execPath, [cli, "read", "a.pdf"], { cwd });
		expect(read.stdout).toBe("The only page.\n\n");

		const pi = await startPiProcess({ args: ["-e", installed] });
		const { data } = await pi.request({ type: "get_commands" });
		expect(data).toMatchObject({ commands: expect.arrayContaining(ourCommands) });
	});
});

/** Packs the project and unpacks it as `pi install` would: with what it depends on, without pi's own packages, which pi hands in. */
async function packAndUnpack(): Promise<string> {
	const folder = tempDir();
	const args = ["pack", "--pack-destination", folder, "--loglevel=error"];
	const npm = process.env.npm_execpath; // set by npm run and npx; a bare start finds npm on the path
	if (npm) await run(process.execPath, [npm, ...args], { cwd: root });
	else await run("npm", args, { cwd: root, shell: process.platform === "win32" });
	const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) as string;
	const modules = join(folder, "node_modules");
	const installed = join(modules, "pi-strata");
	mkdirSync(installed, { recursive: true });
	await run("tar", ["-xzf", join(folder, tarball), "-C", installed, "--strip-components=1"]);
	const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
	for (const name of Object.keys(manifest.dependencies)) {
		mkdirSync(dirname(join(modules, name)), { recursive: true });
		symlinkSync(join(root, "node_modules", name), join(modules, name), "junction");
	}
	writeFileSync(join(folder, "package.json"), "{}");
	return installed;
}
