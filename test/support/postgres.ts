import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
	chmodSync,
	chownSync,
	existsSync,
	mkdtempSync,
	openSync,
	readdirSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

/** Where Debian has the programs, and others may. */
const FOLDERS = ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"];

/** The folder of `postgres` and `initdb`, or `undefined` without a Postgres on this machine. */
export const postgresPrograms = findPrograms();

/** The name of a suite that needs Postgres: it says why it is skipped. */
export function withPostgres(name: string): string {
	return postgresPrograms ? name : `${name} (skipped: PostgreSQL is not installed)`;
}

function findPrograms(): string | undefined {
	const named = process.env.STRATA_POSTGRES_BIN;
	if (named) return named;
	for (const folder of FOLDERS.filter((path) => existsSync(path))) {
		const versions = readdirSync(folder).sort(
			(a, b) => Number.parseInt(b, 10) - Number.parseInt(a, 10),
		);
		for (const version of versions) {
			const programs = join(folder, version, "bin");
			if (existsSync(join(programs, "initdb"))) return programs;
		}
	}
	return undefined;
}

/** A Postgres of the tests: on a Unix socket, in a folder of its own, without a password. */
export interface TestPostgres {
	readonly folder: string;
	readonly socketFolder: string;
	readonly port: number;
	readonly pid: number | undefined;
	/** Creates a database and returns its address. */
	database(): Promise<string>;
	/** As a power cut of the process: nothing is written, the next start recovers. */
	kill(): Promise<void>;
	start(): Promise<void>;
	stop(): Promise<void>;
}

const START_MS = 60_000;
const PORT = 5432;
/** At once, and set up to follow. */
const COPY = ["--checkpoint=fast", "--write-recovery-conf"];

/** initdb refuses root, so another user runs it. */
function unprivileged(): { uid: number; gid: number } | undefined {
	if (process.getuid?.() !== 0) return undefined;
	for (const name of ["postgres", "nobody"]) {
		try {
			const id = (flag: string) => Number(execFileSync("id", [flag, name], { stdio: "pipe" }));
			return { uid: id("-u"), gid: id("-g") };
		} catch {
			// the next one
		}
	}
	return undefined;
}

interface PostgresOptions {
	readonly fsync?: boolean;
	/** As `name=value`, after those of the tests. */
	readonly settings?: readonly string[];
	/** Also listens on a port of `localhost`, for clients with TLS and a password. */
	readonly tls?: { readonly cert: string; readonly key: string };
	/** A file for what Postgres logs. */
	readonly log?: string;
	/** A copy of this one that follows it. */
	readonly standbyOf?: TestPostgres;
}

