import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { writeFileAtomic } from "../core/atomic-file.ts";
import { describeError } from "../core/errno.ts";
import { inTime } from "../core/in-time.ts";
import { packageFolder } from "../core/package-info.ts";
import { agentFolder, configuredFolder, userFolder } from "../core/places.ts";
import { serverFolderIn } from "../core/server-address.ts";
import { TOOL_MARK } from "../core/tool-mark.ts";
import {
	type Command,
	FLAG,
	type OptionValues,
	TEXT,
	TEXTS,
	type Terminal,
	UsageError,
} from "./command.ts";
import { databaseOption } from "./database.ts";
import { explainPi, installedPi, serveFault } from "./installed-pi.ts";
import { oneOf, portIn } from "./option-values.ts";
import { watchSignals } from "./signals.ts";

type ServerModule = typeof import("../server/index.ts");
type ServerOptions = Parameters<ServerModule["startServer"]>[0];

const DEFAULT_PORT = 3141;
const DEFAULT_HOST = "127.0.0.1";
const GRACE_MS = 500;
const STOP_MS = 5_000;

/** Default folder for tokens, journal and demo projects; `--data-dir` overrides it. */
export function serverFolder(env: NodeJS.ProcessEnv): string {
	return serverFolderIn(agentFolder(env));
}

export const serve: Command = {
	name: "serve",
	usage:
		"[--port 3141] [--host 127.0.0.1] [--stdio] [--socket <path>] [--token-file <file>] [--auth token|none] " +
		"[--origin <origin>…] [--data-dir <folder>] [--tls-cert <file> --tls-key <file>] [--limit <name=number>…] " +
		"[--demo auto|always|never] [--allow-project-trust] [--stop-when-idle <seconds>] [--no-dashboard] [--open] [--json] " +
		"[--database <url> [--advertise <address>] [--lease <seconds>] [--shared-workspaces] [--workspace <folder>…] " +
		"[--no-sessions] [--cluster-secret-file <file>] [--plain-links]]",
	details: [
		"",
		"By default the server listens on 127.0.0.1:3141 (or the port in PI_SERVER_PORT) and prints the address",
		"of its dashboard. With --stdio or --socket it opens a port only if you set one. Clients need a token from",
		"the token file (name:token lines; created with one entry if missing); --auth none is for loopback and",
		"sockets. Addresses other than loopback need --tls-cert and --tls-key. --origin lets pages of another",
		"origin connect. --limit sets a bound, e.g. maxSessions=20 or commandsPerMinute=600;",
		"STRATA_SERVER_LIMITS takes several, separated by commas.",
		"Sessions use pi's models and keys. Without any, they use a scripted demo model on a sample project",
		"(--demo never turns this off, --demo always uses only the demo model). A session without a folder starts",
		"in the folder where you ran strata or npm, or in no folder if that is pi-strata's own.",
		"--allow-project-trust lets clients load a project's own settings, extensions and skills.",
		"In a clone, the dashboard is built on first use. --no-dashboard turns it off, --open opens it in the",
		'browser. --json prints one line when the server is ready: {"type":"ready","port":3141,…}.',
		"--stop-when-idle ends the server when it had neither a client nor a run for that long.",
		"--database postgres://user@host/name (or STRATA_DATABASE) keeps journal, sessions and conversations in a",
		"PostgreSQL database that several servers share; each session is on one of them at a time. The password",
		"goes into STRATA_DATABASE, PGPASSWORD or ~/.pgpass. --advertise is where clients reach this server,",
		"--lease how long the others wait for one that is silent (15 seconds). --shared-workspaces says that other",
		"servers see the same working trees, so tools end with the lease. Any server takes any client and sends its",
		"commands to the server that has the session. --workspace names a folder whose sessions this server takes",
		"(default: all that it has), --no-sessions makes it a gateway that takes none. Servers are linked at their",
		"advertised addresses, with a secret from the database or from --cluster-secret-file; links to other machines",
		"need TLS, unless --plain-links says that their network is private.",
		"SIGTERM and SIGINT stop the server gracefully; a second one stops it at once.",
	],
	options: {
		port: TEXT,
		host: TEXT,
		stdio: FLAG,
		socket: TEXT,
		"token-file": TEXT,
		auth: TEXT,
		origin: TEXTS,
		"data-dir": TEXT,
		"tls-cert": TEXT,
		"tls-key": TEXT,
		limit: TEXTS,
		demo: TEXT,
		database: TEXT,
		advertise: TEXT,
		lease: TEXT,
		"shared-workspaces": FLAG,
		workspace: TEXTS,
		"no-sessions": FLAG,
		"cluster-secret-file": TEXT,
		"plain-links": FLAG,
		"allow-project-trust": FLAG,
		"stop-when-idle": TEXT,
		"no-dashboard": FLAG,
		open: FLAG,
		json: FLAG,
	},
	async run(values, _words, terminal) {
		const fault = serveFault(installedPi());
		if (fault !== undefined) throw new Error(fault);
		const server = await import("../server/index.ts").catch((error: unknown) => {
			throw explainPi(error);
		});
		const options = serverOptions(values, terminal, server);
		// A server in the background outlives the reader of its warnings.
		process.stderr.on("error", () => {});
		const idleMs = idleTime(values["stop-when-idle"]);
		if (options.listen && !values["no-dashboard"]) {
			const { folder, missing } = await dashboardPage(() => {
				terminal.progress?.("building the dashboard (once)");
			});
			terminal.progress?.("");
			options.pageFolder = folder;
			if (missing) options.warn(missing);
		}
		const stopAsked = Promise.withResolvers<string>();
		if (options.stdio) options.onStdioEnd = () => stopAsked.resolve("standard input ended");
		const running = await server.startServer(options);
		try {
			watchSignals(stopAsked.resolve);
			await Promise.race([running.ready, stopAsked.promise]);
			await announce({ values, terminal, options, running });
			if (idleMs !== undefined) stopWhenIdle(running, idleMs, stopAsked.resolve);
			const reason = await stopAsked.promise;
			await running.stop(reason);
			// Exits even if an extension left something open. The timer itself does not keep the process alive.
			setTimeout(() => process.exit(), GRACE_MS).unref();
			return 0;
		} catch (error) {
			await inTime(running.stop("the server could not start"), STOP_MS).catch(() => {});
			throw error;
		} finally {
			await rm(launchPage(options.dataDir), { force: true }).catch(() => {});
		}
	},
};

