import { normalizedOrigin } from "../core/http-access.ts";
import { isEveryAddress, isLoopback } from "../core/loopback.ts";
import type { DatabaseAddress } from "./journal/postgres/database-url.ts";
import type { ServerLimits } from "./limits.ts";
import type { Stdio } from "./transports/line-transports.ts";

export interface DatabaseOptions {
	readonly address: DatabaseAddress;
	/** Where clients reach this server. Default: where it listens. */
	readonly advertise?: string;
	/** How long the others wait for a server that does not answer. */
	readonly leaseMs?: number;
	/** Other machines can reach the same working trees, so tools end with the lease. */
	readonly sharesWorkspaces?: boolean;
	/** Folders whose sessions this server takes. Default: all that it has. */
	readonly workspaces?: readonly string[];
	/** A pure gateway: it routes, and takes no sessions. */
	readonly takesNoSessions?: boolean;
	/** File with the secret of the servers' links. Default: one in the database. */
	readonly secretFile?: string;
	/** Allows links without TLS to other machines. */
	readonly allowsPlainLinks?: boolean;
}

export interface ServerOptions {
	/** Folder of journal, lock and tokens. One server can use it at a time. */
	readonly dataDir: string;
	/** Pi's agent folder: models, keys, settings, session files. */
	readonly agentDir: string;
	/** Clients may open session files in `.pi/sessions` of this folder and of its parents. */
	readonly cwd: string;
	/** Folder of sessions that are created without `cwd`. If absent, `cwd` is required. */
	readonly startFolder?: string;
	/** Whether to run the scripted model. `auto`: if no other model is set up. */
	readonly demo: "auto" | "always" | "never";
	/** Whether clients may load a project's own settings and extensions, which run its code. */
	readonly allowProjectTrust: boolean;
	/** Address for HTTP and WebSocket. Port 0 means any free port. */
	readonly listen?: { port: number; host: string; tls?: { cert: string; key: string } };
	readonly socketPath?: string;
	readonly stdio?: Stdio;
	/** `none`: every client is the principal `local`. A missing token file is created. */
	readonly auth: "none" | { tokenFile: string };
	/** Allowed page origins besides the server's own. */
	readonly origins: readonly string[];
	/** The database of several servers. Without it, the journal is in `dataDir`. */
	readonly database?: DatabaseOptions;
	readonly limits: ServerLimits;
	pageFolder?: string;
	/** Reports a problem outside of any command, in one line. */
	warn(line: string): void;
	onStdioEnd?(): void;
}

/** Normalizes the origins. Throws a one-line error if options are unsafe or nothing would listen. */
export function checkedOptions(options: ServerOptions): ServerOptions {
	const { listen, socketPath, stdio, auth } = options;
	if (!listen && socketPath === undefined && !stdio) {
		throw new Error("the server has nothing to listen on: set a port, a socket or stdio");
	}
	if (listen && !isLoopback(listen.host)) {
		if (auth === "none") {
			throw new Error(
				`--auth none is allowed only for loopback and sockets, but other machines can reach ${listen.host}; use --auth token`,
			);
		}
		if (!listen.tls) {
			throw new Error(
				`other machines can reach ${listen.host}, so it needs --tls-cert and --tls-key; or listen on 127.0.0.1`,
			);
		}
	}
	if (options.database) checkAdvertised(options.database.advertise, listen);
	return { ...options, origins: options.origins.map(normalizedOrigin) };
}

const EXAMPLE = "--advertise wss://one.example.org:3141/";

/** Other servers and their clients use this address. */
function checkAdvertised(given: string | undefined, listen: ServerOptions["listen"]): void {
	if (given === undefined) {
		if (!listen || !isEveryAddress(listen.host)) return;
		throw new Error(
			`other servers cannot reach this one at ${listen.host}; name its address, as in ${EXAMPLE}`,
		);
	}
	const url = /^(ws|http)s?:\/\//.test(given) && URL.canParse(given) ? new URL(given) : undefined;
	if (!url || isEveryAddress(url.hostname)) {
		throw new Error(
			`--advertise must be an address that other servers can reach, as in ${EXAMPLE}; got "${given}"`,
		);
	}
	if (url.username !== "" || url.password !== "") {
		throw new Error(`--advertise must have no user and no password, as in ${EXAMPLE}`);
	}
}