/** `fsync` is off unless asked for: killing processes loses nothing without it, only a power cut would. */
export async function startPostgres({
	fsync = false,
	settings: more = [],
	log,
	tls,
	standbyOf,
}: PostgresOptions = {}): Promise<TestPostgres> {
	if (!postgresPrograms) throw new Error("PostgreSQL is not installed");
	const programs = postgresPrograms;
	const user = unprivileged();
	// A socket's path has at most 107 bytes.
	const folder = mkdtempSync(join(tmpdir(), "strata-pg-"));
	chmodSync(folder, 0o755);
	if (user) chownSync(folder, user.uid, user.gid);
	const data = join(folder, "data");
	const owner = { ...user, cwd: folder, env: { PATH: process.env.PATH, LC_ALL: "C" } };
	const [program, words] = standbyOf
		? ["pg_basebackup", ["-h", standbyOf.socketFolder, "-p", String(standbyOf.port), ...COPY]]
		: ["initdb", ["-A", "trust", "-E", "UTF8", "--locale=C", "-k"]];
	execFileSync(join(programs, program), ["-D", data, "-U", "strata", "--no-sync", ...words], {
		...owner,
		stdio: "pipe",
		timeout: START_MS,
	});
	const watch = watchOver(folder);
	let child: ChildProcess | undefined;
	let exited: Promise<unknown> = Promise.resolve();
	let databases = 0;
	const port = tls ? await freePort() : PORT;
	const url = (name: string) =>
		`postgres://strata@/${name}?host=${encodeURIComponent(folder)}&port=${port}`;
	if (tls) {
		for (const kind of ["cert", "key"] as const) {
			writeFileSync(join(data, `server.${kind}`), tls[kind], { mode: 0o600 });
			if (user) chownSync(join(data, `server.${kind}`), user.uid, user.gid);
		}
		writeFileSync(
			join(data, "pg_hba.conf"),
			"local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n",
		);
	}

	async function start(): Promise<void> {
		const settings = [
			...(tls
				? [
						"ssl=on",
						"ssl_cert_file=server.cert",
						"ssl_key_file=server.key",
						"listen_addresses=127.0.0.1",
					]
				: ["listen_addresses="]),
			`unix_socket_directories=${folder}`,
			`port=${port}`,
			`fsync=${fsync ? "on" : "off"}`,
			"max_connections=200",
			"shared_buffers=32MB",
			"autovacuum_naptime=5s",
			"logging_collector=off",
			...more,
		];
		const started = spawn(
			join(programs, "postgres"),
			["-D", data, ...settings.flatMap((setting) => ["-c", setting])],
			{ ...owner, stdio: ["ignore", "ignore", log === undefined ? "ignore" : openSync(log, "a")] },
		);
		child = started;
		exited = new Promise((resolve) => started.once("exit", resolve));
		const until = performance.now() + START_MS;
		for (;;) {
			const client = new pg.Client({ connectionString: url("postgres") });
			client.on("error", () => {});
			try {
				await client.connect();
				await client.end();
				return;
			} catch (error) {
				await client.end().catch(() => {});
				if (started.exitCode !== null) throw new Error("Postgres did not start", { cause: error });
				if (performance.now() > until) throw error;
				await sleep(20);
			}
		}
	}

	async function end(signal: NodeJS.Signals): Promise<void> {
		child?.kill(signal);
		await exited;
		child = undefined;
	}

	await start();
	return {
		folder,
		socketFolder: folder,
		port,
		get pid() {
			return child?.pid;
		},
		async database() {
			const name = `test_${process.pid}_${++databases}`;
			const client = new pg.Client({ connectionString: url("postgres") });
			await client.connect();
			await client.query(`CREATE DATABASE ${name}`);
			await client.end();
			return url(name);
		},
		kill: () => end("SIGQUIT"),
		start,
		async stop() {
			await end("SIGQUIT");
			watch.end();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

async function freePort(): Promise<number> {
	const server = createServer();
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	await new Promise((resolve) => server.close(resolve));
	return port;
}

/** Ends the Postgres of a folder when this process is gone, however it ended, and removes the folder. */
function watchOver(folder: string): { end(): void } {
	const script = `cat >/dev/null
		pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
		if [ -n "$pid" ] && ps -o args= -p "$pid" | grep -qF "$1/data"; then kill -QUIT "$pid"; sleep 0.5; fi
		rm -rf "$1"`;
	const watcher = spawn("sh", ["-c", script, "sh", folder], {
		stdio: ["pipe", "ignore", "ignore"],
		detached: true,
	});
	watcher.on("error", () => {});
	watcher.stdin.on("error", () => {});
	watcher.unref();
	(watcher.stdin as unknown as { unref(): void }).unref();
	return { end: () => watcher.stdin.end() };
}

let shared: Promise<TestPostgres> | undefined;

/** One Postgres for all files of a worker. It ends with the worker. */
export function sharedPostgres(): Promise<TestPostgres> {
	shared ??= startPostgres();
	return shared;
}

/** Words for `strata serve` in a run of the suites on a database: see the project "postgres" in vitest.config.ts. */
export async function databaseWords(): Promise<string[]> {
	if (!process.env.STRATA_TEST_DATABASE) return [];
	const url = await (await sharedPostgres()).database();
	await onDatabase(url, MOVABLE_CLOCK);
	return ["--database", url];
}

/** Lets time pass by the clock of a database of {@link databaseWords}. Servers learn of it when they renew their leases. */
export async function moveClock(url: string, ms: number): Promise<void> {
	await onDatabase(url, `UPDATE test_clock.ahead SET ms = ms + ${ms}`);
}

/** Later connections find this function before that of Postgres. */
const MOVABLE_CLOCK = `
	CREATE SCHEMA test_clock;
	CREATE TABLE test_clock.ahead AS SELECT 0::float8 AS ms;
	CREATE FUNCTION test_clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
		'SELECT pg_catalog.clock_timestamp() + ms * interval ''1 millisecond'' FROM test_clock.ahead';
	DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET search_path = test_clock, pg_catalog, public', current_database());
	END $$`;

async function onDatabase(url: string, sql: string): Promise<void> {
	const client = new pg.Client({ connectionString: url });
	await client.connect();
	await client.query(sql).finally(() => client.end());
}
