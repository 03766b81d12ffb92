import type { IncomingHttpHeaders } from "node:http";
import { type HostRules, isAllowedOrigin, isOwnHost } from "./host.ts";
import type { Tokens } from "./token-file.ts";

/** The subprotocol that browsers ask for beside the one that carries their token. It is the only one echoed. */
export const SUBPROTOCOL = "strata.v1";
const TOKEN_SUBPROTOCOL = "strata.token.";

/** Decides about requests by their headers alone. */
export interface Access {
	/** Whether the request may be answered at all: it names this server, and no stranger's page sent it. */
	admits(headers: IncomingHttpHeaders): { ok: true } | { ok: false; why: string };
	/** Whose request it is; `undefined` without a valid token. */
	principalOf(headers: IncomingHttpHeaders): string | undefined;
}

export interface AccessOptions extends HostRules {
	/** `none`: everybody who reaches the server is the principal `local`. */
	readonly tokens: Tokens | "none";
}

export function createAccess(options: AccessOptions): Access {
	return {
		admits({ host, origin }) {
			if (!isOwnHost(host, options)) {
				return { ok: false, why: "this server does not go by the name in the Host header" };
			}
			if (!isAllowedOrigin(origin, host ?? "", options)) {
				return { ok: false, why: "pages of this origin may not connect; allow it with --origin" };
			}
			return { ok: true };
		},
		principalOf(headers) {
			if (options.tokens === "none") return "local";
			const token = tokenIn(headers);
			return token === undefined ? undefined : options.tokens.principalOf(token);
		},
	};
}

/** The token of a request: a bearer, or of a browser's WebSocket, which can set no header, a subprotocol. Never the query. */
export function tokenIn(headers: IncomingHttpHeaders): string | undefined {
	const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
	if (bearer !== undefined) return bearer;
	const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
	return offered
		.find((name) => name.startsWith(TOKEN_SUBPROTOCOL))
		?.slice(TOKEN_SUBPROTOCOL.length);
}
