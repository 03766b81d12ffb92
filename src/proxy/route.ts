import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isLoopback, parseHost } from "../core/loopback.ts";
import type { Refusal } from "./refusal.ts";
import type { Upstream, Upstreams } from "./upstreams.ts";

/** Where a request goes. */
export interface Route {
	readonly upstream: Upstream;
	/** The provider's own path, without its query. */
	readonly path: string;
	/** What the request line has: prefix, path and query. */
	readonly target: string;
}

/** What a decision about a request takes from it. */
interface RequestHead {
	readonly url?: string | undefined;
	readonly headers: IncomingHttpHeaders;
}

interface RouteOptions {
	readonly port: number;
	/** First segment of every path. */
	readonly secret?: string | undefined;
	readonly upstreams: Upstreams;
}

/** Decides where a request goes, or why it goes nowhere. */
export function routeOf({ url = "", headers }: RequestHead, options: RouteOptions) {
	return foreign(headers, options.port) ?? routeTo(url, headers, options);
}

/** A page of the web must not spend the user's money: neither by rebinding DNS nor from afar. */
function foreign(headers: IncomingHttpHeaders, port: number): Refusal | undefined {
	const host = parseHost(headers.host);
	if (!host || !isLoopback(host.name) || (host.port ?? 80) !== port) {
		return forbidden("host", "the Host header does not name this proxy");
	}
	const { origin } = headers;
	const isOwn =
		origin === undefined || (URL.canParse(origin) && isLoopback(new URL(origin).hostname));
	if (!isOwn || headers["sec-fetch-site"] === "cross-site") {
		return forbidden("origin", "web pages may not use this proxy");
	}
	return undefined;
}

function routeTo(
	url: string,
	headers: IncomingHttpHeaders,
	{ secret, upstreams }: RouteOptions,
): Route | Refusal {
	const { path, query } = splitUrl(url);
	const [empty, ...segments] = path.split("/");
	if (empty !== "") return notFound("path", "the path must begin with a slash");
	if (secret !== undefined && !isSame(segments.shift() ?? "", secret)) {
		return notFound("secret", "no such path");
	}
	const named = upstreams.get(segments.shift() ?? "");
	if (!named) {
		const known = [...upstreams.keys()].map((name) => `/${name}`).join(", ");
		return notFound("upstream", `the path must begin with one of ${known}`);
	}
	// Otherwise the path could leave the upstream's prefix, or be read as a host.
	if (segments.some(isDots) || (segments[0] === "" && segments.length > 1)) {
		return notFound("path", "the path has empty or dot segments");
	}
	const rest = `/${segments.join("/")}`;
	const { upstream, own } = forLogin(named, rest, headers, upstreams);
	return { upstream, path: own, target: upstream.prefix + own + query };
}

/** Codex sends a ChatGPT login to the same base URL as a key, but it is valid at ChatGPT only. */
function forLogin(
	named: Upstream,
	path: string,
	headers: IncomingHttpHeaders,
	upstreams: Upstreams,
): { upstream: Upstream; own: string } {
	const chatgpt = upstreams.get("chatgpt");
	const isLogin = headers["chatgpt-account-id"] !== undefined;
	if (named.name !== "openai" || named.isConfigured || !isLogin || !chatgpt) {
		return { upstream: named, own: path };
	}
	return { upstream: chatgpt, own: path.replace(/^\/v1(?=\/|$)/, "") || "/" };
}

function splitUrl(url: string): { path: string; query: string } {
	const at = url.search(/[?#]/);
	return at < 0 ? { path: url, query: "" } : { path: url.slice(0, at), query: url.slice(at) };
}

function isDots(segment: string): boolean {
	const decoded = segment.replaceAll(/%2e/gi, ".").replaceAll(/%2f|%5c|\\/gi, "/");
	return decoded.split("/").some((part) => part === "." || part === "..");
}

/** Takes the same time wherever the two differ. */
function isSame(given: string, secret: string): boolean {
	const digest = (text: string) => createHash("sha256").update(text).digest();
	return timingSafeEqual(digest(given), digest(secret));
}

function forbidden(reason: string, message: string): Refusal {
	return { status: 403, reason, message };
}

function notFound(reason: string, message: string): Refusal {
	return { status: 404, reason, message };
}
