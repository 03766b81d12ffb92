import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { documents } from "../docs/documents.ts";
import {
	expectBrowserDoors,
	expectExamplesCompile,
	expectExamplesRun,
	expectNoDeepImports,
} from "../support/installed-library.ts";
import {
	expectCommandsWork,
	expectExtensionLoads,
	expectServerWorks,
	expectServeSays,
	type Installation,
	manifestOf,
	ourCommands,
	pack,
	root,
	strata,
} from "../support/installed-package.ts";
import { npm } from "../support/npm.ts";
import { runPi, startPiProcess } from "../support/pi-process.ts";
import { tempDir } from "../support/temp.ts";

const run = promisify(execFile);

describe("a clone", () => {
	test("pi install <path> makes pi list the extension's commands", { tags: "slow" }, async () => {
		const dirs = { cwd: tempDir(), agentDir: tempDir() };
		expect(await runPi(["install", root], dirs)).toMatchObject({ status: 0 });
		const pi = await startPiProcess(dirs);
		const { data } = await pi.request({ type: "get_commands" });
		expect(data).toMatchObject({ commands: expect.arrayContaining(ourCommands) });
	});

	test("/strata answers on standard output in print mode", { tags: "slow" }, async () => {
		const args = ["-e", join(root, "pi-extension.ts"), "-p", "/strata"];
		const { status, stdout } = await runPi(args);
		expect(status).toBe(0);
		expect(stdout).toMatch(/^on {3}read cache/m);
	});
});

test("every link of a document in the tarball leads to something in it", {
	tags: "slow",
}, async () => {
	const { stdout } = await npm(["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root });
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

// Each test goes on with the project of the one before.
describe("the packed tarball, under node_modules", { tags: "slow" }, () => {
	let at: Installation;

	beforeAll(async () => {
		at = await packAndUnpack();
	});

	test("runs its commands and its worker threads as compiled JavaScript, without a pi", async () => {
		expect(readdirSync(at.folder)).not.toContain("src");
		await expectCommandsWork(at);
		await expectServeSays(at, /pi was not found next to pi-strata \(supported: /);
	});

	test("doctor names a package that is missing", async () => {
		rmSync(join(dirname(at.folder), "ipaddr.js"));
		const { status, stdout } = await strata(at, ["doctor"]);
		link(at.folder, ["ipaddr.js"]);
		expect(status).toBe(1);
		expect(stdout).toMatch(/FAIL {2}packages +missing: ipaddr\.js;/);
	});

	test("runs its extension in pi", async () => {
		await expectExtensionLoads(at);
	});

	test.each(["nodenext", "bundler"] as const)(
		"has types for every example of its library, by %s resolution",
		(resolution) => expectExamplesCompile(at, resolution),
	);

	test("has doors for browsers, which load no module of Node", () => expectBrowserDoors(at));

	test("refuses every import past its doors", () => expectNoDeepImports(at));

	// A server is no guest of pi: it is installed beside it.
	test("runs its server and its examples beside a pi that is not too old", async () => {
		const pi = join(dirname(at.folder), "@earendil-works", "pi-coding-agent");
		mkdirSync(pi, { recursive: true });
		writeFileSync(join(pi, "package.json"), '{ "version": "0.74.2" }');
		await expectServeSays(at, /pi 0\.74\.2 was found, but it is not supported \(supported: /);
		rmSync(pi, { recursive: true });
		link(at.folder, Object.keys(manifestOf(at.folder).peerDependencies));
		await expectServerWorks(at);
	});

	test("runs every example of its library, those for pi and the server beside pi", async () => {
		await expectExamplesRun(at);
	});
});

/** Packs the project and unpacks it as `pi install` would: with what it depends on, without pi's own packages, which pi hands in. */
async function packAndUnpack(): Promise<Installation> {
	const project = tempDir();
	const tarball = await pack(project);
	const folder = join(project, "node_modules", "pi-strata");
	mkdirSync(folder, { recursive: true });
	await run("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1"]);
	link(folder, Object.keys(manifestOf(folder).dependencies));
	writeFileSync(join(project, "package.json"), "{}");
	return { folder, node: process.execPath };
}

/** Puts packages of this clone beside an installed one. */
function link(installed: string, names: readonly string[]): void {
	for (const name of names) {
		const place = join(dirname(installed), name);
		mkdirSync(dirname(place), { recursive: true });
		symlinkSync(join(root, "node_modules", name), place, "junction");
	}
}
