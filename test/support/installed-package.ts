import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "vitest";
import { SessionWriter } from "../economy/replay/session-writer.ts";
import { makePdf } from "./make-pdf.ts";
import { npm } from "./npm.ts";
import { type PiProcessOptions, startPiProcess } from "./pi-process.ts";
import { tempDir } from "./temp.ts";
import { expectTourFollowed } from "./tour.ts";

/** The folder of the project. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** A package that was packed and put under a `node_modules`, and the Node to run it on. */
export interface Installation {
	/** The folder of the package. */
	folder: string;
	/** The path of the Node binary. */
	node: string;
}

/** Packs the project into a folder, and returns the tarball's path. */
export async function pack(folder: string): Promise<string> {
	await npm(["pack", "--pack-destination", folder, "--loglevel=error"], { cwd: root });
	return join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")) as string);
}

/** The package.json of an installed package. */
export function manifestOf(folder: string) {
	return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
		bin: Record<string, string>;
		exports: Record<string, { default: string }>;
		version: string;
	} & Record<"dependencies" | "peerDependencies", Record<string, string>>;
}

/** Runs the command of an installed package to its end. */
export async function strata(
	{ folder, node }: Installation,
	words: readonly string[],
	cwd = tempDir(),
): Promise<{ status: number; stdout: string; stderr: string }> {
	const bin = join(folder, manifestOf(folder).bin["pi-strata"] as string);
	const env = { ...process.env, PI_CODING_AGENT_DIR: tempDir() };
	return promisify(execFile)(node, [bin, ...words], { cwd, env }).then(
		(done) => ({ status: 0, ...done }),
		({ code, stdout, stderr }) => ({ status: code, stdout, stderr }),
	);
}

/** The tour is followed with the package, word by word. */
export async function expectDemoWorks({ folder, node }: Installation): Promise<void> {
	await expectTourFollowed(node, join(folder, manifestOf(folder).bin["pi-strata"] as string));
}

/** Every command that needs no pi works: doctor, code, pages, old sessions, schemas. */
export async function expectCommandsWork(at: Installation): Promise<void> {
	const project = makeProject();
	const answer = async (...words: string[]) => {
		const done = await strata(at, words, project);
		expect(done, `strata ${words.join(" ")}`).toMatchObject({ status: 0 });
		return done.stdout;
	};
	expect(JSON.parse(await answer("doctor", "--json"))).toMatchObject({
		ok: true,
		findings: expect.arrayContaining([
			expect.objectContaining({ name: "packages", ok: true }),
			{ name: "worker threads", ok: true, required: true, note: "available" },
		]),
	});
	expect(await answer("index")).toContain("2 files");
	expect(await answer("usages", "total")).toContain("total: 1 definition, 2 usages in 1 file");
	expect(await answer("read", "a.pdf")).toBe("[page 1]\nThe only page.\n\n");
	expect(await answer("replay", "session.jsonl")).toContain("append-only");
	expect(JSON.parse(await answer("schema", "protocol"))).toHaveProperty("$schema");
	mkdirSync(join(homedir(), ".cursor"), { recursive: true });
	expect(await answer("setup", "cursor", "--dry-run")).toContain('+    "strata": {');
}

/** The server cannot run here: it says so in one sentence, and doctor says the same. */
export async function expectServeSays(at: Installation, sentence: RegExp): Promise<void> {
	const { status, stdout, stderr } = await strata(at, ["serve", "--port", "0"]);
	expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
	expect(stderr).toMatch(
		/^strata serve: [^\n]+; run "npm install @earendil-works\/\S+@0\.87\.1"\n$/,
	);
	expect(stderr).toMatch(sentence);
	expect((await strata(at, ["doctor"])).stdout).toMatch(sentence);
}

/** The server runs with its page, and the shipped examples talk to it. */
export async function expectServerWorks(at: Installation): Promise<void> {
	const socket = join(tempDir(), "s");
	await withServer(at, ["--socket", socket], async (url) => {
		expect((await fetch(new URL("readyz", url))).status).toBe(200);
		expect(await (await fetch(url)).text()).toContain('<script type="module"');
		const example = async (name: string, ...words: string[]) => {
			const file = join(at.folder, "examples", `${name}.js`);
			return (await promisify(execFile)(at.node, [file, ...words])).stdout;
		};
		expect(await example("prompt-and-stream", url)).toMatch(/\w+/);
		expect(await example("two-clients", url)).toContain("taken: the session is at version 1\n");
		expect(await example("resume-after-disconnect", url)).toContain("events without a hole");
		expect(await example("unix-socket", socket)).toBe("0 sessions\n");
	});
}

/** A pi that is started with the package lists the commands of its extension. */
export async function expectExtensionLoads(
	{ folder }: Installation,
	options: PiProcessOptions = {},
): Promise<void> {
	const pi = await startPiProcess({ ...options, args: ["-e", folder] });
	const { data } = await pi.request({ type: "get_commands" });
	expect(data).toMatchObject({ commands: expect.arrayContaining(ourCommands) });
}

/** Our commands in pi's list. */
export const ourCommands = ["strata", "readcache-status", "readcache-refresh"].map((name) =>
	expect.objectContaining({ name, source: "extension" }),
);

/** Starts the server of an installed package, and stops it afterwards. */
export async function withServer(
	{ folder, node }: Installation,
	more: readonly string[],
	use: (url: string) => Promise<void>,
): Promise<void> {
	const bin = join(folder, manifestOf(folder).bin.strata as string);
	const words = ["serve", "--port", "0", "--json", "--auth", "none", "--demo", "always"];
	const server = spawn(node, [bin, ...words, ...more], {
		cwd: tempDir(),
		env: { ...process.env, PI_CODING_AGENT_DIR: tempDir(), PI_OFFLINE: "1" },
		stdio: ["ignore", "pipe", "inherit"],
	});
	const ended = once(server, "exit");
	try {
		const first = await Promise.race([once(server.stdout, "data"), ended]);
		expect(server.exitCode).toBeNull();
		await use((JSON.parse(String(first[0])) as { url: string }).url);
	} finally {
		server.kill("SIGTERM");
		expect(await ended).toEqual([0, null]);
	}
}

/** A project with two source files, a PDF and a session file. */
export function makeProject(): string {
	const folder = tempDir();
	mkdirSync(join(folder, "src"));
	writeFileSync(join(folder, "package.json"), "{}");
	writeFileSync(join(folder, "src", "total.ts"), "export const total = (n: number) => n;\n");
	writeFileSync(
		join(folder, "src", "main.ts"),
		'import { total } from "./total.ts";\n\ntotal(1);\n',
	);
	writeFileSync(join(folder, "a.pdf"), makePdf({ pages: [{ lines: ["The only page."] }] }));
	const session = new SessionWriter();
	session.user("hello");
	session.assistant("hello", { input: 10, output: 5, cacheWrite: 2000 });
	session.save("session.jsonl", folder);
	return folder;
}
