import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { inTime } from "../../../src/core/in-time.ts";
import { parseDatabaseUrl } from "../../../src/server/journal/postgres/database-url.ts";
import { addToken, withDatabase } from "../../../src/server/journal/postgres/token-table.ts";
import type { Safeguard } from "../../../src/server/safeguards.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { type ServeProcess, startServe } from "../support/serve-process.ts";
import {
	type LinkProxy,
	type SocketProxy,
	startLinkProxy,
	startSocketProxy,
} from "./socket-proxy.ts";

export interface ClusterOptions {
	readonly servers: number;
	/** Servers that are not started at first. */
	readonly spares?: number;
	readonly leaseMs: number;
	/** Words for `strata serve`. */
	readonly words?: readonly string[];
	/** More words, for each server. */
	readonly wordsOf?: readonly (readonly string[])[];
	readonly drainMs?: number;
	/** A safeguard that is taken out. */
	readonly without?: Safeguard;
	/** Clocks of servers: offset in ms and rate. */
	readonly clocks?: readonly (readonly [number, number])[];
	readonly principals?: readonly string[];
}

/** Server processes on one Postgres, each with folders of its own, and one working tree for all. */
export interface Cluster {
	readonly postgres: TestPostgres;
	readonly url: string;
	readonly workspace: string;
	readonly tokens: ReadonlyMap<string, string>;
	readonly servers: readonly ClusterServer[];
	close(): Promise<void>;
}

export interface ClusterServer {
	/** `undefined` while it does not run. */
	readonly address: string | undefined;
	readonly pid: number | undefined;
	/** Between the server and Postgres. */
	readonly proxy: SocketProxy;
	/** Between the server and those that open links to it. */
	readonly links: LinkProxy;
	kill(signal?: "SIGKILL" | "SIGTERM"): Promise<void>;
	/** Resolves when it answers. */
	start(): Promise<void>;
	pause(ms: number): Promise<void>;
	err(): string;
	/** When its processes were killed. */
	readonly deaths: ReadonlyMap<number, number>;
}

/** Far more than draining and closing may take. */
const STOP_MS = 60_000;

const CLOCK = preload("skewed-clock-preload.ts");
const WITHOUT = preload("without-preload.ts");

/** As an option of Node, whatever the path has. */
function preload(name: string): string {
	return `--import ${JSON.stringify(fileURLToPath(new URL(name, import.meta.url)))}`;
}

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
	const postgres = await startPostgres();
	atEnd(() => postgres.stop());
	const url = await postgres.database();
	const workspace = tempDir("workspace");
	const tokens = new Map<string, string>();
	await withDatabase(parseDatabaseUrl(url), async (client) => {
		for (const name of options.principals ?? ["ann"])
			tokens.set(name, await addToken(client, name));
	});
	const servers: ClusterServer[] = [];
	for (let index = 0; index < options.servers + (options.spares ?? 0); index++) {
		const proxy = await startSocketProxy(join(postgres.folder, `p${index}`), postgres);
		const links = await startLinkProxy();
		servers.push(createServer(index, { url, proxy, links, postgres, options }));
	}
	await Promise.all(servers.slice(0, options.servers).map((server) => server.start()));
	return {
		postgres,
		url,
		workspace,
		tokens,
		servers,
		async close() {
			await Promise.all(servers.map((server) => server.kill()));
			for (const { proxy, links } of servers) {
				proxy.close();
				links.close();
			}
			await postgres.stop();
		},
	};
}

function createServer(
	index: number,
	given: {
		url: string;
		proxy: SocketProxy;
		links: LinkProxy;
		postgres: TestPostgres;
		options: ClusterOptions;
	},
): ClusterServer {
	const { url, proxy, links, postgres, options } = given;
	const agentDir = tempDir(`agent-${index}`);
	mkdirSync(agentDir, { recursive: true });
	const database = url.replace(
		encodeURIComponent(postgres.socketFolder),
		encodeURIComponent(proxy.folder),
	);
	const clock = options.clocks?.[index];
	const { without } = options;
	const preloads = [...(clock ? [CLOCK] : []), ...(without ? [WITHOUT] : [])];
	let life: ServeProcess | undefined;
	let address: string | undefined;
	let errors = "";
	const deaths = new Map<number, number>();
	return {
		deaths,
		proxy,
		links,
		get address() {
			return address;
		},
		get pid() {
			return life?.child.pid;
		},
		err: () => errors + (life?.err() ?? ""),
		async start() {
			const words = ["--port", "0", "--json", "--demo", "never", "--shared-workspaces"];
			words.push("--advertise", `ws://127.0.0.1:${links.port}/`);
			words.push("--lease", String(options.leaseMs / 1_000));
			words.push("--limit", `drainMs=${options.drainMs ?? 500}`);
			words.push(...(options.words ?? []), ...(options.wordsOf?.[index] ?? []));
			const begun = startServe(words, {
				agentDir,
				env: {
					STRATA_DATABASE: database,
					...(without && { STRATA_TEST_WITHOUT: without }),
					...(clock && { STRATA_TEST_CLOCK: clock.join(",") }),
					...(preloads.length > 0 && { NODE_OPTIONS: preloads.join(" ") }),
				},
			});
			life = begun;
			const port = await Promise.race([
				begun.ready().then((ready) => ready.port),
				begun.exited.then(() => undefined),
			]);
			if (port === undefined && life === begun) life = undefined;
			if (life !== begun) return;
			address = `ws://127.0.0.1:${port}/`;
			links.target = port;
		},
		async kill(signal = "SIGKILL") {
			const dying = life;
			life = undefined;
			address = undefined;
			links.target = undefined;
			dying?.child.kill(signal);
			const ended = dying && (await inTime(dying.exited, STOP_MS));
			if (dying && !ended) {
				dying.child.kill("SIGKILL");
				throw new Error(`the server did not end: ${dying.err()}`);
			}
			if (dying?.child.pid !== undefined) deaths.set(dying.child.pid, Date.now());
			errors += dying?.err() ?? "";
		},
		async pause(ms) {
			const { pid } = life?.child ?? {};
			if (pid === undefined) return;
			process.kill(pid, "SIGSTOP");
			await sleep(ms);
			try {
				process.kill(pid, "SIGCONT");
			} catch {
				// It was killed meanwhile.
			}
		},
	};
}
