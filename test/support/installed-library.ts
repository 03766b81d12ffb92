import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { importName, readDoors } from "../../scripts/library-doors.ts";
import { MISS_CAUSES } from "../../src/text/miss-causes.ts";
import { SessionWriter } from "../economy/replay/session-writer.ts";
import {
	type Installation,
	makeProject,
	manifestOf,
	root,
	withServer,
} from "./installed-package.ts";
import { tempDir } from "./temp.ts";

const run = promisify(execFile);

/** The examples in the doc comments of `src/library/`, each as the file of a user's project. */
const examples = readDoors().flatMap((door) =>
	door.examples.map(({ code }, index) => ({
		door: door.name,
		file: `${door.name}-${index + 1}.mts`,
		code: `${code}\n`,
	})),
);

/** Their types come from pi, which is an optional peer. */
const NEEDS_PI = new Set(["extension"]);

const STRICT = {
	strict: true,
	exactOptionalPropertyTypes: true,
	noUncheckedIndexedAccess: true,
	noEmit: true,
	// Our own declarations are checked, too.
	skipLibCheck: false,
};

const NODE_TYPES = {
	target: "es2024",
	lib: ["es2024"],
	types: ["node"],
	typeRoots: [join(root, "node_modules", "@types")],
};

/** The compilers of today's and of yesterday's projects; the latter takes four times as long. */
type Compiler = "typescript" | "typescript-5";

/** Every example compiles in a strict project, and so do all declarations that it reaches. */
export async function expectExamplesCompile(
	at: Installation,
	moduleResolution: "nodenext" | "bundler",
	compiler: Compiler = "typescript",
): Promise<void> {
	const folder = writeExamples(at);
	const module = moduleResolution === "bundler" ? "esnext" : "nodenext";
	const files = examples.filter(({ door }) => !NEEDS_PI.has(door)).map(({ file }) => file);
	expect(files.length).toBeGreaterThan(5);
	const options = { ...STRICT, ...NODE_TYPES, module, moduleResolution };
	await expectCompiles(folder, options, files, compiler);
}

/** The doors for browsers compile without the types of Node, and load only what a browser has. */
export async function expectBrowserDoors(at: Installation): Promise<void> {
	const folder = projectOf(at);
	const file = "browser.mts";
	const names = ["client", "protocol"].map((name) => importName({ name }));
	writeFileSync(
		join(folder, file),
		names.map((name, at) => `export * as door${at} from "${name}";\n`).join(""),
	);
	const lib = ["es2024", "dom", "dom.asynciterable"];
	const options = { ...STRICT, target: "es2024", lib, types: [], typeRoots: [], module: "esnext" };
	await expectCompiles(folder, { ...options, moduleResolution: "bundler" }, [file]);
	expect(packagesOf(at, "client")).toEqual([]);
	expect(packagesOf(at, "protocol")).toEqual(["typebox"]);
}

/** Nothing but the doors and the manifest can be imported. */
export async function expectNoDeepImports(at: Installation): Promise<void> {
	const deep = ["dist/protocol/client.js", "dist/library/client.js", "pi-extension.ts", "library"];
	const file = join(projectOf(at), "deep.mts");
	writeFileSync(
		file,
		`for (const path of ${JSON.stringify([...deep, "client", "package.json"])}) {
			try {
				import.meta.resolve("pi-strata/" + path);
				console.log(path, "resolves");
			} catch ({ code }) {
				console.log(path, code);
			}
		}`,
	);
	const refused = deep.map((path) => `${path} ERR_PACKAGE_PATH_NOT_EXPORTED\n`).join("");
	const { stdout } = await run(at.node, [file]);
	expect(stdout).toBe(`${refused}client resolves\npackage.json resolves\n`);
}

