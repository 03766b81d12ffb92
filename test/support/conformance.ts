/**
 * Runs the protocol's own conformance suite against `strata mcp` over HTTP: `npm run test:conformance`. The suite is
 * fetched into `.conformance/`, never installed as a dependency.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createAccess } from "../../src/core/http-access.ts";
import { serveHttp } from "../../src/mcp/index.ts";
import { npm, registryTrouble } from "./npm.ts";

const NAME = "@modelcontextprotocol/conformance";
const VERSION = "0.1.16";
const PAUSES_SECONDS = [0, 5, 15]; // before each attempt: registries refuse in bursts
const MAX_RUN_MS = 60_000;

/**
 * The scenarios for a server that offers tools. The others call tools, resources and prompts by the names that a server
 * written for the suite has, or need capabilities that ours does not announce (logging, completion, resources, prompts).
 */
const SCENARIOS = [
	"server-initialize",
	"ping",
	"tools-list",
	"server-sse-multiple-streams",
	"dns-rebinding-protection",
];

const store = fileURLToPath(new URL("../../.conformance", import.meta.url));
const home = join(store, VERSION);
const programIn = (folder: string) =>
	join(folder, "node_modules", ...NAME.split("/"), "dist", "index.js");

process.exitCode = await main();

async function main(): Promise<number> {
	const trouble = await fetchSuite();
	if (trouble !== undefined) {
		console.log(`test:conformance skipped: ${NAME} ${VERSION} cannot be fetched (${trouble}).`);
		return 0;
	}
	const work = mkdtempSync(join(tmpdir(), "strata conformance-"));
	// The suite sends no token. Hosts and origins are checked as always.
	const access = createAccess({ host: "127.0.0.1", origins: [], tls: false, tokens: "none" });
	const server = await serveHttp({
		...{ agentDir: join(work, "agent"), cwd: work, version: VERSION, port: 0 },
		refuse(headers) {
			const admitted = access.admits(headers);
			return admitted.ok ? undefined : { status: 403, why: admitted.why };
		},
	});
	try {
		let failed = 0;
		for (const scenario of SCENARIOS) {
			const { status, printed } = await run(scenario, server.url, work);
			console.log(`${status === 0 ? "passed" : "FAILED"}: ${scenario}`);
			if (status === 0) continue;
			failed++;
			console.log(printed);
		}
		const passed = SCENARIOS.length - failed;
		console.log(`MCP conformance ${VERSION}: ${passed} of ${SCENARIOS.length} scenarios passed`);
		return failed === 0 ? 0 : 1;
	} finally {
		await server.close();
		rmSync(work, { recursive: true, force: true });
	}
}

async function run(scenario: string, url: string, cwd: string) {
	const words = [programIn(home), "server", "--url", url, "--scenario", scenario];
	const child = spawn(process.execPath, words, {
		cwd,
		stdio: ["ignore", "pipe", "pipe"],
		timeout: MAX_RUN_MS,
	});
	const ended = new Promise<number | null>((resolve, reject) => {
		child.once("error", reject);
		child.once("close", resolve);
	});
	const [status, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
	return { status, printed: out + err };
}

/** Returns the registry's failure, if it refuses every attempt; other failures throw. */
async function fetchSuite(): Promise<string | undefined> {
	let trouble: string | undefined;
	for (const pause of existsSync(programIn(home)) ? [] : PAUSES_SECONDS) {
		await sleep(pause * 1000);
		trouble = await install();
		if (trouble === undefined) break;
	}
	return trouble;
}

/** Installs under another name and renames the folder atomically. */
async function install(): Promise<string | undefined> {
	mkdirSync(store, { recursive: true });
	const work = mkdtempSync(join(store, "download-"));
	try {
		writeFileSync(join(work, "package.json"), '{ "private": true }\n');
		const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
		await npm(["install", `${NAME}@${VERSION}`, "--fetch-retries=0", ...quiet], { cwd: work });
		rmSync(home, { recursive: true, force: true });
		renameSync(work, home);
		return undefined;
	} catch (error) {
		const printed = `${Object(error).stderr ?? ""}${Object(error).stdout ?? ""}`;
		const trouble = registryTrouble(printed, new Set([NAME]));
		if (trouble === undefined) throw error;
		return trouble;
	} finally {
		rmSync(work, { recursive: true, force: true });
	}
}