function idleTime(value: OptionValues[string]): number | undefined {
	if (value === undefined) return undefined;
	const seconds = Number(value);
	if (/^\d{1,6}$/.test(String(value)) && seconds > 0) return seconds * 1000;
	throw new UsageError(`--stop-when-idle must be a number of seconds, got "${value}"`);
}

/** Checks ten times in that period. */
function stopWhenIdle(
	running: { isIdle(): boolean },
	idleMs: number,
	stop: (reason: string) => void,
): void {
	let idleSinceMs: number | undefined;
	setInterval(() => {
		const nowMs = performance.now();
		idleSinceMs = running.isIdle() ? (idleSinceMs ?? nowMs) : undefined;
		if (idleSinceMs !== undefined && nowMs - idleSinceMs >= idleMs) stop("no client for a while");
	}, idleMs / 10).unref();
}

function serverOptions(
	values: OptionValues,
	terminal: Terminal,
	{ limitsFrom, claimStdio }: ServerModule,
): ServerOptions {
	const { cwd, env } = terminal;
	const path = (name: string) => {
		const value = values[name];
		return value === undefined ? undefined : configuredFolder(String(value), cwd);
	};
	const agentDir = agentFolder(env);
	const dataDir = path("data-dir") ?? serverFolder(env);
	const socketPath = path("socket");
	const startFolder = userFolder(terminal, packageFolder());
	const listen = listenOptions(values, terminal, path);
	const auth = oneOf(values, "auth", ["token", "none"]) ?? "token";
	const demo = oneOf(values, "demo", ["auto", "always", "never"]) ?? "auto";
	const assigned = [
		...(env.STRATA_SERVER_LIMITS ?? "").split(",").filter((text) => text.trim() !== ""),
		...((values.limit as string[] | undefined) ?? []),
	].map((text) => text.trim());
	let limits: ServerOptions["limits"];
	try {
		limits = limitsFrom(assigned);
	} catch (error) {
		throw new UsageError(describeError(error), { cause: error });
	}
	const database = databaseOptions(values, terminal);
	return {
		dataDir,
		agentDir,
		cwd,
		...(database && { database }),
		...(startFolder !== undefined && { startFolder }),
		demo,
		allowProjectTrust: values["allow-project-trust"] === true,
		...(listen && { listen }),
		...(socketPath !== undefined && { socketPath }),
		auth: auth === "none" ? "none" : { tokenFile: path("token-file") ?? join(dataDir, "tokens") },
		origins: (values.origin as string[] | undefined) ?? [],
		limits,
		warn: (line) => terminal.printError(`strata serve: ${line}`),
		...(values.stdio === true && { stdio: claimStdio() }),
	};
}

