import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { documents } from "../docs/documents.ts";
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
		const args = ["-e", join(root, "pi-extension.ts"), "-p", "/strata"];
		const { status, stdout } = await runPi(args, { timeoutMs: 100_000 });
		expect(status).toBe(0);
		expect(stdout).toMatch(/^on {3}read cache/m);
	}, 120_000);
});

test("every link of a document in the tarball leads to something in it", async () => {
	const { stdout } = await npm("pack", "--dry-run", "--json", "--ignore-scripts");
	const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
	const packed = new Set(files.map(({ path }) => path));
	const isThere = (path: string) =>
		packed.has(path) || files.some((file) => file.path.startsWith(`${path.replace(/\/$/, "")}/`));
	const links = documents
		.filter(({ path }) => packed.has(path))
		.flatMap((document) => document.links.map(({ path }) => ({ from: document.path, path })));
	expect(links.filter(({ path }) => !isThere(path))).toEqual([]);
	expect(links.length).toBeGreaterThan(50);
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

		// A server is no guest of pi: it is installed beside it.
		link(installed, Object.keys(manifestOf(installed).peerDependencies));
		await withServer(cli, async (url) => {
			expect((await fetch(new URL("readyz", url))).status).toBe(200);
			expect(await (await fetch(url)).text()).toContain('<script type="module"');
		});
	});
});

/** Starts the server of an installed package, and stops it afterwards. */
async function withServer(cli: string, use: (url: string) => Promise<void>): Promise<void> {
	const agentDir = tempDir();
	const server = spawn(process.execPath, [cli, "serve", "--port", "0", "--json"], {
		cwd: tempDir(),
		env: { ...process.env, PI_CODING_AGENT_DIR: agentDir, PI_OFFLINE: "1" },
		stdio: ["ignore", "pipe", "inherit"],
	});
	const ended = once(server, "exit");
	try {
		const [chunk] = (await once(server.stdout, "data")) as [Buffer];
		await use((JSON.parse(chunk.toString()) as { url: string }).url);
	} finally {
		server.kill("SIGTERM");
		expect(await ended).toEqual([0, null]);
	}
}

/** Packs the project and unpacks it as `pi install` would: with what it depends on, without pi's own packages, which pi hands in. */
async function packAndUnpack(): Promise<string> {
	const folder = tempDir();
	await npm("pack", "--pack-destination", folder);
	const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) as string;
	const modules = join(folder, "node_modules");
	const installed = join(modules, "pi-strata");
	mkdirSync(installed, { recursive: true });
	await run("tar", ["-xzf", join(folder, tarball), "-C", installed, "--strip-components=1"]);
	link(installed, Object.keys(manifestOf(installed).dependencies));
	writeFileSync(join(folder, "package.json"), "{}");
	return installed;
}

function npm(...words: string[]): Promise<{ stdout: string }> {
	const args = [...words, "--loglevel=error"];
	const program = process.env.npm_execpath; // set by npm run and npx; a bare start finds npm on the path
	if (program) return run(process.execPath, [program, ...args], { cwd: root });
	return run("npm", args, { cwd: root, shell: process.platform === "win32" });
}

type Manifest = Record<"dependencies" | "peerDependencies", Record<string, string>>;

function manifestOf(installed: string): Manifest {
	return JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
}

/** Puts packages of this clone beside an installed one. */
function link(installed: string, names: readonly string[]): void {
	for (const name of names) {
		const place = join(dirname(installed), name);
		mkdirSync(dirname(place), { recursive: true });
		symlinkSync(join(root, "node_modules", name), place, "junction");
	}
}
