import { isLoopback, normalizedOrigin } from "./auth/access.ts";
import type { DemoMode } from "./demo/open-demo.ts";
import type { ServerLimits } from "./limits.ts";
import type { Stdio } from "./transports/line-transports.ts";

/** How a server is to run. */
export interface ServerOptions {
	/** The server's own folder: journal, lock, tokens. One server has it at a time. */
	dataDir: string;
	/** Pi's agent folder: models, keys, settings, session files. */
	agentDir: string;
	/** The folder it was started in: session files in its `.pi/sessions`, or in one above it, may be opened. */
	cwd: string;
	/** Where sessions start that name no folder; without one they must. */
	startFolder?: string;
	/** When a scripted model on sample projects takes the place of the user's models. */
	demo: DemoMode;
	/** Whether clients may have settings and extensions loaded that a project brings itself; those run code of it. */
	allowProjectTrust: boolean;
	/** For HTTP and WebSocket; port 0 takes a free one. */
	listen?: { port: number; host: string; tls?: { cert: string; key: string } };
	/** For a Unix socket. */
	socketPath?: string;
	/** For the process that started this one. */
	stdio?: Stdio;
	/** `none`: whoever connects is the principal `local`. Otherwise the file with the tokens, made if it is missing. */
	auth: "none" | { tokenFile: string };
	/** Origins of pages that may connect beside the server's own. */
	origins: readonly string[];
	limits: ServerLimits;
	/** The folder of the built dashboard, if there is one. */
	pageFolder?: string;
	/** Told what goes wrong beside any command, in one line. */
	warn(line: string): void;
	/** The last client of stdio is gone. */
	onStdioEnd?(): void;
}

/** The options with their origins normalized. Throws one clear line for a combination that would be unsafe or useless. */
export function checkedOptions(options: ServerOptions): ServerOptions {
	const { listen, socketPath, stdio, auth } = options;
	if (!listen && socketPath === undefined && !stdio) {
		throw new Error("nothing to listen on: give a port, a socket or stdio");
	}
	if (listen && !isLoopback(listen.host)) {
		if (auth === "none") {
			throw new Error(
				`--auth none is for loopback and sockets only, ${listen.host} can be reached by others; use a token`,
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
