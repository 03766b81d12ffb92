import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test, vi } from "vitest";
import { mcpKota, readJournal } from "../../support/mcp-kota.ts";
import { PATIENCE, PATIENCE_MS } from "../../support/patience.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { isAlive, STATISTICS } from "./open-kota.ts";

const MODULE = new URL("../../../src/code/external/external-index.ts", import.meta.url);

test("a program that forgets to close the index still ends, and takes KotaDB with it", {
	tags: "slow",
}, async () => {
	const { status, output, started } = await runProgram("console.log((await kota.status()).state);");
	expect(output).toBe("ready\n");
	expect(status).toBe(0);
	await vi.waitFor(() => expect(started().map(isAlive)).toEqual([false]), PATIENCE);
});

test("a program that leaves in the middle of a question takes KotaDB with it", {
	tags: "slow",
}, async () => {
	const { status, started } = await runProgram(
		"void kota.status(); setInterval(() => isJournalBegun() && process.exit(5), 10);",
	);
	expect(status).toBe(5);
	await vi.waitFor(() => expect(started().map(isAlive)).toEqual([false]), PATIENCE);
});

test("MCP is loaded with the first question, not before", { tags: "slow" }, async () => {
	const { output } = await runProgram(`
		const before = loaded.some((url) => url.includes("modelcontextprotocol"));
		await kota.status();
		console.log(before, loaded.some((url) => url.includes("modelcontextprotocol")));
	`);
	expect(output).toBe("false true\n");
});

/** Runs a script in a process of its own, with an index `kota` that a stubborn server answers for. */
async function runProgram(script: string) {
	const folder = tempDir("kota");
	const journal = join(folder, "journal");
	const root = join(folder, "shop");
	mkdirSync(root);
	const server = mcpKota({ journal, stubborn: true, tools: { get_index_statistics: STATISTICS } });
	const options = { ...server, root, env: { KOTADB_PATH: join(folder, "db", "kota.db") } };
	const file = join(folder, "program.mjs");
	writeFileSync(
		file,
		`import { existsSync, readFileSync } from "node:fs";
		import { registerHooks } from "node:module";
		const journal = ${JSON.stringify(journal)};
		const isJournalBegun = () => existsSync(journal) && readFileSync(journal, "utf8").includes("\\n");
		const loaded = [];
		registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
		const { ExternalIndex } = await import(${JSON.stringify(MODULE.href)});
		const kota = new ExternalIndex(${JSON.stringify(options)});
		${script}`,
	);
	const program = spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "inherit"] });
	const limit = setTimeout(() => program.kill("SIGKILL"), PATIENCE_MS);
	const [output, [status]] = await Promise.all([text(program.stdout), once(program, "exit")]);
	clearTimeout(limit);
	const started = () =>
		readJournal(journal).flatMap((one) => (one.event === "start" ? [one.pid] : []));
	// The server is as stubborn as can be: should the test fail, it must not stay.
	atEnd(() => started().filter(isAlive).forEach(end));
	return { status: status as number | null, output, started };
}

function end(pid: number): void {
	process.kill(pid, "SIGKILL");
}
