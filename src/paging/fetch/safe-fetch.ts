import { lookup } from "node:dns/promises";
import { setImmediate } from "node:timers/promises";
import type { Agent, buildConnector, Dispatcher } from "undici";
import { PagingError } from "../errors.ts";
import { type AllowedRanges, isPublicAddress } from "./address.ts";
import type { BodyLimits } from "./body.ts";
import { checkedConnect, checkedLookup, type IsAllowed, type Resolve } from "./checked-connect.ts";
import { ask, type Fetched, type NotModified, type Validators } from "./exchange.ts";
import { failureOf } from "./failure.ts";
import { requireAllowedHost, requireWebUrl, shownUrl, withoutCredentials } from "./web-url.ts";

/** What a fetch may reach, and how much it may take. */
export interface SafeFetchOptions {
	/** Addresses that may be reached although they are not public. */
	allowRanges: AllowedRanges;
	userAgent: string;
	/**
	 * Go through the proxies of `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; otherwise these are ignored. A proxy
	 * resolves names itself, so **the address behind a name is not checked** when one is used; literal addresses,
	 * `localhost` and connections past the proxy still are. Default: false.
	 */
	useProxy?: boolean;
	/** Default: 5. */
	maxRedirects?: number;
	/** For all of it: redirects, headers and body. */
	timeoutMs: number;
	/** For each connection. Default: 10 s. */
	connectTimeoutMs?: number;
	/** Unpacked bytes of anything but a PDF. */
	maxBytes: number;
	/** Unpacked bytes of a PDF. */
	maxPdfBytes: number;
	/** Bytes of a body as sent. Default: the larger of the two limits above. */
	maxWireBytes?: number;
	/** Default: the system's resolver. */
	resolve?: Resolve;
}

/** How one fetch goes. */
export interface FetchOptions {
	signal?: AbortSignal | undefined;
	/** Of the copy at hand, such as an earlier {@link Fetched}. */
	validators?: Validators | undefined;
}

/** Gets resources from the web, trusting neither the addresses nor the answers. */
export interface SafeFetch {
	/** Gets a resource with nothing that identifies the user. Throws only {@link PagingError}. */
	fetch(url: URL, options?: FetchOptions): Promise<Fetched | NotModified>;
	/** Ends what is under way, with the code `aborted`, and lets go of all connections. */
	close(): Promise<void>;
}

/** Makes a fetch; the network library is loaded at the first use. */
export function createSafeFetch(options: SafeFetchOptions): SafeFetch {
	const { allowRanges, userAgent, useProxy = false, maxRedirects = 5 } = options;
	const { timeoutMs, maxBytes, maxPdfBytes } = options;
	const { maxWireBytes = Math.max(maxBytes, maxPdfBytes) } = options;
	const limits: BodyLimits = { maxBytes, maxPdfBytes, maxWireBytes };
	const isAllowed: IsAllowed = (address) => isPublicAddress(address, allowRanges);
	const closing = new AbortController();
	let opened: Promise<Dispatcher> | undefined;

	async function load(
		start: URL,
		validators: Validators | undefined,
		signal: AbortSignal,
	): Promise<Fetched | NotModified> {
		opened ??= openDispatcher(options, isAllowed);
		const dispatcher = await opened;
		let url = withoutCredentials(start);
		for (let redirects = 0; redirects <= maxRedirects; redirects++) {
			signal.throwIfAborted();
			requireWebUrl(url);
			// Without a proxy, the connector checks the host, whatever its spelling.
			if (useProxy) requireAllowedHost(url, isAllowed);
			const answer = await ask(dispatcher, url, { userAgent, validators, limits, signal });
			if (answer.kind !== "redirected") return answer;
			url = answer.to;
		}
		throw new PagingError(
			"too_many_redirects",
			`${shownUrl(start)} redirects more than ${maxRedirects} times; it may want cookies or a sign-in, which are not supported.`,
		);
	}

	return {
		async fetch(url, { signal, validators } = {}) {
			const deadline = startDeadline(shownUrl(url), timeoutMs, [signal, closing.signal]);
			try {
				return await deadline.race(load(url, validators, deadline.signal));
			} catch (error) {
				throw failureOf(error, url);
			} finally {
				deadline.stop();
			}
		},

		async close() {
			closing.abort();
			await (await opened)?.destroy();
		},
	};
}

