import { execFile } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { commands, main } from "../../src/cli/main.ts";
import { configJsonSchema } from "../../src/core/config.ts";
import { atEnd, tempDir } from "../support/temp.ts";

describe("strata", () => {
	test("without a command it lists every command and succeeds", async () => {
		const { status, out } = await run();
		expect(status).toBe(0);
		for (const { name, summary } of commands) {
			expect(out).toContain(name);
			expect(out).toContain(summary);
		}
	});

	test("--version prints the version of the package", async () => {
		const manifest = JSON.parse(
			readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
		);
		expect(await run("--version")).toMatchObject({ status: 0, out: manifest.version });
	});

	test("an unknown command exits 2 and names the nearest one", async () => {
		expect(await run("docter")).toMatchObject({
			status: 2,
			out: "",
			err: 'strata: unknown command "docter"; did you mean "doctor"?',
		});
		expect((await run("zzz")).err).toBe('strata: unknown command "zzz"; see "strata --help"');
	});

	test("an unknown option exits 2 with the usage of the command", async () => {
		const { status, err } = await run("doctor", "--jsn");
		expect(status).toBe(2);
		expect(err).toContain("Unknown option '--jsn'; did you mean \"--json\"?\n");
		expect(err).toContain("usage: strata doctor [--database <url>] [--json]");
		expect((await run("doctor", "--frobnicate")).err).toContain("Unknown option '--frobnicate'\n");
		expect((await run("search", "x", "--outpt=paths")).err).toContain('did you mean "--output"?');
	});

	test.each([
		["serve", "--data-dir", ""],
		["clean", "--delete", "blobs", "--delete="],
	])(
		"an empty value of an option exits 2, as of a variable that is not set: %s %s",
		async (...words) => {
			const { status, err } = await run(...words);
			expect(status).toBe(2);
			expect(err).toContain(`${words[1]} is empty: give it a value`);
		},
	);

	test("a surplus argument exits 2", async () => {
		expect(await run("doctor", "now")).toMatchObject({ status: 2 });
	});

	test.each(commands.map(({ name }) => name))(
		"help %s and %s --help print its usage",
		async (name) => {
			const byHelp = await run("help", name);
			expect(byHelp.status).toBe(0);
			expect(byHelp.out).toContain(`usage: strata ${name}`);
			expect(await run(name, "--help")).toEqual(byHelp);
		},
	);

	test("schema prints the JSON Schema of the configuration", async () => {
		expect(JSON.parse((await run("schema")).out)).toEqual(configJsonSchema());
	});
});

describe("strata doctor", () => {
	test("finds this machine fit", async () => {
		const { status, out } = await run("doctor", "--json");
		expect(status).toBe(0);
		const { ok, findings } = JSON.parse(out);
		expect(ok).toBe(true);
		expect(findings).toEqual(
			expect.arrayContaining(
				["Node.js", "packages", "pi", "SQLite", "worker threads", "server"].map((name) =>
					expect.objectContaining({ name, ok: true }),
				),
			),
		);
		const names = findings.map(({ name }: { name: string }) => name);
		expect(names).toEqual(expect.arrayContaining(["pi's extension", "models"]));
	});

	test("prints each setting with its origin, and what is wrong in the files", async () => {
		const { cwd, agentDir } = folders();
		writeFileSync(join(agentDir, "strata.json"), '{ "prune": { "keepRecentTurns": 4 } }');
		mkdirSync(join(cwd, ".pi"));
		writeFileSync(join(cwd, ".pi", "strata.json"), '{ "prune": { "keepRecentTurns": "two" } }');
		const { status, out } = await runIn({ cwd, agentDir }, "doctor");
		expect(status).toBe(0);
		expect(out).toMatch(/prune\.keepRecentTurns +4 +\(strata\.json\)/);
		expect(out).toMatch(/prune\.maxToolChars +1200 +\(default\)/);
		expect(out).toContain(
			`${join(cwd, ".pi", "strata.json")}: prune.keepRecentTurns must be a whole number ≥ 0, got "two"`,
		);
	});

	test("tells a file that is read from one that is ignored", async () => {
		const { cwd, agentDir } = folders();
		const [used, broken] = [join(agentDir, "pi-kota.json"), join(agentDir, "strata.json")];
		writeFileSync(used, "{}");
		writeFileSync(broken, '{ "prune": ');
		const { out } = await runIn({ cwd, agentDir }, "doctor");
		expect(out).toContain(`  read     ${used}`);
		expect(out).toContain(`  ignored  ${broken}`);
		expect(out).toContain(`  absent   ${join(cwd, ".pi", "strata.json")}`);
		expect(out).toContain(`warning: ${broken}: is not valid JSON`);
		const { files } = JSON.parse((await runIn({ cwd, agentDir }, "doctor", "--json")).out);
		expect(files[1]).toMatchObject({ path: broken, found: true, used: false });
	});
});

