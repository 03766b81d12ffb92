import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { buildConnector, Dispatcher } from "undici";
import { PagingError } from "../errors.ts";
import {
	type AllowedRanges,
	addressRefused,
	displayUrl,
	type IsAllowed,
	isPublicAddress,
	requireAllowedHost,
	requireWebUrl,
	withoutCredentials,
} from "./address.ts";
import type { BodyLimits } from "./body.ts";
import {
	exchange,
	type Fetched,
	fetchError,
	type NotModified,
	type Validators,
} from "./exchange.ts";

export interface SafeFetchOptions extends Omit<BodyLimits, "maxWireBytes"> {
	readonly allowRanges: AllowedRanges;
	readonly userAgent: string;
	/**
	 * Whether to use `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. A proxy resolves names itself, so **the
	 * address behind a name is not checked**; literal addresses, `localhost` and direct connections still are.
	 * Default: false.
	 */
	readonly useProxy?: boolean;
	/** Default: 5. */
	readonly maxRedirects?: number;
	/** Time limit for redirects, headers and body together. */
	readonly timeoutMs: number;
	/** Time limit for opening one connection. Default: 10 s. */
	readonly connectTimeoutMs?: number;
	/** Maximum size of the body as sent, in bytes. Default: the larger of `maxBytes` and `maxPdfBytes`. */
	readonly maxWireBytes?: number;
	/** Default: the system's resolver. */
	readonly resolve?: Resolve;
}

type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface FetchOptions {
	readonly signal?: AbortSignal | undefined;
	/** The validators of the cached copy, such as an earlier {@link Fetched}. */
	readonly validators?: Validators | undefined;
}

/** Fetches web resources; addresses and responses are untrusted. The network library loads on first use. */
export class SafeFetch {
	readonly #options: SafeFetchOptions;
	readonly #isAllowed: IsAllowed;
	readonly #closing = new AbortController();
	#dispatcher: Promise<Dispatcher> | undefined;

	constructor(options: SafeFetchOptions) {
		this.#options = options;
		this.#isAllowed = (address) => isPublicAddress(address, options.allowRanges);
	}

