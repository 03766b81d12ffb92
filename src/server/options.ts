import { isLoopback, normalizedOrigin } from "./auth/access.ts";
import type { ServerLimits } from "./limits.ts";
import type { Stdio } from "./transports/line-transports.ts";

export interface ServerOptions {
	/** Folder of journal, lock and tokens. One server uses it at a time. */
	readonly dataDir: string;
	/** Pi's agent folder: models, keys, settings, session files. */
	readonly agentDir: string;
	/** Session files in `.pi/sessions` here or in a parent may be opened. */
	readonly cwd: string;
	/** For sessions that name no folder; without it, they must name one. */
	readonly startFolder?: string;
	/** Whether to run the scripted model. `auto`: if no other is set up. */
	readonly demo: "auto" | "always" | "never";
	/** Whether clients may load a project's own settings and extensions, which run its code. */
	readonly allowProjectTrust: boolean;
	/** Where HTTP and WebSocket listen; port 0 means any free port. */
	readonly listen?: { port: number; host: string; tls?: { cert: string; key: string } };
	readonly socketPath?: string;
	readonly stdio?: Stdio;
	/** `none`: every client is the principal `local`. A missing token file is created. */
	readonly auth: "none" | { tokenFile: string };
	/** Allowed page origins besides the server's own. */
	readonly origins: readonly string[];
	readonly limits: ServerLimits;
	pageFolder?: string;
	/** Reports problems outside of any command, in one line. */
	warn(line: string): void;
	onStdioEnd?(): void;
}

/** Normalizes the origins. Throws a one-line error for an unsafe or useless combination. */
export function checkedOptions(options: ServerOptions): ServerOptions {
	const { listen, socketPath, stdio, auth } = options;
	if (!listen && socketPath === undefined && !stdio) {
		throw new Error("nothing to listen on: set a port, a socket or stdio");
	}
	if (listen && !isLoopback(listen.host)) {
		if (auth === "none") {
			throw new Error(
				`--auth none is for loopback and sockets only, and ${listen.host} can be reached by others; use a token`,
			);
		}
		if (!listen.tls) {
			throw new Error(
				`${listen.host} can be reached by others, so it needs --tls-cert and --tls-key; or listen on 127.0.0.1`,
			);
		}
	}
	return { ...options, origins: options.origins.map(normalizedOrigin) };
}
