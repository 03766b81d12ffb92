import {
	chmodSync,
	lstatSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { applyFile, applyUndo, planUndo } from "../../src/setup/apply.ts";
import { Manifest, setupFolder } from "../../src/setup/manifest.ts";
import { findAgents, planAgent } from "../../src/setup/plan-agent.ts";
import { probeServer } from "../../src/setup/probe.ts";
import { runProgram, versionOf } from "../../src/setup/program.ts";
import { tempDir } from "../support/temp.ts";

const WISH = {
	...{ words: ["/n/node", "/p/bin/strata.js"], platform: "linux" as const },
	...{ hookMatcher: "Read", readPermission: "Read(~/x/**)" },
	...{ pluginUrl: "file:///p/plugins/opencode.js", packageFolder: "/p" },
};

async function cursor(text: string) {
	const home = tempDir("home");
	mkdirSync(join(home, ".cursor"));
	const path = join(home, ".cursor", "mcp.json");
	writeFileSync(path, text);
	const machine = { env: { HOME: home }, platform: "linux" as const, piFolder: join(home, "pi") };
	const folder = setupFolder(machine.piFolder);
	const agents = await findAgents(machine);
	const found = agents.find(({ agent }) => agent.name === "cursor") as (typeof agents)[number];
	const plan = async () => {
		const manifest = await Manifest.load(folder);
		const { files } = await planAgent(found, WISH, manifest);
		return { manifest, file: files[0] as (typeof files)[number] };
	};
	return { path, folder, found, plan, read: () => readFileSync(path, "utf8") };
}

describe("a file that is written between plan and change", () => {
	test("is left alone by setup, and nothing is recorded", async () => {
		const { path, folder, found, plan, read } = await cursor("{}");
		const { manifest, file } = await plan();
		writeFileSync(path, '{"new": 1}');
		const outcome = await applyFile(file, found, manifest, {});
		expect(outcome).toMatchObject({
			kind: "left",
			note: expect.stringContaining("run strata setup again"),
		});
		expect(read()).toBe('{"new": 1}');
		expect((await Manifest.load(folder)).files).toEqual([]);
	});

	test("is left alone by undo, and stays recorded", async () => {
		const { path, folder, found, plan, read } = await cursor("{}");
		const { manifest, file } = await plan();
		await applyFile(file, found, manifest, {});
		const undo = await planUndo(manifest.files[0] as (typeof manifest.files)[number]);
		writeFileSync(path, '{"new": 1}');
		expect(await applyUndo(undo, manifest)).toContain("run strata setup --undo again");
		expect(read()).toBe('{"new": 1}');
		expect((await Manifest.load(folder)).files).toHaveLength(1);
	});
});

test("the manifest stores the part that changed, and nothing else of the file", async () => {
	const secret =
		'{\n  "mcpServers": { "x": { "env": { "API_KEY": "sk-secret" } } },\n  "last": 1\n}\n';
	const { folder, found, plan, read } = await cursor(secret);
	const { manifest, file } = await plan();
	await applyFile(file, found, manifest, {});
	expect(read()).toContain("sk-secret");
	const [name = ""] = readdirSync(folder).filter((one) => one.length > 64);
	expect(readFileSync(join(folder, name), "utf8")).not.toContain("sk-secret");
});

test("a setup that was interrupted before it wrote leaves nothing to undo", async () => {
	const { folder, found, plan, path, read } = await cursor("{}");
	const { manifest, file } = await plan();
	await applyFile(file, found, manifest, {});
	writeFileSync(path, "{}"); // as if the change had not reached the disk
	const again = await Manifest.load(folder);
	const undo = await planUndo(again.files[0] as (typeof again.files)[number]);
	expect(undo.undo).toEqual({ kind: "nothing" });
	await applyUndo(undo, again);
	expect(read()).toBe("{}");
	expect((await Manifest.load(folder)).files).toEqual([]);
});

describe("a server is tried as an agent would start it:", () => {
	const script = (code: string) => [process.execPath, "-e", code];
	const answer = (name: string) => {
		const result = { serverInfo: { name, version: "1.2.3" } };
		return `process.stdin.once("data", () => console.log('${JSON.stringify({ result })}'))`;
	};
	test.each([
		["works", script(answer("strata")), { ok: true, version: "1.2.3" }],
		["is another one", script(answer("other")), { ok: false, why: "answers, but not as strata" }],
		[
			"prints noise",
			script('console.log("hello")'),
			{ ok: false, why: "answers, but not as strata" },
		],
		["ends", script("process.exit(4)"), { ok: false, why: "ends at once (status 4)" }],
		["is missing", ["/no/such/program"], { ok: false, why: "cannot be started (ENOENT)" }],
	])("one that %s", async (_, words, expected) => {
		expect(await probeServer(words, { cwd: tempDir(), env: {} })).toMatchObject(expected);
	});

	test("one that is silent", { tags: "slow" }, async () => {
		const words = script("setInterval(() => {}, 1000)");
		const probed = await probeServer(words, { cwd: tempDir(), env: {}, timeoutMs: 500 });
		expect(probed).toEqual({ ok: false, why: "does not answer within 0.5 s" });
	});
});

test("a version comes from the npm package of a program, else from the program", async () => {
	const folder = tempDir("agent");
	mkdirSync(join(folder, "bundle"));
	const program = join(folder, "bundle", "gemini");
	writeFileSync(program, "#!/bin/sh\necho gemini version 7.6.5-beta.1\n");
	chmodSync(program, 0o755);
	const around = { cwd: folder, env: { PATH: "/bin" } };
	expect(await versionOf(program, "@google/gemini-cli", around)).toBe("7.6.5-beta.1");
	writeFileSync(join(folder, "package.json"), '{"name": "@google/gemini-cli", "version": "1.0.0"}');
	expect(await versionOf(program, "@google/gemini-cli", around)).toBe("1.0.0");
	expect(await versionOf(join(folder, "none"), undefined, around)).toBe(undefined);
});

test("a program that leaves a process behind at its output is not waited for, and its output is kept", {
	tags: "slow",
}, async () => {
	const folder = tempDir("program");
	const program = join(folder, "agent");
	writeFileSync(program, "#!/bin/sh\nsleep 5 &\necho 1.2.3\n");
	chmodSync(program, 0o755);
	const options = { cwd: folder, env: { PATH: "/bin:/usr/bin" }, timeoutMs: 15_000 };
	expect(await runProgram(program, [], options)).toEqual({ status: 0, output: "1.2.3\n" });
});

test("undo keeps a link that the user put in place of a file that setup made", async () => {
	const { path, found, plan, read } = await cursor("");
	rmSync(path);
	const { manifest, file } = await plan();
	await applyFile(file, found, manifest, {});
	const moved = join(tempDir("dotfiles"), "mcp.json");
	renameSync(path, moved);
	symlinkSync(moved, path);
	const undo = await planUndo(manifest.files[0] as (typeof manifest.files)[number]);
	expect(await applyUndo(undo, manifest)).toBeUndefined();
	expect(lstatSync(path).isSymbolicLink()).toBe(true);
	expect(JSON.parse(read())).toEqual({});
});

test("setups of several agents at once record all of their files, and undo finds them", async () => {
	const folder = join(tempDir("pi"), "setup");
	const record = (path: string) => ({
		...{ agent: "cursor", path, format: "json" as const, after: null, restore: null },
		...{ keys: [], folders: [] },
	});
	const paths = Array.from({ length: 8 }, (_, at) => `/home/${at}/mcp.json`);
	const manifests = await Promise.all(paths.map(() => Manifest.load(folder)));
	await Promise.all(manifests.map((one, at) => one.put(record(paths[at] as string))));
	const { files } = await Manifest.load(folder);
	expect(files.map(({ path }) => path).sort()).toEqual(paths);
	await Promise.all(manifests.slice(1).map((one, at) => one.drop(paths[at + 1] as string)));
	expect((await Manifest.load(folder)).files).toEqual([record("/home/0/mcp.json")]);
});
