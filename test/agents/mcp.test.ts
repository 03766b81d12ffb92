import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createBlobStore } from "../../src/core/blob-store.ts";
import { loadConfig } from "../../src/core/config.ts";
import { type Driver, drivers } from "../support/agents/drivers.ts";
import { agentPackages, isFetched } from "../support/agents/packages.ts";
import { agentHome, runAgent, writeIn } from "../support/agents/run-agent.ts";
import { PATIENCE } from "../support/patience.ts";
import type { Step } from "../support/stand-in/script.ts";
import { StandIn } from "../support/stand-in/stand-in.ts";
import { atEnd, tempDir } from "../support/temp.ts";
import { ANSWER } from "./session.ts";

const STRATA = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));
const SERVER = { command: process.execPath, args: [STRATA, "mcp"] };
/** Far more than a call takes, and far less than a page that never ends. */
const PATIENT_SECONDS = 120;
const IMPATIENT_SECONDS = 2;

const fetched = agentPackages.filter(isFetched).map(({ name }) => name);
const NAMES = ["claude-code", "codex-http", "opencode", "gemini-cli"];
const ready = drivers.filter(({ agent, name }) => fetched.includes(agent) && NAMES.includes(name));

/** The driver with our server in its configuration. */
function withServer(driver: Driver, seconds: number): Driver {
	switch (driver.name) {
		case "claude-code": {
			const config = JSON.stringify({ mcpServers: { strata: SERVER } });
			const words = ["--mcp-config", config, "--allowedTools", "mcp__strata"];
			const env = { ...driver.env, MCP_TOOL_TIMEOUT: String(1000 * seconds) };
			return { ...driver, env, args: (prompt) => [...driver.args(prompt), ...words] };
		}
		case "codex-http": {
			const settings = {
				command: JSON.stringify(SERVER.command),
				args: JSON.stringify(SERVER.args),
				// It asks its model only once the server has started.
				required: "true",
				tool_timeout_sec: `${seconds}.0`,
			};
			const words = Object.entries(settings).flatMap(([name, value]) => [
				...["-c", `mcp_servers.strata.${name}=${value}`],
			]);
			return {
				...driver,
				aim: (base) => ({ args: [...words, ...(driver.aim(base).args ?? [])] }),
			};
		}
		case "opencode": {
			const command = [SERVER.command, ...SERVER.args];
			const strata = { type: "local", command, timeout: 1000 * seconds };
			return {
				...driver,
				aim(base) {
					const { OPENCODE_CONFIG_CONTENT: content = "{}", ...env } = driver.aim(base).env ?? {};
					const settings = { ...JSON.parse(content), mcp: { strata } };
					return { env: { ...env, OPENCODE_CONFIG_CONTENT: JSON.stringify(settings) } };
				},
			};
		}
		default: {
			const name = ".gemini/settings.json";
			const settings = JSON.parse(driver.files?.[name] ?? "{}");
			const mcpServers = { strata: { ...SERVER, timeout: 1000 * seconds } };
			return { ...driver, files: { [name]: JSON.stringify({ ...settings, mcpServers }) } };
		}
	}
}

/** Lets the agent's model call tools, and returns what was sent to it. */
async function calls(
	driver: Driver,
	settings: object,
	script: readonly Step[],
	seconds = PATIENT_SECONDS,
	change: (driver: Driver) => Driver = (same) => same,
) {
	const standIn = await StandIn.start(driver.standIn);
	atEnd(() => standIn.close());
	const installed = change(withServer(driver, seconds));
	const home = agentHome(installed);
	mkdirSync(join(home.project, ".git"));
	writeIn(home.project, "price.ts", "export function price(): number {\n\treturn 1;\n}\n");
	for (let at = 0; at < 200; at++) {
		const text = `import { price } from "../price.ts";\nexport const sum${at} = price();\n`;
		writeIn(home.project, `users-of-the-price/user-with-the-number-${at}.ts`, text);
	}
	writeIn(home.home, ".pi/agent/strata.json", JSON.stringify(settings));
	standIn.script([...script, { say: ANSWER }]);
	const ran = await runAgent(installed, home, { prompt: "Who uses price?", base: standIn.url });
	expect(ran.stdout, `${ran.stdout}\n${ran.stderr}`).toContain(ANSWER);
	const bodies = standIn.requests.flatMap(({ body }) => (body.length > 0 ? [String(body)] : []));
	return { all: bodies.join("\n"), last: bodies.at(-1) };
}

/** Longer than an answer. */
const REMEMBERED = Array.from({ length: 2_000 }, (_, at) => `remembered ${at + 1} \n`).join("");

const TOOLS = [
	...["kota_search", "kota_deps", "kota_usages", "kota_impact", "kota_task_context"],
	...["kota_index", "read_page", "strata_recall"],
];