async function openDispatcher(
	{ useProxy = false, connectTimeoutMs = 10_000, resolve = resolveAll }: SafeFetchOptions,
	isAllowed: IsAllowed,
): Promise<Dispatcher> {
	const { buildConnector, createAgent } = await loadUndici(useProxy);
	const connect = buildConnector({
		// One request a page gains nothing from HTTP/2, and this way there is one parser to trust.
		allowH2: false,
		timeout: connectTimeoutMs,
		lookup: checkedLookup(resolve, isAllowed),
	});
	const agentOptions = {
		allowH2: false,
		connect: checkedConnect(connect, isAllowed),
		connectTimeout: connectTimeoutMs,
		// Time is limited as a whole; a body that trickles would pass a limit on silence.
		headersTimeout: 0,
		bodyTimeout: 0,
		maxHeaderSize: MAX_HEADER_BYTES,
	};
	// The proxy agent uses `connect` only for what goes past the proxy.
	return createAgent(agentOptions);
}

/** Four times Node's own limit: some sites send long policies. */
const MAX_HEADER_BYTES = 64 * 1024;

function resolveAll(hostname: string) {
	return lookup(hostname, { all: true });
}

/** The end of a piece of work: when its time is up, or when someone stops it. */
interface Deadline {
	/** Aborts at the end, with the error to show as its reason. */
	signal: AbortSignal;
	/** The outcome of the work, or the reason at the very moment of the end, whatever the work is stuck in. */
	race<T>(work: Promise<T>): Promise<T>;
	/** Lets go of timer and signals; call it when the work is done. */
	stop(): void;
}

/** Starts the clock. `name` is what the errors call the work; each signal can end it, undefined ones cannot. */
function startDeadline(
	name: string,
	timeoutMs: number,
	signals: readonly (AbortSignal | undefined)[],
): Deadline {
	const end = new AbortController();
	const timer = setTimeout(() => {
		const message = `${name} did not arrive within ${timeoutMs / 1000} s. Try again later.`;
		end.abort(new PagingError("timeout", message));
	}, timeoutMs);
	const onAbort = () => end.abort(new PagingError("aborted", `Reading ${name} was stopped.`));
	for (const signal of signals) {
		if (signal?.aborted) onAbort();
		signal?.addEventListener("abort", onAbort, { once: true });
	}
	return {
		signal: end.signal,
		race(work) {
			return new Promise((resolve, reject) => {
				const lose = () => reject(end.signal.reason);
				if (end.signal.aborted) lose();
				end.signal.addEventListener("abort", lose, { once: true });
				work.then(resolve, reject);
			});
		},
		stop() {
			clearTimeout(timer);
			for (const signal of signals) signal?.removeEventListener("abort", onAbort);
		},
	};
}

/** What fetching needs of undici. */
interface Undici {
	buildConnector: typeof buildConnector;
	/** An agent, or one that goes through the proxies of the environment. */
	createAgent(options: Agent.Options): Dispatcher;
}

/**
 * Loads the parts of undici that a request needs, with a pause after each. Its door loads all that it has
 * (WebSocket, caches, a second fetch) in one go, which keeps the main thread from everything else for over 100 ms.
 */
async function loadUndici(useProxy: boolean): Promise<Undici> {
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
	return {
		buildConnector,
		// It is undici's door that gives agents this method.
		createAgent: (options) => Object.assign(new Agent(options), { request }),
	};
}
