/**
 * Prints the source files that four actions pass through, as JSON: `node scripts/walks.ts`. `test/walks.test.ts` bounds them,
 * and `docs/architecture.md` lists them.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { DEFAULT_LIMITS, startServer } from "../src/server/index.ts";
import type { PiHarness } from "../test/support/pi-session.ts";
import { startPruning } from "../test/support/pruning-session.ts";
import { readIn, startReads } from "../test/support/read-session.ts";
import { walk, walkOfProcess } from "../test/support/walk.ts";

const scratch = mkdtempSync(join(tmpdir(), "strata-walks-"));
process.env.HOME = scratch;
process.env.XDG_CACHE_HOME = join(scratch, "cache");

/** They note what happens in a run, and change nothing. */
const OBSERVER = /^extension\/(?:progress-reporter|answer-report|folded-notice)\.ts$/;

const walks = {
	"A repeated read": await repeatedRead(),
	"A code question": await usages(),
	"A prompt over WebSocket": await prompt(),
	"Prune and read back": await pruneAndReadBack(),
};
console.log(JSON.stringify(walks, null, "\t"));
rmSync(scratch, { recursive: true, force: true });
process.exit(0);

/** A read of an unchanged file, from the call to its result. */
async function repeatedRead(): Promise<string[]> {
	const { pi, read } = await startReads();
	pi.write("a.ts", "export const a = 1;\n".repeat(200));
	await read("a.ts");
	await read("a.ts");
	const files = await walkOfRead(pi, "a.ts", /^\[readcache: unchanged/);
	await pi.close();
	return files;
}

/** The whole process, on an index that is up to date. Files written a moment ago would be indexed again, so it waits. */
async function usages(): Promise<string[]> {
	const root = folder("project");
	writeFileSync(join(root, "package.json"), "{}");
	writeFileSync(join(root, "a.ts"), "export function area() { return 1; }\n");
	writeFileSync(join(root, "b.ts"), 'import { area } from "./a.ts";\nexport const b = area();\n');
	const strata = fileURLToPath(new URL("../bin/strata.js", import.meta.url));
	await sleep(2500);
	walkOfProcess([strata, "index"], root);
	return walkOfProcess([strata, "usages", "area"], root);
}

/** From the frame to the response, up to the door of pi: the extension's work in pi does not count. */
async function prompt(): Promise<string[]> {
	const server = await startServer({
		dataDir: folder("data"),
		agentDir: folder("agent"),
		cwd: scratch,
		demo: "always",
		allowProjectTrust: false,
		listen: { port: 0, host: "127.0.0.1" },
		auth: "none",
		origins: [],
		limits: DEFAULT_LIMITS,
		warn: (line) => console.error(line),
	});
	await server.ready;
	const socket = new WebSocket(`ws://127.0.0.1:${server.port}`);
	await new Promise((resolve) => socket.once("open", resolve));
	let ids = 0;
	const ask = async (command: object): Promise<void> => {
		const id = `command-${++ids}`;
		const answer = new Promise<{ success: boolean }>((resolve) => {
			socket.on("message", (data) => {
				const message = JSON.parse(String(data));
				if (message.type === "response" && message.id === id) resolve(message);
			});
		});
		socket.send(JSON.stringify({ id, ...command }));
		const response = await answer;
		if (!response.success) throw new Error(JSON.stringify(response));
	};
	await ask({ type: "create_session", sessionId: "s" });
	await ask({ type: "prompt", sessionId: "s", message: "hello", waitFor: "settled" });
	const again = () => ask({ type: "prompt", sessionId: "s", message: "hello" });
	const files = await walk(again, { inWorkers: true });
	socket.terminate();
	await server.stop("done");
	return files.filter((file) => /^(?:server(?!\/demo)|protocol)\//.test(file));
}

/** The turn that prunes, and the `read` of the path in the stub. Other systems, which take part in each turn, are left out. */
async function pruneAndReadBack(): Promise<string[]> {
	const { pi, readNew, talk } = await startPruning();
	const { now } = Date;
	let waited = 0;
	Date.now = () => now() + waited;
	const round = async () => {
		const old = await readNew();
		await talk();
		await talk();
		waited += 2 * 60 * 60_000; // longer than the TTL of any provider
		const pruned = await walk(talk);
		const stub = pi.seenTextOf(old.id) ?? "";
		const path = /^\(Pruned\) .*Full text: read (.+)$/.exec(stub)?.[1];
		if (!path) throw new Error(`not pruned: ${stub.slice(0, 100)}`);
		return [...pruned, ...(await walkOfRead(pi, path, /^export const value/))];
	};
	await round();
	const files = await round();
	await pi.close();
	Date.now = now;
	const others =
		/^(?!extension|session|context|pruning|paging)|^extension\/(?:saved|session-account)/;
	return [...new Set(files)].filter((file) => !others.test(file) && !OBSERVER.test(file)).sort();
}

/** The walk of one `read`, from the call to its result, which must match. */
async function walkOfRead(pi: PiHarness, path: string, expected: RegExp): Promise<string[]> {
	const { promise: ended, resolve: end } = Promise.withResolvers<void>();
	let files: Promise<string[]> | undefined;
	const unsubscribe = pi.session.subscribe(({ type }) => {
		if (type === "tool_execution_start") files = walk(() => ended);
		if (type === "tool_execution_end") end();
	});
	const { text = "" } = await readIn(pi, path);
	unsubscribe();
	if (!files || !expected.test(text)) throw new Error(`read as ${text.slice(0, 100)}`);
	return (await files).filter((file) => !OBSERVER.test(file));
}

function folder(name: string): string {
	const path = join(scratch, name);
	mkdirSync(path);
	return path;
}
