import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { isLoopback, parseHost } from "./loopback.ts";
import type { Tokens } from "./token-file.ts";

/** Browsers offer this subprotocol and another that holds their token. The server selects only this one. */
export const SUBPROTOCOL = "strata.v1";
const TOKEN_SUBPROTOCOL = "strata.token.";

export type Access = ReturnType<typeof createAccess>;

interface AccessOptions {
	readonly host: string;
	/** Allowed page origins besides the server's own, normalized (`https://example.org`). */
	readonly origins: readonly string[];
	readonly tls: boolean;
	/** `none`: every client is the principal `local`. */
	readonly tokens: Pick<Tokens, "principalOf"> | "none";
}

export function createAccess(options: AccessOptions) {
	return {
		/** Admits requests that name this server (`Host`) and come from no foreign page (`Origin`). */
		admits({ host, origin }: IncomingHttpHeaders): { ok: true } | { ok: false; why: string } {
			if (!isOwnHost(host, options)) {
				return { ok: false, why: "the Host header does not name this server" };
			}
			// Clients other than browsers send no `Origin`.
			const own = `${options.tls ? "https" : "http"}://${host}`;
			const isOwn = origin === undefined || origin.toLowerCase() === own.toLowerCase();
			if (!isOwn && !options.origins.includes(origin)) {
				return { ok: false, why: "pages of this origin may not connect; allow them with --origin" };
			}
			return { ok: true };
		},
		/** Returns `undefined` without a valid token; always `local` if no tokens are required. */
		principalOf(headers: IncomingHttpHeaders): string | undefined {
			if (options.tokens === "none") return "local";
			const token = tokenIn(headers);
			return token === undefined ? undefined : options.tokens.principalOf(token);
		},
	};
}

/** Reads the bearer header or, as browsers cannot set WebSocket headers, a subprotocol. Never the query. */
export function tokenIn(headers: IncomingHttpHeaders): string | undefined {
	const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
	if (bearer !== undefined) return bearer;
	const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
	const carrier = offered.find((name) => name.startsWith(TOKEN_SUBPROTOCOL));
	return carrier?.slice(TOKEN_SUBPROTOCOL.length);
}

/** Detects DNS rebinding, which leaves a foreign name in `Host`. A numeric address cannot be rebound. */
function isOwnHost(header: string | undefined, { host, origins }: AccessOptions): boolean {
	const name = parseHost(header)?.name;
	if (name === undefined) return false;
	if (isLoopback(name) || name === host.toLowerCase()) return true;
	if (origins.some((origin) => new URL(origin).hostname.toLowerCase() === name)) return true;
	return !isLoopback(host) && isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
}

/** Returns the origin in the form that browsers send. Throws if invalid. */
export function normalizedOrigin(origin: string): string {
	const url = URL.canParse(origin) ? new URL(origin) : undefined;
	const isOrigin =
		url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/` && !url.username;
	if (!isOrigin) {
		throw new Error(`origin "${origin}" must look like https://example.org or http://host:8080`);
	}
	return url.origin;
}