describe("strata clean", () => {
	const version = '{"store":"readcache","version":1}';

	test("lists a store with its size and deletes nothing", async () => {
		const { cwd, agentDir, store } = withStore(version);
		const { status, out } = await runIn({ cwd, agentDir }, "clean");
		expect(status).toBe(0);
		expect(out).toMatch(/^readcache +2 files, 1\.0 KB/);
		expect(out).toContain(store);
		expect(existsSync(store)).toBe(true);
	});

	test("deletes a named store with --yes", async () => {
		const { cwd, agentDir, store } = withStore(version);
		expect(await runIn({ cwd, agentDir }, "clean", "--delete", "readcache", "--yes")).toMatchObject(
			{
				status: 0,
				out: expect.stringContaining("deleted"),
			},
		);
		expect(existsSync(store)).toBe(false);
	});

	test("asks before it deletes, and takes no for an answer", async () => {
		const { cwd, agentDir, store } = withStore(version);
		const questions: string[] = [];
		const confirm = async (question: string) => questions.push(question) < 0;
		expect(await runIn({ cwd, agentDir, confirm }, "clean", "--all")).toMatchObject({ status: 0 });
		expect(questions).toEqual([expect.stringContaining(store)]);
		expect(existsSync(store)).toBe(true);
	});

	test("does not delete unasked where there is no terminal", async () => {
		const { cwd, agentDir, store } = withStore(version);
		expect(await runIn({ cwd, agentDir }, "clean", "--all")).toMatchObject({
			status: 2,
			err: expect.stringContaining("--yes"),
		});
		expect(existsSync(store)).toBe(true);
	});

	test.each(['{"store":"other","version":1}', "not json"])(
		"never deletes a folder whose version file is not ours: %s",
		async (foreign) => {
			const { cwd, agentDir, store } = withStore(foreign);
			const { status, err } = await runIn({ cwd, agentDir }, "clean", "--all", "--yes");
			expect(status).toBe(1);
			expect(err).toContain("not made by pi-strata");
			expect(existsSync(store)).toBe(true);
		},
	);

	test("says where the server's data is, which it leaves alone", async () => {
		const { cwd, agentDir } = withStore(version);
		expect((await runIn({ cwd, agentDir }, "clean")).out).not.toContain("server");
		const data = join(agentDir, "strata", "server");
		mkdirSync(data, { recursive: true });
		writeFileSync(join(data, "tokens"), "me:secret\n");
		const listed = await runIn({ cwd, agentDir }, "clean");
		expect(listed.out).toMatch(/^not listed: .*tokens.*journal/m);
		expect(listed.out).toContain(data);
		await runIn({ cwd, agentDir }, "clean", "--all", "--yes");
		expect(existsSync(join(data, "tokens"))).toBe(true);
		expect(JSON.parse((await runIn({ cwd, agentDir }, "clean", "--json")).out)).toMatchObject({
			notListed: [{ folder: data }],
		});
	});

	test("lists Node's compile cache, and deletes it unless something else is in it", async () => {
		const cache = tempDir();
		vi.stubEnv("XDG_CACHE_HOME", cache);
		vi.stubEnv("NODE_COMPILE_CACHE", undefined);
		atEnd(() => vi.unstubAllEnvs());
		const bin = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));
		await promisify(execFile)(process.execPath, [bin, "--version"]);
		const compiled = join(cache, "pi-strata", "compiled");
		expect((await run("clean")).out).toMatch(/^compiled +\d+ files, [\d.]+ [KM]B {2}.*compiled$/m);

		const [version = ""] = readdirSync(compiled);
		const home = tempDir();
		for (const other of ["notes.txt", "v1.2.3-notes", join(version, "notes.txt")]) {
			for (const put of [
				(path: string) => writeFileSync(path, "mine"),
				(path: string) => mkdirSync(path),
				(path: string) => symlinkSync(home, path),
			]) {
				put(join(compiled, other));
				expect(await run("clean", "--delete", "compiled", "--yes")).toMatchObject({
					status: 1,
					err: expect.stringContaining("not made by pi-strata"),
				});
				rmSync(join(compiled, other), { recursive: true });
			}
		}
		await run("clean", "--delete", "compiled", "--yes");
		expect(existsSync(compiled)).toBe(false);
	});

	test("one file is one file", async () => {
		const { cwd, agentDir, store } = withStore(version);
		rmSync(join(store, "objects"), { recursive: true });
		expect((await runIn({ cwd, agentDir }, "clean")).out).toMatch(/^readcache +1 file, 33 B/);
	});

	test("an unknown store exits 2 and names the nearest one", async () => {
		expect(await run("clean", "--delete", "readcash")).toMatchObject({
			status: 2,
			err: expect.stringContaining('did you mean "readcache"?'),
		});
	});

	function withStore(versionFile: string) {
		const { cwd, agentDir } = folders();
		const store = join(cwd, ".pi", "readcache");
		mkdirSync(join(store, "objects"), { recursive: true });
		writeFileSync(join(store, "version.json"), versionFile);
		writeFileSync(join(store, "objects", "object"), "x".repeat(1000));
		return { cwd, agentDir, store };
	}
});

function folders() {
	return { cwd: tempDir(), agentDir: tempDir() };
}

function run(...argv: string[]) {
	return runIn(folders(), ...argv);
}

async function runIn(
	terminal: { cwd: string; agentDir: string; confirm?: (question: string) => Promise<boolean> },
	...argv: string[]
) {
	const out: string[] = [];
	const err: string[] = [];
	const status = await main(argv, {
		cwd: terminal.cwd,
		env: { PI_CODING_AGENT_DIR: terminal.agentDir },
		print: (line) => out.push(line),
		write: (text) => out.push(text),
		printError: (line) => err.push(line),
		...(terminal.confirm && { confirm: terminal.confirm }),
	});
	return { status, out: out.join("\n"), err: err.join("\n") };
}
