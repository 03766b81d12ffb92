import { once } from "node:events";
import {
	chmodSync,
	lstatSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { Terminal } from "../../src/cli/command.ts";
import { main } from "../../src/cli/main.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const STRATA = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));

const SETUP = ".pi/agent/strata/setup/";

/** A program that does what the agents' own commands do to their files. */
const FAKE = `
const { appendFileSync, existsSync, readFileSync, writeFileSync } = require("node:fs");
const [agent, ...args] = process.argv.slice(2);
if (args[0] === "--version") { console.log("9.8.7 (" + agent + ")"); process.exit(0); }
appendFileSync(process.env.HOME + "/calls.txt", [agent, ...args].join(" ") + "\\n");
if (existsSync(process.env.HOME + "/fails")) process.exit(3);
const file = process.env.HOME + (agent === "claude" ? "/.claude.json" : "/.gemini/settings.json");
const value = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
value.mcpServers ??= {};
const at = args.indexOf("strata");
const [command, ...rest] = args.slice(at + 1).filter((word) => word !== "--");
if (args[1] === "remove") delete value.mcpServers.strata;
else {
	if (agent === "claude" && value.mcpServers.strata) process.exit(1);
	value.mcpServers.strata = { type: "stdio", command, args: rest, env: {} };
}
writeFileSync(file, JSON.stringify({ ...value, counted: 1 }, null, 2));
`;

function machine({ agents = [] as string[], folders = [] as string[] } = {}) {
	const home = tempDir("home");
	const bin = join(home, "bin");
	mkdirSync(bin);
	writeFileSync(join(bin, "fake.cjs"), FAKE);
	for (const agent of agents) {
		const program = join(bin, agent);
		writeFileSync(
			program,
			`#!/bin/sh\nexec '${process.execPath}' '${bin}/fake.cjs' ${agent} "$@"\n`,
		);
		chmodSync(program, 0o755);
	}
	for (const folder of folders) mkdirSync(join(home, folder), { recursive: true });
	const env = {
		...{ HOME: home, PATH: [bin, "/usr/bin", "/bin"].join(delimiter) },
		PI_CODING_AGENT_DIR: join(home, ".pi", "agent"),
	};
	const path = (name: string) => join(home, name);
	return {
		home,
		path,
		read: (name: string) => readFileSync(path(name), "utf8"),
		write(name: string, text: string) {
			mkdirSync(dirname(path(name)), { recursive: true });
			writeFileSync(path(name), text);
		},
		async strata(...words: string[]) {
			return await run(words, { cwd: home, env });
		},
		async asking(answer: boolean, ...words: string[]) {
			return await run(words, { cwd: home, env, confirm: async () => answer });
		},
		/** Every file with its bytes, but for the agents' programs. */
		files() {
			const names = readdirSync(home, { recursive: true, encoding: "utf8" }).sort();
			return names.flatMap((name) => {
				if (name.startsWith("bin") || name === "calls.txt" || name.startsWith(".pi")) return [];
				return lstatSync(path(name)).isFile()
					? [[name, readFileSync(path(name), "latin1")]]
					: [[name]];
			});
		},
	};
}

async function run(words: string[], around: Pick<Terminal, "cwd" | "env" | "confirm">) {
	const lines: string[] = [];
	const print = (line: string) => void lines.push(line);
	const status = await main(words, { ...around, print, printError: print, write: print });
	return { status, text: lines.join("\n") };
}

const EDITORS = [".cursor", ".config/zed", ".config/Code/User", ".config/opencode"];

describe("strata setup", () => {
	test("adds the tools to every agent that is there, and --undo leaves every file byte for byte", {
		tags: "slow",
	}, async () => {
		const on = machine({
			agents: ["claude", "gemini"],
			folders: [...EDITORS, ".gemini", ".codex"],
		});
		on.write(".claude.json", '{\n\t"numStartups": 3\n}');
		on.write(".claude/settings.json", '{\n  // mine\n  "model": "opus",\n}\n');
		on.write(".codex/config.toml", '# mine\r\nmodel = "x"\r\n');
		on.write(".config/zed/settings.json", '// Zed\n{\n\t"theme": "One", // dark\n}\n');
		on.write(".config/opencode/opencode.jsonc", '{\n  "autoupdate": false // no\n}\n');
		on.write(".gemini/settings.json", '{"ui":{}}');
		const before = on.files();
		const done = await on.strata("setup", "--yes");
		expect(done.text).toContain("8 files written");
		expect(done.status).toBe(0);
		const server = { command: process.execPath, args: [STRATA, "mcp"] };
		expect(JSON.parse(on.read(".claude.json")).mcpServers.strata).toMatchObject(server);
		expect(on.read(".claude/settings.json")).toContain(" hook claude-code --shadow");
		expect(on.read(".claude/settings.json")).not.toContain("permissions");
		expect(on.read(".codex/config.toml")).toContain("[mcp_servers.strata]\r\n");
		expect(JSON.parse(on.read(".gemini/settings.json")).mcpServers.strata).toMatchObject(server);
		expect(JSON.parse(on.read(".cursor/mcp.json")).mcpServers.strata).toEqual(server);
		expect(on.read(".config/zed/settings.json")).toContain(
			'"One", // dark\n\t"context_servers": {',
		);
		expect(JSON.parse(on.read(".config/Code/User/mcp.json")).servers.strata).toMatchObject(server);
		expect(on.read(".config/opencode/opencode.jsonc")).toContain('"autoupdate": false, // no');
		expect(on.read("calls.txt")).toBe(
			["claude mcp add -s user strata -- ", "gemini mcp add -s user strata "]
				.map((words) => `${words}${process.execPath} ${STRATA} mcp\n`)
				.join(""),
		);
		const records = readdirSync(on.path(SETUP)).filter((name) => name.length > 64);
		expect(records).toHaveLength(8);
		for (const name of records) expect(statSync(on.path(SETUP + name)).mode & 0o777).toBe(0o600);

		const again = await on.strata("setup", "--yes");
		expect(again.text.match(/: nothing to do/g)).toHaveLength(7);
		expect(again.text).not.toContain("written");

		const undone = await on.strata("setup", "--undo", "--yes");
		expect(undone.text.match(/becomes what it was, byte for byte/g)).toHaveLength(6);
		expect(undone.text.match(/is deleted: strata setup made it/g)).toHaveLength(2);
		expect(on.files()).toEqual(before);
		expect((await on.strata("setup", "--undo", "--yes")).text).toBe(
			"Nothing is set up by strata setup.",
		);
		expect(readdirSync(on.path(".pi/agent/strata"))).toEqual([]);
	});

	test("shows a diff, asks, and writes nothing if the answer is no", async () => {
		const on = machine({ folders: [".cursor"] });
		on.write(
			".cursor/mcp.json",
			'{\n  "mcpServers": {\n    "x": { "env": { "API_KEY": "sk-1" } }\n  }\n}\n',
		);
		const before = on.files();
		const asked = await on.asking(false, "setup");
		expect(asked.text).toContain('+    "strata": {');
		expect(asked.text).toContain('"API_KEY": "…"');
		expect(asked.text).not.toContain("sk-1");
		expect(asked.text).not.toContain("written");
		const dry = await on.strata("setup", "--dry-run");
		expect(dry.text).toBe(asked.text);
		expect(on.files()).toEqual(before);
		expect((await on.asking(true, "setup")).text).toContain("1 file written");
		expect(on.read(".cursor/mcp.json")).toContain("sk-1");
	});

	test("needs --yes without a terminal, and names what is wrong", async () => {
		const on = machine({ folders: [".cursor"] });
		const faults = [
			[["setup"], "cannot ask without a terminal; add --yes"],
			[["setup", "--json"], "--json does not ask; add --yes"],
			[["setup", "curser", "--yes"], 'unknown agent "curser"; did you mean "cursor"?'],
			[
				["setup", "--savings", "all", "--yes"],
				'--savings must be one of off, shadow, birth, got "all"',
			],
			[["setup", "--port", "1", "--yes"], "--port needs --proxy"],
			[["setup", "--undo", "--proxy", "--yes"], "--undo takes everything back"],
		] as const;
		for (const [words, why] of faults) {
			const { status, text } = await on.strata(...words);
			expect(text).toContain(why);
			expect(status).toBe(2);
		}
		const missing = await on.strata("setup", "zed", "--yes");
		expect(missing).toMatchObject({
			status: 1,
			text: expect.stringContaining("Zed was not found"),
		});
		expect((await machine().strata("setup", "--yes")).text).toContain("No agent was found");
	});

	test("after the agent wrote its file, --undo removes our keys and says so", async () => {
		const on = machine({ folders: [".cursor", ".claude"] });
		on.write(".cursor/mcp.json", '{"mcpServers":{"x":{"command":"y"}}}');
		await on.strata("setup", "--yes");
		const written = JSON.parse(on.read(".cursor/mcp.json"));
		on.write(".cursor/mcp.json", JSON.stringify({ ...written, version: 2 }, null, "\t"));
		const { text } = await on.strata("setup", "--undo", "cursor", "--yes");
		expect(text).toContain("was written since: only our keys are removed");
		const left = { mcpServers: { x: { command: "y" } }, version: 2 };
		expect(on.read(".cursor/mcp.json")).toBe(JSON.stringify(left, null, "\t"));
		expect(on.read(".claude/settings.json")).toContain("hook claude-code");
	});

	test("an agent's command that fails is replaced by an edit, which is reported", {
		tags: "slow",
	}, async () => {
		const on = machine({ agents: ["claude"] });
		on.write("fails", "");
		on.write(".claude.json", '{"a":1}');
		const { text, status } = await on.strata("setup", "--yes", "--savings", "off");
		expect(text).toContain("mcp add of Claude Code failed (status 3)");
		expect(status).toBe(0);
		expect(JSON.parse(on.read(".claude.json")).mcpServers.strata.args).toEqual([STRATA, "mcp"]);
		await on.strata("setup", "--undo", "--yes");
		expect(on.read(".claude.json")).toBe('{"a":1}');
	});

	test("an old path of strata is replaced, also by the agent's own command", {
		tags: "slow",
	}, async () => {
		const on = machine({ agents: ["claude"], folders: [".cursor"] });
		await on.strata("setup", "--yes");
		const records = readdirSync(on.path(SETUP)).map((name) => SETUP + name);
		for (const name of [".claude.json", ".claude/settings.json", ".cursor/mcp.json", ...records]) {
			on.write(name, on.read(name).replaceAll(STRATA, "/old/pi-strata/bin/strata.js"));
		}
		const { text } = await on.strata("setup", "--yes");
		expect(text).toContain("3 files written");
		for (const name of [".claude.json", ".claude/settings.json", ".cursor/mcp.json"]) {
			expect(on.read(name)).toContain(STRATA);
			expect(on.read(name)).not.toContain("/old/");
		}
		expect(on.read("calls.txt")).toContain("claude mcp remove -s user strata\nclaude mcp add");
	});

	test("links are written through, permissions stay, and read-only files are left alone", async () => {
		const on = machine({ folders: [".cursor", ".config/zed", "dotfiles", ".config/Code/User"] });
		on.write("dotfiles/mcp.json", "{}\n");
		chmodSync(on.path("dotfiles/mcp.json"), 0o644);
		symlinkSync(on.path("dotfiles/mcp.json"), on.path(".cursor/mcp.json"));
		on.write(".config/zed/settings.json", "{}\n");
		chmodSync(on.path(".config/zed/settings.json"), 0o444);
		symlinkSync(on.path("nowhere"), on.path(".config/Code/User/mcp.json"));
		const before = on.files();
		const { text } = await on.strata("setup", "--yes");
		expect(text).toContain(
			`${on.path(".config/zed/settings.json")} is left alone: it is read-only`,
		);
		expect(text).toContain("mcp.json is left alone: it is a link to a file that does not exist");
		expect(lstatSync(on.path(".cursor/mcp.json")).isSymbolicLink()).toBe(true);
		expect(on.read("dotfiles/mcp.json")).toContain("strata.js");
		expect(statSync(on.path("dotfiles/mcp.json")).mode & 0o777).toBe(0o644);
		await on.strata("setup", "--undo", "--yes");
		expect(on.files()).toEqual(before);
	});

	test.each([
		["{ broken", "is not valid JSON (line 1)"],
		["[]", "holds something else than a JSON object"],
		[Buffer.from([0x7b, 0xff, 0x7d]), "is not UTF-8 text"],
	])(
		"broken configuration %# is left alone with one sentence, the rest is set up",
		async (text, why) => {
			const on = machine({ folders: [".cursor", ".config/zed"] });
			writeFileSync(on.path(".cursor/mcp.json"), text);
			const done = await on.strata("setup", "--yes");
			expect(done.text).toContain(`  ${on.path(".cursor/mcp.json")} is left alone: it ${why}`);
			expect(done.text).toContain("1 file written");
			expect(readFileSync(on.path(".cursor/mcp.json"))).toEqual(Buffer.from(text));
		},
	);

	test("--savings birth shortens in Claude Code and opencode, and stays until it is changed", async () => {
		const on = machine({ folders: [".claude", ".config/opencode"] });
		await on.strata("setup", "--yes", "--savings", "birth");
		const settings = () => JSON.parse(on.read(".claude/settings.json"));
		expect(settings().hooks.PostToolUse[0].hooks[0].command).toMatch(/hook claude-code$/);
		expect(settings().permissions.allow).toHaveLength(1);
		expect(JSON.parse(on.read(".config/opencode/opencode.json")).plugin).toEqual([
			expect.stringMatching(/^file:.*plugins\/opencode\.js$/),
		]);
		expect((await on.strata("setup", "--yes")).text).not.toContain("written");
		await on.strata("setup", "--yes", "--savings", "shadow");
		expect(settings().hooks.PostToolUse).toHaveLength(1);
		expect(settings().hooks.PostToolUse[0].hooks[0].command).toMatch(/ --shadow$/);
		await on.strata("setup", "--undo", "--yes");
		expect(on.files().filter(([name = ""]) => /json$/.test(name))).toEqual([]);
	});

	test("base URLs only with --proxy, which says whether a proxy runs", {
		tags: "slow",
	}, async () => {
		const on = machine({
			folders: [".claude", ".codex", ".gemini", ".config/opencode", ".cursor"],
		});
		on.write(".codex/config.toml", "# c\n[tui]\nx = 1\n");
		on.write(".config/opencode/opencode.json", '{"provider":{"anthropic":{}}}');
		await on.strata("setup", "--yes");
		const all = () =>
			on
				.files()
				.map(([, text]) => text)
				.join();
		expect(all()).not.toContain("127.0.0.1");
		const before = on.files();
		const { text } = await on.strata("setup", "--yes", "--proxy", "--port", "9");
		expect(text).toContain("No proxy runs at http://127.0.0.1:9");
		expect(text).toContain("Gemini CLI reads its base URL from the environment only");
		const address = "http://127.0.0.1:9";
		expect(JSON.parse(on.read(".claude/settings.json")).env).toEqual({
			ANTHROPIC_BASE_URL: `${address}/anthropic`,
		});
		expect(on.read(".codex/config.toml")).toMatch(
			/^openai_base_url = "http:\/\/127.0.0.1:9\/openai\/v1"\n# c/,
		);
		expect(on.read(".config/opencode/opencode.json")).toContain(
			`"baseURL":"${address}/anthropic/v1"`,
		);
		const { text: report } = await on.strata("doctor");
		expect(report).toContain("no proxy runs at http://127.0.0.1:9/anthropic: start strata proxy");
		const server = createServer().listen(0, "127.0.0.1");
		await once(server, "listening");
		atEnd(() => server.close());
		const { port } = server.address() as { port: number };
		const up = await on.strata("setup", "--yes", "--proxy", "--port", String(port));
		expect(up.text).not.toContain("No proxy runs");
		expect(on.files()).not.toEqual(before);
		await on.strata("setup", "--undo", "--yes");
		expect(all()).not.toContain("127.0.0.1");
		expect(on.read(".codex/config.toml")).toBe("# c\n[tui]\nx = 1\n");
	});

	test("a missing folder is made, and goes with --undo unless something else is in it", async () => {
		const on = machine({ agents: ["cursor", "zed"] });
		await on.strata("setup", "--yes");
		expect(statSync(on.path(".cursor")).mode & 0o777).toBe(0o700);
		on.write(".config/zed/keymap.json", "[]");
		await on.strata("setup", "--undo", "--yes");
		const names = on.files().map(([name]) => name);
		expect(names).toEqual([".config", ".config/zed", ".config/zed/keymap.json"]);
	});

	test("pi is set up only when it is named", async () => {
		const on = machine({ folders: [".pi/agent/sessions"] });
		on.write(".pi/agent/settings.json", '{\n  "theme": "dark"\n}\n');
		const unnamed = await on.strata("setup", "--yes");
		expect(unnamed.text).toMatch(
			/^No other agent was found.*\nTo set up pi, name it: strata setup pi$/,
		);
		expect(on.read(".pi/agent/settings.json")).toBe('{\n  "theme": "dark"\n}\n');
		await on.strata("setup", "pi", "--yes");
		const [folder] = JSON.parse(on.read(".pi/agent/settings.json")).packages;
		expect(folder).toBe(dirname(dirname(STRATA)));
		await on.strata("setup", "--undo", "--yes");
		expect(on.read(".pi/agent/settings.json")).toBe('{\n  "theme": "dark"\n}\n');
	});

	test("--json is for programs", async () => {
		const on = machine({ folders: [".cursor"] });
		const { text } = await on.strata("setup", "--json", "--yes");
		expect(JSON.parse(text)).toMatchObject({
			agents: [{ agent: "cursor", changes: [{ path: on.path(".cursor/mcp.json"), commands: [] }] }],
			outcomes: [{ kind: "edit" }],
		});
		const undone = JSON.parse((await on.strata("setup", "--undo", "--json", "--yes")).text);
		expect(undone).toMatchObject({ files: [{ kind: "deleted" }], undone: true });
	});

	test("no string of the user's file is printed, only names and what is ours", async () => {
		const on = machine({ folders: [".cursor", ".codex"] });
		const env = { PGURL: "postgres://u:hunter2@h/db", GITHUB_PAT: "ghp_hunter2" };
		const pg = { command: "x", args: ["--api-key", "sk-hunter2"], env };
		on.write(".cursor/mcp.json", JSON.stringify({ mcpServers: { pg } }));
		on.write(".codex/config.toml", "model = 'm'\npat = 'hunter2'\n");
		for (const words of [["--dry-run"], ["--yes"], ["--undo", "--dry-run"], ["--undo", "--yes"]]) {
			const { text } = await on.strata("setup", ...words);
			expect(text).not.toContain("hunter2");
			expect(text).toContain('"pg":{"command":"…"');
			expect(text).toContain('"strata": {"command":"/');
			expect(text).toContain(`args = ["${STRATA}", "mcp"]`);
		}
	});

	test("a damaged manifest stops setup before anything is written", async () => {
		const on = machine({ folders: [".cursor"] });
		await on.strata("setup", "--yes");
		const [name = ""] = readdirSync(on.path(SETUP)).filter((one) => one.length > 64);
		on.write(SETUP + name, "{");
		const { status, text } = await on.strata("setup", "--undo", "--yes");
		expect(status).toBe(1);
		expect(text).toContain(`${name} is damaged`);
		const cleaned = await on.strata("clean");
		expect(cleaned.text).toContain("not listed: what strata setup changed in");
	});
});

describe("strata doctor", () => {
	test("starts the server as each agent would, and says what is out of date", {
		tags: "slow",
	}, async () => {
		const on = machine({
			agents: ["claude"],
			folders: [".cursor", ".config/zed", ".config/Code/User"],
		});
		await on.strata("setup", "claude", "zed", "vscode", "--yes");
		const zed = ".config/zed/settings.json";
		on.write(zed, on.read(zed).replace(STRATA, "/gone/pi-strata/bin/strata.js"));
		on.write(".config/Code/User/mcp.json", "{}");
		const { text } = await on.strata("doctor");
		expect(text).toMatch(
			/ok +Claude Code +9\.8\.7; tools set up, started in \d+ ms; hook set up, counts only/,
		);
		expect(text).toMatch(/-- +Cursor +found by its folder; not set up; run: strata setup cursor/);
		expect(text).toMatch(
			/warn +Zed .*tools out of date, but ends at once \(status 1\); run: strata setup zed/,
		);
		expect(text).toMatch(/warn +VS Code .*tools removed since; run: strata setup vs-code/);
		const report = JSON.parse((await on.strata("doctor", "--json")).text);
		const claude = report.agents.find(({ name }: { name: string }) => name === "claude-code");
		expect(claude).toMatchObject({
			...{ isInstalled: true, version: "9.8.7" },
			parts: [
				{
					kind: "server",
					state: "current",
					probed: { ok: true },
					words: [process.execPath, STRATA, "mcp"],
				},
				{ kind: "hook", state: "current", mode: "shadow" },
			],
		});
		expect(report.agents.find(({ name }: { name: string }) => name === "codex").isInstalled).toBe(
			false,
		);
	});

	test("never starts a program that is not ours", { tags: "slow" }, async () => {
		const on = machine({ folders: [".cursor"] });
		const command = on.path("evil");
		writeFileSync(command, `#!/bin/sh\ntouch '${on.path("started")}'\n`);
		chmodSync(command, 0o755);
		on.write(".cursor/mcp.json", JSON.stringify({ mcpServers: { strata: { command } } }));
		const { text } = await on.strata("doctor");
		expect(text).toContain("tools another one has this name");
		expect(readdirSync(on.home)).not.toContain("started");
	});
});
