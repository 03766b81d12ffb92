import { cpSync, existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { fetchPiNext, piNext } from "../support/fetch-pi-next.ts";
import { expectExamplesCompile, expectExamplesRun } from "../support/installed-library.ts";
import {
	expectCommandsWork,
	expectDemoWorks,
	expectExtensionLoads,
	expectServerWorks,
	expectServeSays,
	type Installation,
	manifestOf,
	pack,
	strata,
} from "../support/installed-package.ts";
import { lockedPackages, npm, registryTrouble } from "../support/npm.ts";
import { tempDir } from "../support/temp.ts";

const PI = "@earendil-works/pi-coding-agent";
const OLDEST_NODE = "22.19.0";
const TOO_OLD_NODE = "20.20.2";
const PAUSES_SECONDS = [10, 30]; // before each retry: registries refuse in bursts

const scratch = tempDir(); // outlives each test
const packed = once(() => pack(scratch));

// Each test goes on with the project of the one before.
describe.each([OLDEST_NODE, process.versions.node])(
	"npm install in an empty project, on Node.js %s",
	{ timeout: 15 * 60_000 },
	(version) => {
		const installed = once(async (): Promise<Installation & { modules: string }> => {
			const node = await nodeOf(version);
			const cwd = emptyProject();
			await install(await packed(), { cwd, node, known: lockedPackages("production") });
			const modules = join(cwd, "node_modules");
			return { node, modules, folder: join(modules, "pi-strata") };
		});

		testIfServed("brings the commands under two names and no pi, and they need none", async () => {
			const at = await installed();
			expect(existsSync(join(at.modules, dirname(PI)))).toBe(false);
			for (const name of ["pi-strata", "strata"]) {
				const { stdout } = await npm(["exec", name, "--", "--version"], inProject(at));
				expect(stdout.trim()).toBe(manifestOf(at.folder).version);
			}
			await expectCommandsWork(at);
			await expectServeSays(at, /pi was not found next to pi-strata \(supported: /);
		});

		testIfServed("ends with one sentence when its command is run by an old Node.js", async () => {
			const at = await installed();
			const node = await nodeOf(TOO_OLD_NODE);
			expect(await strata({ ...at, node }, ["doctor"])).toEqual({
				status: 1,
				stdout: "",
				stderr: `strata: Node.js 22.19 or newer is needed, this is ${TOO_OLD_NODE}\n`,
			});
		});

		testIfServed(`pi ${piNext.version} unpacked beside it runs the extension`, async () => {
			const at = await installed();
			if (!(await fetchPiNext())) throw new Refusal(`no pi ${piNext.version}`);
			const pi = join(at.modules, PI);
			cpSync(piNext.folder, pi, { recursive: true });
			const jiti = join(piNext.folder, "..", "..", "jiti");
			cpSync(jiti, join(at.modules, "jiti"), { recursive: true, dereference: true });
			await expectCommandsWork(at);
			await expectExtensionLoads(at, { program: [at.node, piCli(pi)] });
			await expectServeSays(at, /pi 1\.5\.0 in .* is incomplete \(missing: @earendil-works\/pi-/);
		});

		testIfServed("pi 0.87.1 installed beside it runs everything", async () => {
			const at = await installed();
			await install(`${PI}@0.87.1`, { ...inProject(at), known: lockedPackages("all") });
			await npm(["ls"], inProject(at)); // fails when a peer is not of a version that is asked for
			await expectCommandsWork(at);
			await expectServerWorks(at);
			await expectDemoWorks(at);
			await expectExamplesCompile(at, "nodenext", "typescript-5");
			await expectExamplesRun(at);
			await expectExtensionLoads(at, { program: [at.node, piCli(join(at.modules, PI))] });
		});
	},
);

/** The registry did not deliver, by no fault of ours. */
class Refusal extends Error {}

/** A test that says so and is skipped where the registry does not deliver. */
function testIfServed(name: string, body: () => Promise<void>): void {
	test(name, async ({ skip }) => {
		const refusal = await body().catch((error: unknown) => {
			if (error instanceof Refusal) return error;
			throw error;
		});
		if (!refusal) return;
		console.warn(`NOT tested, because the registry refused (${refusal.message}): ${name}`);
		skip(`the registry refused: ${refusal.message}`);
	});
}

/** Installs something as a user does: `npm install <what>`, and no more. */
async function install(
	what: string,
	{ known, ...place }: { cwd: string; node?: string; known: ReadonlySet<string> },
): Promise<void> {
	let trouble = "";
	for (const pause of [0, ...PAUSES_SECONDS]) {
		await sleep(pause * 1000);
		try {
			await npm(["install", what], place);
			return;
		} catch (error) {
			const found = registryTrouble(String((error as { stderr?: string }).stderr), known);
			if (found === undefined) throw error;
			trouble = found;
		}
	}
	throw new Refusal(trouble);
}

const nodes = new Map([[process.versions.node, Promise.resolve(process.execPath)]]);

/** The file of a Node of this version, installed where it is not our own. */
function nodeOf(version: string): Promise<string> {
	const found = nodes.get(version) ?? installNode(version);
	nodes.set(version, found);
	return found;
}

async function installNode(version: string): Promise<string> {
	const cwd = emptyProject();
	await install(`node@${version}`, { cwd, known: lockedPackages("all") });
	const file = process.platform === "win32" ? "node.exe" : "node";
	return join(cwd, "node_modules", "node", "bin", file);
}

function emptyProject(): string {
	const folder = mkdtempSync(join(scratch, "project-"));
	writeFileSync(join(folder, "package.json"), "{}");
	return folder;
}

function inProject({ modules, node }: { modules: string; node: string }) {
	return { cwd: dirname(modules), node };
}

function piCli(folder: string): string {
	return join(folder, manifestOf(folder).bin.pi as string);
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
	let made: Promise<T> | undefined;
	return () => {
		made ??= make();
		return made;
	};
}
