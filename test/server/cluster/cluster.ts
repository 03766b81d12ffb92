import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseDatabaseUrl } from "../../../src/server/journal/postgres/database-url.ts";
import { addToken, withDatabase } from "../../../src/server/journal/postgres/token-table.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { type ServeProcess, startServe } from "../support/serve-process.ts";
import { type SocketProxy, startSocketProxy } from "./socket-proxy.ts";

export interface ClusterOptions {
	readonly servers: number;
	readonly leaseMs: number;
	/** As `STRATA_TEST_WITHOUT`. */
	readonly without?: string;
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
	readonly proxy: SocketProxy;
	kill(signal?: "SIGKILL" | "SIGTERM"): Promise<void>;
	/** Resolves when it answers. */
	start(): Promise<void>;
	pause(ms: number): Promise<void>;
	err(): string;
	/** When its processes were killed. */
	readonly deaths: ReadonlyMap<number, number>;
}

const PRELOAD = fileURLToPath(new URL("skewed-clock-preload.ts", import.meta.url));

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
	for (let index = 0; index < options.servers; index++) {
		const proxy = await startSocketProxy(join(postgres.folder, `p${index}`), postgres);
		servers.push(createServer(index, { url, proxy, postgres, options }));
	}
	await Promise.all(servers.map((server) => server.start()));
	return {
		postgres,
		url,
		workspace,
		tokens,
		servers,
		async close() {
			await Promise.all(servers.map((server) => server.kill()));
			for (const { proxy } of servers) proxy.close();
			await postgres.stop();
		},
	};
}

function createServer(
	index: number,
	given: { url: string; proxy: SocketProxy; postgres: TestPostgres; options: ClusterOptions },
): ClusterServer {
	const { url, proxy, postgres, options } = given;
	const agentDir = tempDir(`agent-${index}`);
	mkdirSync(agentDir, { recursive: true });
	const database = url.replace(
		encodeURIComponent(postgres.socketFolder),
		encodeURIComponent(proxy.folder),
	);
	const clock = options.clocks?.[index];
	let life: ServeProcess | undefined;
	let address: string | undefined;
	let errors = "";
	const deaths = new Map<number, number>();
	return {
		deaths,
		proxy,
		get address() {
			return address;
		},
		get pid() {
			return life?.child.pid;
		},
		err: () => errors + (life?.err() ?? ""),
		async start() {
			const words = ["--port", "0", "--json", "--demo", "never", "--shared-workspaces"];
			const begun = startServe(
				[...words, "--lease", String(options.leaseMs / 1_000), "--limit", "drainMs=500"],
				{
					agentDir,
					env: {
						STRATA_DATABASE: database,
						...(options.without && { STRATA_TEST_WITHOUT: options.without }),
						...(clock && {
							STRATA_TEST_CLOCK: clock.join(","),
							NODE_OPTIONS: `--import ${JSON.stringify(PRELOAD)}`,
						}),
					},
				},
			);
			life = begun;
			const port = await Promise.race([
				begun.ready().then((ready) => ready.port),
				begun.exited.then(() => undefined),
			]);
			if (port === undefined && life === begun) life = undefined;
			if (life === begun) address = `ws://127.0.0.1:${port}/`;
		},
		async kill(signal = "SIGKILL") {
			const dying = life;
			life = undefined;
			address = undefined;
			dying?.child.kill(signal);
			await dying?.exited;
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
