import { isIP } from "node:net";

/** Whether a host to listen on can be reached from this machine only. */
export function isLoopback(host: string): boolean {
	const bare = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
	return bare === "localhost" || bare === "::1" || (isIP(bare) === 4 && bare.startsWith("127."));
}

/** Which names and origins a request may carry. */
export interface HostRules {
	/** What the server listens on. */
	readonly host: string;
	/** Origins of pages that may connect beside the server's own, normalized (`https://example.org`). */
	readonly origins: readonly string[];
	/** Whether the server itself speaks TLS. */
	readonly tls: boolean;
}

/**
 * Whether the `Host` header names this server. A page of a stranger whose name was pointed at this machine (DNS
 * rebinding) carries the stranger's name here; an address written in figures cannot be pointed anywhere.
 */
export function isOwnHost(header: string | undefined, { host, origins }: HostRules): boolean {
	const name = hostName(header);
	if (name === undefined) return false;
	if (isLoopback(name) || name === host.toLowerCase()) return true;
	if (origins.some((origin) => new URL(origin).hostname.toLowerCase() === name)) return true;
	return !isLoopback(host) && isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
}

/**
 * Whether a browser's page of this origin may talk to the server: the server's own page, or a listed one. `host` is the
 * request's `Host` header, checked before. Programs that are no browsers send no origin.
 */
export function isAllowedOrigin(origin: string | undefined, host: string, rules: HostRules) {
	if (origin === undefined) return true;
	const own = `${rules.tls ? "https" : "http"}://${host}`;
	return origin.toLowerCase() === own.toLowerCase() || rules.origins.includes(origin);
}

/** An origin as browsers send it. Throws for what is none. */
export function normalizedOrigin(origin: string): string {
	const url = URL.canParse(origin) ? new URL(origin) : undefined;
	const isOrigin =
		url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/` && !url.username;
	if (!isOrigin) {
		throw new Error(`origin "${origin}" must look like https://example.org or http://host:8080`);
	}
	return url.origin;
}

/** The name in a `Host` header, in lower case and without its port. */
function hostName(header: string | undefined): string | undefined {
	const match = /^(\[[0-9a-f:.]+\]|[^\s:/@\\?#]+)(?::\d{1,5})?$/i.exec(header ?? "");
	return match?.[1]?.toLowerCase();
}