const MIN_LEASE_SECONDS = 0.5;
const CLUSTER_OPTIONS = [
	"advertise",
	"lease",
	"shared-workspaces",
	"workspace",
	"no-sessions",
	"cluster-secret-file",
	"plain-links",
];

function databaseOptions(values: OptionValues, terminal: Terminal): ServerOptions["database"] {
	const address = databaseOption(values, terminal);
	if (!address) {
		for (const name of CLUSTER_OPTIONS) {
			if (values[name] !== undefined) throw new UsageError(`--${name} needs --database`);
		}
		return undefined;
	}
	const folder = (given: string) => configuredFolder(given, terminal.cwd);
	const secretFile = values["cluster-secret-file"];
	const seconds = Number(values.lease ?? Number.NaN);
	if (values.lease !== undefined && !(seconds >= MIN_LEASE_SECONDS && seconds <= 3_600)) {
		throw new UsageError(
			`--lease must be a number of seconds from ${MIN_LEASE_SECONDS} to 3600, got "${values.lease}"`,
		);
	}
	return {
		address,
		...(values.advertise !== undefined && { advertise: String(values.advertise) }),
		...(values.lease !== undefined && { leaseMs: seconds * 1_000 }),
		...(values["shared-workspaces"] === true && { sharesWorkspaces: true }),
		workspaces: ((values.workspace as string[] | undefined) ?? []).map(folder),
		...(values["no-sessions"] === true && { takesNoSessions: true }),
		...(secretFile !== undefined && { secretFile: folder(String(secretFile)) }),
		...(values["plain-links"] === true && { allowsPlainLinks: true }),
	};
}

function listenOptions(
	values: OptionValues,
	{ env }: Terminal,
	path: (name: string) => string | undefined,
): ServerOptions["listen"] {
	const named = values.port ?? (env.PI_SERVER_PORT || undefined);
	const isOtherwiseReached = values.stdio === true || values.socket !== undefined;
	if (named === undefined && values.host === undefined && isOtherwiseReached) return undefined;
	const where = values.port === undefined ? "PI_SERVER_PORT" : "--port";
	const port = portIn(named ?? DEFAULT_PORT, where);
	const cert = path("tls-cert");
	const key = path("tls-key");
	if ((cert === undefined) !== (key === undefined)) {
		throw new UsageError("--tls-cert and --tls-key must be used together");
	}
	return {
		port,
		host: String(values.host ?? DEFAULT_HOST),
		...(cert !== undefined &&
			key !== undefined && { tls: { cert: readText(cert), key: readText(key) } }),
	};
}

function readText(file: string): string {
	try {
		return readFileSync(file, "utf8");
	} catch (error) {
		throw new Error(`cannot read ${file}: ${describeError(error)}`, { cause: error });
	}
}

interface Announcement {
	readonly values: OptionValues;
	readonly terminal: Terminal;
	readonly options: ServerOptions;
	readonly running: Awaited<ReturnType<ServerModule["startServer"]>>;
}