describe.each(ready)("$name", (driver) => {
	test("lists every tool, and gets answers, errors and answers within the budget", async () => {
		const { all, last } = await calls(driver, { kota: { confirmIndex: false } }, [
			{ tool: "kota_search", input: { query: "price", limit: 1 } },
			{ tool: "kota_deps", input: { file_path: "price.ts" } },
			{ tool: "kota_usages", input: { symbol: "price" } },
			{ tool: "kota_impact", input: { files_to_modify: ["price.ts"] } },
			{ tool: "kota_task_context", input: { files: ["price.ts"] } },
			{ tool: "kota_index", input: {} },
			{ tool: "read_page", input: { uri: "notes.txt" } },
			{ tool: "strata_recall", input: { id: "none" } },
		]);
		// Codex names the server only: its model looks for tools.
		const offered = driver.agent === "codex" ? ["Exact answers about TypeScript"] : TOOLS;
		for (const text of offered) expect(all).toContain(text);
		expect(last).toContain("shortened from");
		expect(last).toContain("200 dependents");
		expect(last).toContain("The index is up to date: 201 files");
		expect(last).toContain("note 40");
		expect(last).toContain("names no stored text");
	});

	test("without an index, the user is asked or told how to index", async () => {
		const { last } = await calls(driver, {}, [{ tool: "kota_usages", input: { symbol: "price" } }]);
		// Codex without approvals consents; the others cannot ask a user.
		expect(last).toContain(driver.agent === "codex" ? "200 files" : "run `strata index` there");
	});

	test("gets answers of the other tools, and a stored text", async () => {
		const blobs = { dir: tempDir("blobs") };
		const { config } = loadConfig({ agentDir: tempDir("agent"), cwd: tempDir("project") });
		const kept = await createBlobStore({ ...config.blobs, ...blobs }).keep(REMEMBERED);
		const stored = kept.kind === "kept" ? kept.blob.id : "";
		const settings = { kota: { confirmIndex: false }, blobs };
		const { last } = await calls(driver, settings, [
			{ tool: "kota_search", input: { query: "price", limit: 1 } },
			{ tool: "kota_impact", input: { files_to_modify: ["price.ts"] } },
			{ tool: "kota_task_context", input: { files: ["price.ts"] } },
			{ tool: "strata_recall", input: { id: stored } },
		]);
		expect(last).toContain("best first");
		expect(last).toContain("remembered 1 ");
		expect(last).toContain("To continue, call strata_recall with id");
	});

	test("a call that takes too long is ended, also in the server", async () => {
		let isOpen = false;
		const web = createServer((_, res) => {
			isOpen = true;
			res.on("close", () => {
				isOpen = false;
			});
			res.write("The beginning.\n");
		});
		web.listen(0, "127.0.0.1");
		await once(web, "listening");
		atEnd(() => web.closeAllConnections());
		atEnd(() => web.close());
		const { port } = web.address() as AddressInfo;
		const uri = `http://127.0.0.1:${port}/`;
		const settings = { paging: { allowRanges: ["127.0.0.1/32"] } };
		await calls(driver, settings, [{ tool: "read_page", input: { uri } }], IMPATIENT_SECONDS);
		await expect.poll(() => isOpen, PATIENCE).toBe(false);
	});
});

const REFUSED = "The user does not want this project to be indexed";

/** Answers in the user's place: Claude Code's own hook for questions of servers. */
function answering(action: "accept" | "decline") {
	const hookSpecificOutput = { hookEventName: "Elicitation", action, content: {} };
	const command = `echo '${JSON.stringify({ hookSpecificOutput })}'`;
	const hooks = { Elicitation: [{ hooks: [{ type: "command", command }] }] };
	return (driver: Driver): Driver => ({
		...driver,
		args: (prompt) => [...driver.args(prompt), "--settings", JSON.stringify({ hooks })],
	});
}

describe.each(ready.filter(({ agent }) => agent === "claude-code"))(
	"consent in $name",
	(driver) => {
		test.each([
			["accept", "200 files"],
			["decline", REFUSED],
		] as const)("%s", async (action, expected) => {
			const script = [{ tool: "kota_usages", input: { symbol: "price" } }];
			const { last } = await calls(driver, {}, script, PATIENT_SECONDS, answering(action));
			expect(last).toContain(expected);
		});
	},
);

/** With approvals and a sandbox it has a user to ask, who is not there: it refuses in their place. */
function refusing(driver: Driver): Driver {
	const isBypass = (word: string) => word === "--dangerously-bypass-approvals-and-sandbox";
	return {
		...driver,
		args: (prompt) =>
			driver.args(prompt).flatMap((word) => (isBypass(word) ? ["-s", "read-only"] : [word])),
	};
}

describe.each(ready.filter(({ agent }) => agent === "codex"))("consent in $name", (driver) => {
	test("refused", async () => {
		const script = [{ tool: "kota_usages", input: { symbol: "price" } }];
		const { last } = await calls(driver, {}, script, PATIENT_SECONDS, refusing);
		expect(last).toContain(REFUSED);
	});
});
