import { STATUS_CODES } from "node:http";
import type { Dispatcher } from "undici";
import { describeError, errnoOf } from "../../core/errno.ts";
import { PagingError } from "../errors.ts";
import { displayUrl, isWebUrl, withoutCredentials } from "./address.ts";
import { ACCEPT_ENCODING, type BodyLimits, readBody } from "./body.ts";

/** A server's validators, sent only to the URL they came from. */
export interface Validators {
	readonly finalUrl: URL;
	readonly etag?: string | undefined;
	readonly lastModified?: string | undefined;
}

export interface Fetched extends Validators {
	readonly kind: "fetched";
	readonly contentType?: string;
	readonly bytes: Buffer;
}

export interface NotModified {
	readonly kind: "not_modified";
	readonly finalUrl: URL;
}

type ExchangeResult = Fetched | NotModified | { kind: "redirected"; to: URL };

interface ExchangeOptions {
	readonly userAgent: string;
	readonly validators: Validators | undefined;
	readonly limits: BodyLimits;
	readonly signal: AbortSignal;
}

/** Sends one HTTP request. Throws a {@link PagingError} if the response is not the resource. */
export async function exchange(
	dispatcher: Dispatcher,
	url: URL,
	options: ExchangeOptions,
): Promise<ExchangeResult> {
	try {
		const headers = headersFor(url, options);
		const response = await dispatcher.request({
			origin: url.origin,
			path: `${url.pathname}${url.search}`,
			method: "GET",
			headers,
			signal: options.signal,
		});
		// `finally` destroys the body wherever reading stops. The error that this causes is expected.
		response.body.on("error", () => {});
		try {
			const to = redirectTarget(response, url);
			if (to) return { kind: "redirected", to };
			const isConditional = "if-none-match" in headers || "if-modified-since" in headers;
			if (response.statusCode === 304 && isConditional) {
				return { kind: "not_modified", finalUrl: url };
			}
			requireResource(response.statusCode, url);
			return await receive(response, url, options.limits);
		} finally {
			response.body.destroy();
		}
	} catch (error) {
		throw fetchError(error, url);
	}
}

function headersFor(url: URL, { userAgent, validators }: ExchangeOptions): Record<string, string> {
	const headers: Record<string, string> = {
		accept: "text/html, application/xhtml+xml, application/pdf, text/*;q=0.9, */*;q=0.8",
		"accept-encoding": ACCEPT_ENCODING,
		"user-agent": userAgent,
	};
	// An ETag can identify a reader, so it is sent only to the URL that it came from.
	if (validators === undefined || !isSameResource(validators.finalUrl, url)) return headers;
	const { etag, lastModified } = validators;
	if (etag !== undefined) headers["if-none-match"] = etag;
	if (lastModified !== undefined) headers["if-modified-since"] = lastModified;
	return headers;
}

function isSameResource(a: URL, b: URL): boolean {
	return a.origin === b.origin && a.pathname === b.pathname && a.search === b.search;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

function redirectTarget(response: Dispatcher.ResponseData, from: URL): URL | undefined {
	const location = firstValue(response.headers.location);
	if (!REDIRECTS.has(response.statusCode) || location === undefined) return undefined;
	// Headers arrive as Latin-1, but non-ASCII addresses are sent as UTF-8.
	const text = Buffer.from(location, "latin1").toString("utf8");
	const name = displayUrl(from);
	if (!URL.canParse(text, from.href)) {
		throw new PagingError("http_status", `${name} redirects to something that is not a URL.`);
	}
	const to = withoutCredentials(new URL(text, from));
	if (!isWebUrl(to)) {
		const message = `${name} redirects to a ${to.protocol} address; only http: and https: are followed.`;
		throw new PagingError("unsupported_scheme", message);
	}
	return to;
}

function requireResource(status: number, url: URL): void {
	// 203 is a 200 changed by a proxy; anything else is not the whole resource.
	if (status === 200 || status === 203) return;
	const text = STATUS_CODES[status];
	const message = `${displayUrl(url)} answered with status ${status}${text ? ` (${text})` : ""}${adviceFor(status)}.`;
	throw new PagingError("http_status", message);
}

function adviceFor(status: number): string {
	if (status === 401 || status === 403) return "; pages that require a sign-in cannot be read";
	if (status === 404 || status === 410) return "; check the address";
	if (status === 429 || status >= 500) return "; try again later";
	return "";
}

async function receive(
	{ headers, body }: Dispatcher.ResponseData,
	url: URL,
	limits: BodyLimits,
): Promise<Fetched> {
	const contentType = firstValue(headers["content-type"]);
	const etag = firstValue(headers.etag);
	const lastModified = firstValue(headers["last-modified"]);
	const incoming = {
		name: displayUrl(url),
		stream: body,
		contentType,
		contentEncoding: [headers["content-encoding"] ?? []].flat().join(),
		contentLength: firstValue(headers["content-length"]),
	};
	return {
		kind: "fetched",
		finalUrl: url,
		bytes: await readBody(incoming, limits),
		...(contentType !== undefined && { contentType }),
		...(etag !== undefined && { etag }),
		...(lastModified !== undefined && { lastModified }),
	};
}

function firstValue(value: string | string[] | undefined): string | undefined {
	return Array.isArray(value) ? value[0] : value;
}

/** Converts an error of undici, Node or zlib to a {@link PagingError}. */
export function fetchError(error: unknown, url: URL): PagingError {
	if (error instanceof PagingError) return error;
	const code = errnoOf(error) ?? "";
	const name = displayUrl(url);
	if (code === "UND_ERR_HEADERS_OVERFLOW") {
		const message = `${name} cannot be read: its headers are too large.`;
		return new PagingError("too_large", message, { cause: error });
	}
	if (code === "UND_ERR_CONNECT_TIMEOUT" || code === "ETIMEDOUT") {
		const message = `${url.host} did not accept a connection in time. Try again later.`;
		return new PagingError("timeout", message, { cause: error });
	}
	const [, reason = describeError(error)] = REASONS.find(([codes]) => codes.test(code)) ?? [];
	const message = `${name} cannot be read: ${reason}${code === "" ? "" : ` (${code})`}.`;
	return new PagingError("network", message, { cause: error });
}

/** The first match wins. */
const REASONS: readonly [codes: RegExp, reason: string][] = [
	[/^ENOTFOUND$/, "there is no host of this name; check its spelling"],
	[/^EAI_AGAIN$/, "the host name cannot be resolved at the moment"],
	[/^ECONNREFUSED$/, "the host refused the connection"],
	[/^(?:ENETUNREACH|EHOSTUNREACH)$/, "the host is unreachable"],
	[/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, "the connection was lost before the end; try again"],
	[
		/^UND_ERR_RES_CONTENT_LENGTH_MISMATCH$/,
		"the body does not have the length it announced; try again",
	],
	// Node's message quotes the certificate, which is untrusted text and must not reach the model.
	[/^ERR_TLS_CERT_ALTNAME_INVALID$/, "its certificate belongs to another host"],
	[/CERT|SIGNATURE/, "its certificate cannot be trusted"],
	[/^HPE_/, "the response is not valid HTTP"],
	[
		/^Z_|^ERR_.*(?:BROTLI|FORMAT|_ERROR_)/,
		"its compressed body is damaged or truncated; try again",
	],
];