/** Every example runs and prints what its description promises. Needs a pi beside the package. */
export async function expectExamplesRun(at: Installation): Promise<void> {
	const folder = writeExamples(at);
	const cwd = makeProject();
	const env = { ...process.env, PI_CODING_AGENT_DIR: tempDir(), PI_OFFLINE: "1" };
	const done = new Set<string>();
	const example = async (name: string, ...words: string[]) => {
		const { stdout } = await run(at.node, [join(folder, `${name}.mts`), ...words], { cwd, env });
		done.add(`${name}.mts`);
		return stdout;
	};

	expect(await example("extension-1")).toMatch(/^on {3}read cache/m);
	expect(await example("protocol-1")).toBe(
		'protocol 1.0.0\ns1: Hello\nThere is no command "promt". Did you mean prompt?\n',
	);
	expect(await example("paging-1", "a.pdf")).toBe("[page 1]\nThe only page.\n\n");
	const long = "A line of a long text.\n".repeat(300);
	writeFileSync(join(cwd, "README.md"), long);
	expect(await example("paging-1")).toBe(long);
	expect(await example("codeindex-1")).toMatch(
		/^2 files\nsrc\/total\.ts:1 defines total\n {2}src\/main\.ts:1 import\n {2}src\/main\.ts:3 call\n {2}medium risk: /,
	);
	expect(await example("economy-1")).toBe(
		"0 read, 3500 written: $0.0131\n3500 read, 200 written: $0.0018\n",
	);
	const replayed = await example("economy-2", sessionWithPause(cwd));
	expect(replayed).toMatch(/^append-only: \d+ tokens, 1\.00 of append-only$/m);
	expect(replayed).toMatch(/^strata: \d+ tokens/m);
	expect(replayed).toMatch(/^request 2 missed \d+ tokens: /m);
	expect(replayed).toContain(MISS_CAUSES.expired);
	const tiers = await example("tiers-1");
	expect(tiers).toContain("src/add.ts: L3\nsrc/zero.ts: L3\n");
	expect(JSON.parse(tiers.slice(tiers.indexOf("{")))).toMatchObject({
		messages: [{}, { content: [{ cache_control: { type: "ephemeral" } }] }, {}],
	});
	await withServer(at, [], async (url) => {
		expect(await example("client-1", url)).toMatch(/\w+/);
	});
	expect([...done].sort()).toEqual(examples.map(({ file }) => file).sort());
	await expectCompiles(
		folder,
		// The declarations of pi are not ours to check.
		{ ...STRICT, ...NODE_TYPES, skipLibCheck: true, module: "nodenext" },
		["extension-1.mts"],
	);
}

/** The user's project, beside whose `node_modules` nothing of ours lies. */
function projectOf(at: Installation): string {
	return dirname(dirname(at.folder));
}

function writeExamples(at: Installation): string {
	const folder = join(projectOf(at), "examples");
	mkdirSync(folder, { recursive: true });
	for (const { file, code } of examples) writeFileSync(join(folder, file), code);
	return folder;
}

async function expectCompiles(
	folder: string,
	compilerOptions: object,
	files: readonly string[],
	compiler: Compiler = "typescript",
): Promise<void> {
	writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
	const tsc = join(root, "node_modules", compiler, "bin", "tsc");
	const { stdout } = await run(process.execPath, [tsc, "-p", folder]).catch((error) => error);
	expect(stdout, `the report of ${compiler}`).toBe("");
}

/** The packages and modules of Node that a door loads, itself or through its own files. */
function packagesOf({ folder }: Installation, door: string): string[] {
	const entry = manifestOf(folder).exports[`./${door}`]?.default ?? "";
	const files = new Set([join(folder, entry)]);
	const packages = new Set<string>();
	for (const file of files) {
		const code = readFileSync(file, "utf8").replaceAll(/\/\*.*?\*\//gs, "");
		for (const [, target = ""] of code.matchAll(/(?:\bfrom |^import |\bimport\()"([^"\n]+)"/gm)) {
			if (target.startsWith(".")) files.add(join(dirname(file), target));
			else packages.add(target);
		}
	}
	expect(files.size).toBeGreaterThan(3);
	return [...packages].sort();
}

/** The second request comes ten minutes after the first, and finds nothing cached. */
function sessionWithPause(folder: string): string {
	const session = new SessionWriter();
	session.user("hello");
	session.assistant("hello", { input: 10, output: 5, cacheWrite: 20_000 });
	session.atMs += 10 * 60_000;
	session.user("still there?");
	session.assistant("yes", { input: 10, output: 5, cacheWrite: 20_100 });
	return session.save("paused.jsonl", folder);
}
