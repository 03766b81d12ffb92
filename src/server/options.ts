import { isLoopback, normalizedOrigin } from "./auth/access.ts";
import type { ServerLimits } from "./limits.ts";
import type { Stdio } from "./transports/line-transports.ts";

export interface ServerOptions {
	/** Folder for the journal, the lock and the tokens. Only one server can use it at a time. */
	readonly dataDir: string;
	/** Pi's agent folder, which holds its models, keys, settings and session files. */
	readonly agentDir: string;
	/** Clients may open session files in `.pi/sessions` of this folder and of its parents. */
	readonly cwd: string;
	/** Folder of sessions that are created without `cwd`. If absent, `cwd` is required. */
	readonly startFolder?: string;
	/** Whether to run the demo's scripted model. `auto` runs it if no other model is set up. */
	readonly demo: "auto" | "always" | "never";
	/** Whether clients may load a project's own settings and extensions, which run its code. */
	readonly allowProjectTrust: boolean;
	/** Address for HTTP and WebSocket. Port 0 means any free port. */
	readonly listen?: { port: number; host: string; tls?: { cert: string; key: string } };
	readonly socketPath?: string;
	readonly stdio?: Stdio;
	/** With `none`, every client is the principal `local`. A missing token file is created. */
	readonly auth: "none" | { tokenFile: string };
	/** Origins of pages that may connect, in addition to the server's own. */
	readonly origins: readonly string[];
	readonly limits: ServerLimits;
	pageFolder?: string;
	/** Called with one line for each problem that does not belong to a command. */
	warn(line: string): void;
	onStdioEnd?(): void;
}

/** Normalizes the origins. Throws a one-line error for unsafe options, or for nothing to listen on. */
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
	return { ...options, origins: options.origins.map(normalizedOrigin) };
}
