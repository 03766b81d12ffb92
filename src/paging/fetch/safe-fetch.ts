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

export interface SafeFetchOptions {
	allowRanges: AllowedRanges;
	userAgent: string;
	/**
	 * Use `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. A proxy resolves names itself, so **the address
	 * behind a name is not checked**; literal addresses, `localhost` and direct connections are.
	 * Default: false.
	 */
	useProxy?: boolean;
	/** Default: 5. */
	maxRedirects?: number;
	/** For redirects, headers and body together. */
	timeoutMs: number;
	/** Per connection. Default: 10 s. */
	connectTimeoutMs?: number;
	/** Unpacked, except for PDFs. */
	maxBytes: number;
	/** Unpacked. */
	maxPdfBytes: number;
	/** As sent. Default: the larger of the two limits above. */
	maxWireBytes?: number;
	/** Default: the system's resolver. */
	resolve?: Resolve;
}

export interface FetchOptions {
	signal?: AbortSignal | undefined;
	/** Of the cached copy, such as an earlier {@link Fetched}. */
	validators?: Validators | undefined;
}

/** Trusts neither addresses nor answers. */
export interface SafeFetch {
	/** Sends nothing that identifies the user. Throws only {@link PagingError}. */
	fetch(url: URL, options?: FetchOptions): Promise<Fetched | NotModified>;
	/** Requests in flight fail as `aborted`. */
	close(): Promise<void>;
}

/** The network library loads at the first use. */
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
			// Without a proxy, the connector checks the host in any spelling.
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
		// One request a page gains nothing from HTTP/2; HTTP/1 alone means one parser to trust.
		allowH2: false,
		timeout: connectTimeoutMs,
		lookup: checkedLookup(resolve, isAllowed),
	});
	const agentOptions = {
		allowH2: false,
		connect: checkedConnect(connect, isAllowed),
		connectTimeout: connectTimeoutMs,
		// The total time is limited; a trickling body would pass an idle timeout.
		headersTimeout: 0,
		bodyTimeout: 0,
		maxHeaderSize: MAX_HEADER_BYTES,
	};
	// The proxy agent uses `connect` only for direct connections.
	return createAgent(agentOptions);
}

/** Four times Node's limit: some sites send long policies. */
const MAX_HEADER_BYTES = 64 * 1024;

function resolveAll(hostname: string) {
	return lookup(hostname, { all: true });
}

interface Deadline {
	signal: AbortSignal;
	/** Rejects with the reason at the deadline, even if the work hangs. */
	race<T>(work: Promise<T>): Promise<T>;
	/** Clears timer and listeners; call it when the work is done. */
	stop(): void;
}

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

interface Undici {
	buildConnector: typeof buildConnector;
	createAgent(options: Agent.Options): Dispatcher;
}

// Loads only the parts a request needs, with a pause after each: undici's entry point loads
// everything (WebSocket, caches, a second fetch) and blocks the main thread for over 100 ms.
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
		createAgent: (options) => Object.assign(new Agent(options), { request }),
	};
}
