import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { coloursFor } from "../core/colours.ts";
import { describeConfig, loadConfig } from "../core/config.ts";
import { inTime } from "../core/in-time.ts";
import { packageDependencies, packageVersion } from "../core/package-info.ts";
import { agentFolder } from "../core/places.ts";
import { sqliteSupport } from "../core/sqlite.ts";
import { workerEntry } from "../core/worker-entry.ts";
import { checkDatabase } from "../server/journal/postgres/index.ts";
import { agentLine, agentStatuses } from "./agent-status.ts";
import { knownStores, measureStore } from "./clean.ts";
import { type Command, FLAG, TEXT } from "./command.ts";
import { databaseOption } from "./database.ts";
import { checkUse } from "./doctor-pi.ts";
import { describePi, installedPi, missingPackages } from "./installed-pi.ts";
import { serverFolder } from "./serve.ts";

/** Result of a check. If a `required` one fails, the exit status is 1. */
interface Finding {
	readonly name: string;
	readonly ok: boolean;
	readonly required: boolean;
	readonly note: string;
}

export const doctor: Command = {
	name: "doctor",
	usage: "[--database <url>] [--json]",
	details: [
		"",
		"For each agent on this machine it shows what strata setup added, starts the server as the agent would, and",
		"says what is out of date. --database (or STRATA_DATABASE) also checks the database of strata serve. The exit",
		"status is 1 if a required check fails.",
	],
	options: { database: TEXT, json: FLAG },
	async run(options, _words, terminal) {
		const agentDir = agentFolder(terminal.env);
		const loaded = loadConfig({ agentDir, cwd: terminal.cwd });
		const database = databaseOption(options, terminal);
		const findings: Finding[] = [
			{ name: "Node.js", ok: true, required: true, note: process.version },
			checkPackages(),
			{ name: "pi", required: false, ...describePi(installedPi()) },
			await checkSqlite(),
			await checkWorker(),
			...(await checkUse({
				agentDir,
				cwd: terminal.cwd,
				serverFolder: serverFolder(terminal.env),
			})),
			...(database ? await checkDatabase(database) : []),
		];
		const settings = describeConfig(loaded);
		const stores = await Promise.all(knownStores(loaded.config, terminal).map(measureStore));
		const agents = await agentStatuses(terminal);
		const failed = findings.some((finding) => finding.required && !finding.ok);
		if (options.json) {
			const { files, warnings } = loaded;
			const report = { ok: !failed, findings, agents, files, warnings, settings, stores };
			terminal.print(JSON.stringify(report, null, 2));
			return failed ? 1 : 0;
		}

		terminal.print(`pi-strata ${packageVersion()}`);
		terminal.print("");
		const { good, bad, warning } = coloursFor(terminal.isColoured);
		for (const { ok, required, name, note } of findings) {
			const state = ok ? good("ok  ") : required ? bad("FAIL") : warning("warn");
			terminal.print(`  ${state}  ${name.padEnd(14)} ${note}`);
		}
		terminal.print("");
		const installed = agents.filter(({ isInstalled }) => isInstalled);
		terminal.print(`Agents (see "strata setup"):${installed.length === 0 ? " none found" : ""}`);
		for (const agent of installed) terminal.print(`  ${await agentLine(agent)}`);
		terminal.print("");
		terminal.print("Configuration files; later ones override earlier ones:");
		for (const { path, found, used } of loaded.files) {
			const state = used ? "read" : found ? "ignored" : "absent";
			terminal.print(`  ${state.padEnd("ignored".length)}  ${path}`);
		}
		for (const warning of loaded.warnings) terminal.print(`  warning: ${warning}`);
		terminal.print("");
		terminal.print("Settings:");
		const width = Math.max(...settings.map(({ key }) => key.length));
		for (const { key, value, origin } of settings) {
			terminal.print(`  ${key.padEnd(width)}  ${JSON.stringify(value)}  (${origin})`);
		}
		terminal.print("");
		terminal.print('Stores (see "strata clean"):');
		for (const store of stores)
			terminal.print(`  ${store.name.padEnd(10)} ${store.note}  ${store.what}: ${store.folder}`);
		return failed ? 1 : 0;
	},
};

function checkPackages(): Finding {
	const names = packageDependencies();
	const missing = missingPackages(names, import.meta.url);
	const ok = missing.length === 0;
	const note = ok
		? `all ${names.length} installed`
		: `missing: ${missing.join(", ")}; reinstall pi-strata (in a clone: "npm ci")`;
	return { name: "packages", ok, required: true, note };
}

async function checkSqlite(): Promise<Finding> {
	const support = await sqliteSupport();
	const note = support.ok ? `${support.version}, with full-text search` : support.why;
	return { name: "SQLite", ok: support.ok, required: false, note };
}

async function checkWorker(): Promise<Finding> {
	const finding = { name: "worker threads", required: true };
	const worker = new Worker(workerEntry("./probe-worker", import.meta.url));
	try {
		// `once` rejects if the worker emits an error.
		const message = await inTime(once(worker, "message"), 10_000);
		if (!message) throw new Error("no answer within 10 s");
		return { ...finding, ok: true, note: "available" };
	} catch (error) {
		return { ...finding, ok: false, note: `not available: ${(error as Error).message}` };
	} finally {
		await worker.terminate();
	}
}