/** Shows the token only on a terminal, since other output may be stored in a log. */
async function announce({ values, terminal, options, running }: Announcement): Promise<void> {
	const { listen, socketPath, stdio, auth, dataDir } = options;
	const { port, token } = running;
	// With --stdio, standard output belongs to the protocol.
	const say = stdio ? terminal.printError : terminal.print;
	const host = listen && (listen.host.includes(":") ? `[${listen.host}]` : listen.host);
	const url = listen && `${listen.tls ? "https" : "http"}://${host}:${port}/`;
	const tokenFile = token !== undefined && auth !== "none" ? auth.tokenFile : undefined;
	const page = token === undefined ? url : `${url}#token=${token}`;
	if (values.json) {
		const ready = { type: "ready", port, url, socket: socketPath, tokenFile, dataDir };
		say(JSON.stringify({ ...ready, pid: process.pid }));
	} else {
		const isTerminal = stdio ? process.stderr.isTTY : process.stdout.isTTY;
		if (url) say(`strata is listening on ${isTerminal ? page : url}`);
		if (url && tokenFile !== undefined && !isTerminal) say(`token file: ${tokenFile}`);
		if (socketPath !== undefined) say(`strata is listening on ${socketPath}`);
	}
	if (values.open && page) await openBrowser(page, dataDir, terminal);
}

function launchPage(dataDir: string): string {
	return join(dataDir, "open.html");
}

/** Passes the token in a private file, since process arguments are visible to every user. */
export async function openBrowser(
	page: string,
	dataDir: string,
	terminal: Terminal,
): Promise<void> {
	const file = launchPage(dataDir);
	const meta = `<meta http-equiv="refresh" content="0; url=${page}">`;
	await writeFileAtomic(file, `<!doctype html>${meta}<title>strata</title>\n`);
	const [program, ...words] = OPENERS[process.platform] ?? ["xdg-open"];
	const { [TOOL_MARK]: _, ...env } = process.env;
	const browser = spawn(String(program), [...words, pathToFileURL(file).href], {
		env,
		stdio: "ignore",
		detached: true,
	});
	browser.on("error", () =>
		terminal.printError("strata serve: could not open a browser; open the address yourself"),
	);
	browser.unref();
}

const OPENERS: { readonly [Platform in NodeJS.Platform]?: readonly string[] } = {
	darwin: ["open"],
	win32: ["cmd", "/c", "start", ""],
};

/** Finds the built dashboard. In a clone, builds it if it is missing or outdated. */
async function dashboardPage(onBuild: () => void): Promise<{ folder: string; missing?: string }> {
	const here = fileURLToPath(new URL(".", import.meta.url));
	const packed = resolve(here, "..", "dashboard");
	if (isBuilt(packed)) return { folder: packed };
	const root = resolve(here, "..", "..");
	const source = join(root, "src", "dashboard");
	const folder = join(root, "dist", "dashboard");
	if (isBuilt(folder) && !isNewer([source, join(root, "src", "protocol")], folder))
		return { folder };
	try {
		const { build } = await import("vite");
		onBuild();
		// Builds in a separate folder, since another server may be building too, or serving the old page.
		const fresh = `${folder}-${process.pid}`;
		await build({
			root: source,
			configFile: join(source, "vite.config.ts"),
			logLevel: "silent",
			build: { outDir: fresh },
		});
		await rm(folder, { recursive: true, force: true });
		await rename(fresh, folder).catch(() => rm(fresh, { recursive: true, force: true }));
		return { folder };
	} catch (error) {
		if (isBuilt(folder)) return { folder };
		const isAbsent = (error as { code?: unknown }).code === "ERR_MODULE_NOT_FOUND";
		const why = isAbsent ? "its build tools are not installed" : describeError(error);
		const help = "run `npm install --include=dev && npm run dashboard` in the folder of pi-strata";
		return { folder, missing: `the dashboard is missing: ${why}; ${help}` };
	}
}

function isBuilt(folder: string): boolean {
	return existsSync(join(folder, "index.html")) && existsSync(join(folder, "assets"));
}

function isNewer(sources: readonly string[], built: string): boolean {
	const builtMs = statSync(join(built, "index.html")).mtimeMs;
	return sources.some((source) =>
		readdirSync(source, { recursive: true, withFileTypes: true }).some(
			(entry) => entry.isFile() && statSync(join(entry.parentPath, entry.name)).mtimeMs > builtMs,
		),
	);
}