	/** Sends nothing that identifies the user. Throws only {@link PagingError}. */
	async fetch(url: URL, { signal, validators }: FetchOptions = {}): Promise<Fetched | NotModified> {
		const { timeoutMs } = this.#options;
		const name = displayUrl(url);
		const timeout = new AbortController();
		const timer = setTimeout(() => timeout.abort(), timeoutMs);
		const ours = [timeout.signal, this.#closing.signal];
		const stop = AbortSignal.any(signal ? [...ours, signal] : ours);
		const stopped = Promise.withResolvers<never>();
		stop.addEventListener("abort", stopped.reject);
		try {
			stop.throwIfAborted();
			// Name resolution cannot be aborted, so an abort only ends the wait for it.
			return await Promise.race([this.#load(url, validators, stop), stopped.promise]);
		} catch (error) {
			if (!stop.aborted) throw fetchError(error, url);
			if (!timeout.signal.aborted) throw new PagingError("aborted", `Reading ${name} was stopped.`);
			const message = `${name} did not arrive within ${timeoutMs / 1000} s. Try again later.`;
			throw new PagingError("timeout", message);
		} finally {
			clearTimeout(timer);
			stop.removeEventListener("abort", stopped.reject);
		}
	}

	/** Requests in flight fail as `aborted`. */
	async close(): Promise<void> {
		this.#closing.abort();
		await (await this.#dispatcher)?.destroy();
	}

	async #load(start: URL, validators: Validators | undefined, signal: AbortSignal) {
		const { userAgent, useProxy = false, maxRedirects = 5, maxBytes, maxPdfBytes } = this.#options;
		const { maxWireBytes = Math.max(maxBytes, maxPdfBytes) } = this.#options;
		const limits = { maxBytes, maxPdfBytes, maxWireBytes };
		this.#dispatcher ??= openDispatcher(this.#options, this.#isAllowed);
		const dispatcher = await this.#dispatcher;
		let url = withoutCredentials(start);
		for (let redirects = 0; redirects <= maxRedirects; redirects++) {
			signal.throwIfAborted();
			requireWebUrl(url);
			// Without a proxy, the connector checks the address, however the host is written.
			if (useProxy) requireAllowedHost(url, this.#isAllowed);
			const result = await exchange(dispatcher, url, { userAgent, validators, limits, signal });
			if (result.kind !== "redirected") return result;
			url = result.to;
		}
		const message = `${displayUrl(start)} redirects more than ${maxRedirects} times; it may require cookies or a sign-in, which are not supported.`;
		throw new PagingError("too_many_redirects", message);
	}
}

async function openDispatcher(
	{ useProxy = false, connectTimeoutMs = 10_000, ...options }: SafeFetchOptions,
	isAllowed: IsAllowed,
): Promise<Dispatcher> {
	const { buildConnector, Agent, request } = await loadUndici(useProxy);
	const resolve = options.resolve ?? ((hostname) => lookup(hostname, { all: true }));
	const connect = buildConnector({
		// HTTP/2 gains nothing, since a page is one request. With HTTP/1 only, there is one parser to trust.
		allowH2: false,
		timeout: connectTimeoutMs,
		lookup: checkedLookup(resolve, isAllowed),
	});
	const agent = new Agent({
		allowH2: false,
		// The proxy agent uses this option only for direct connections.
		connect: checkedConnect(connect, isAllowed),
		connectTimeout: connectTimeoutMs,
		// The total time is limited instead, since a trickling body would never reach an idle timeout.
		headersTimeout: 0,
		bodyTimeout: 0,
		maxHeaderSize: MAX_HEADER_BYTES,
	});
	return Object.assign(agent, { request });
}

/** Four times Node's limit, since some sites send long policy headers. */
const MAX_HEADER_BYTES = 64 * 1024;

type Connect = buildConnector.connector;

/**
 * Checks literal addresses before connecting and the socket's address before sending. `connect` must use
 * {@link checkedLookup}, which checks the addresses that the connection itself uses. So a name cannot
 * resolve to another address between check and use.
 */
export function checkedConnect(connect: Connect, isAllowed: IsAllowed): Connect {
	return (options, callback) => {
		const { hostname } = options;
		if (isIP(hostname) !== 0 && !isAllowed(hostname)) {
			callback(addressRefused(hostname, hostname), null);
			return;
		}
		connect(options, (...result) => {
			const [error, socket] = result;
			if (error !== null) return callback(error, null);
			const refusal = refusalOf(socket, hostname, isAllowed);
			if (refusal === undefined) return callback(null, socket);
			socket.destroy();
			callback(refusal, null);
		});
	};
}

/** Resolves a name. Fails unless all its addresses are allowed. */
function checkedLookup(resolve: Resolve, isAllowed: IsAllowed): LookupFunction {
	const resolveAllowed = async (hostname: string) => {
		const [first, ...others] = await resolve(hostname);
		if (first === undefined) {
			throw new PagingError("network", `${hostname} has no address; check its spelling.`);
		}
		const refused = [first, ...others].find(({ address }) => !isAllowed(address));
		if (refused) throw addressRefused(hostname, refused.address);
		return { first, all: [first, ...others] };
	};
	return (hostname, options, callback) => {
		resolveAllowed(hostname).then(
			({ first, all }) =>
				options.all ? callback(null, all) : callback(null, first.address, first.family),
			(error: Error) => callback(error, ""),
		);
	};
}

function refusalOf(socket: Socket, host: string, isAllowed: IsAllowed): PagingError | undefined {
	const { remoteAddress } = socket;
	if (remoteAddress === undefined) {
		return new PagingError("network", `${host} closed the connection at once.`);
	}
	return isAllowed(remoteAddress) ? undefined : addressRefused(host, remoteAddress);
}

// Loads only the parts a request needs, with a pause after each: undici's entry point loads
// everything (WebSocket, caches, a second fetch) and blocks the main thread for over 100 ms.
async function loadUndici(useProxy: boolean) {
	await import("undici/lib/core/util.js");
	await setImmediate();
	const { default: buildConnector } = await import("undici/lib/core/connect.js");
	await import("undici/lib/dispatcher/client.js");
	await setImmediate();
	const { default: request } = await import("undici/lib/api/api-request.js");
	await setImmediate();
	const { default: Agent } = useProxy
		? await import("undici/lib/dispatcher/env-http-proxy-agent.js")
		: await import("undici/lib/dispatcher/agent.js");
	return { buildConnector, Agent, request };
}
