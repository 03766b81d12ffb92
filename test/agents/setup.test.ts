import { lstatSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { runProgram } from "../../src/setup/program.ts";
import { type Driver, drivers } from "../support/agents/drivers.ts";
import { agentPackages, isFetched } from "../support/agents/packages.ts";
import { agentHome, runAgent, writeIn } from "../support/agents/run-agent.ts";
import { StandIn } from "../support/stand-in/stand-in.ts";
import { atEnd } from "../support/temp.ts";
import { ANSWER } from "./session.ts";

const STRATA = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));
const fetched = agentPackages.filter(isFetched).map(({ name }) => name);
const NAMES = ["claude-code", "codex-http", "opencode", "gemini-cli"];
const ready = drivers.filter(({ agent, name }) => fetched.includes(agent) && NAMES.includes(name));

/** Output that the hook could fold. */
const LOG = "seq 1 60 | sed 's/.*/waiting for the server to start/'; cat notes.txt";

/** What a user of the agent has in its files. */
const FILES: Record<string, Record<string, string>> = {
	"claude-code": {
		".claude.json": '{\n  "numStartups": 3,\n  "hasCompletedOnboarding": true\n}',
		".claude/settings.json": '{\n\t"permissions": { "allow": ["mcp__strata"] }\n}\n',
	},
	codex: {
		".codex/config.toml":
			'# mine\nmodel_reasoning_effort = "low" # quick\n\n[tui]\nnotifications = false\n',
	},
	opencode: { ".config/opencode/opencode.jsonc": '{\n\t// mine\n\t"snapshot": false, // no\n}\n' },
	"gemini-cli": {},
};

describe.each(ready)("$agent", (driver) => {
	async function installed() {
		const home = agentHome(driver);
		const files = FILES[driver.agent] ?? {};
		for (const [name, text] of Object.entries(files)) writeIn(home.home, name, text);
		mkdirSync(join(home.project, ".git"));
		const PATH = [join(home.home, "bin"), process.env.PATH].join(delimiter);
		const env = { PATH, HOME: home.home, LANG: "C.UTF-8" };
		const strata = async (...words: string[]) => {
			const options = { cwd: home.project, env, timeoutMs: 120_000 };
			const ran = await runProgram(process.execPath, [STRATA, ...words], options);
			expect(ran.status, ran.output).toBe(0);
			return ran.output;
		};
		const names = [...Object.keys(files), ...Object.keys(driver.files ?? {})];
		const texts = () => names.map((name) => readFileSync(join(home.home, name), "utf8"));
		return { home, strata, texts };
	}

	test("after setup it has the tools, and undo leaves its files byte for byte", async () => {
		const { home, strata, texts } = await installed();
		const before = texts();
		const printed = await strata("setup", driver.agent, "--yes");
		expect(printed).not.toContain("left alone");
		// The agent's own command where it has one, else an edit.
		expect(printed.includes("mcp add")).toBe(driver.agent !== "opencode");
		expect(printed).not.toContain("failed");
		expect(await strata("setup", driver.agent, "--yes")).toContain("nothing to do");
		expect(await strata("doctor")).toMatch(/ok +\S+.*tools set up, started in \d+ ms/);
		await strata("setup", "--undo", "--yes");
		expect(texts()).toEqual(before);

		await strata("setup", driver.agent, "--yes");
		const standIn = await StandIn.start(driver.standIn);
		atEnd(() => standIn.close());
		const hasHook = driver.agent === "claude-code";
		const logs = hasHook ? [{ shell: LOG }, { shell: LOG }, { shell: LOG }] : [];
		standIn.script([...logs, { tool: "read_page", input: { uri: "notes.txt" } }, { say: ANSWER }]);
		const ran = await runAgent(patient(driver), home, {
			prompt: "Read the notes.",
			base: standIn.url,
		});
		expect(ran.stdout, `${ran.stdout}\n${ran.stderr}`).toContain(ANSWER);
		const bodies = standIn.requests.flatMap(({ body }) => (body.length > 0 ? [String(body)] : []));
		expect(bodies.at(-1)).toContain("note 40");

		if (hasHook) {
			// The hook counts, and shortens nothing.
			expect(await strata("hook", "report")).toContain("would be shorter");
			expect(bodies.join()).not.toContain("[strata:");
		}

		// The agent has run, and may have written its files.
		await strata("setup", "--undo", "--yes");
		expect(treeOf(home.home)).not.toMatch(/strata\.js/);
	});
});

/** Codex asks its model before a server has started, unless it is required. */
function patient(driver: Driver): Driver {
	if (driver.agent !== "codex") return driver;
	const words = ["-c", "mcp_servers.strata.required=true"];
	return { ...driver, aim: (base) => ({ args: [...words, ...(driver.aim(base).args ?? [])] }) };
}

/** All configuration of a home folder as one text: no file that an agent or strata keeps for itself. */
function treeOf(home: string): string {
	const names = readdirSync(home, { recursive: true, encoding: "utf8" });
	const settings = names.filter((name) =>
		/(?:^|\/)(?:\.claude\.json|settings\.json|config\.toml|opencode\.jsonc?)$/.test(name),
	);
	return settings
		.filter((name) => lstatSync(join(home, name)).isFile())
		.map((name) => readFileSync(join(home, name), "utf8"))
		.join("\n");
}
