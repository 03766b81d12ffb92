import { describeError, errnoOf } from "../../core/errno.ts";
import { PagingError } from "../errors.ts";
import { shownUrl } from "./web-url.ts";

/** Converts anything thrown while reading a URL to the error to show. */
export function failureOf(error: unknown, url: URL): PagingError {
	if (error instanceof PagingError) return error;
	const code = errnoOf(error) ?? "";
	const name = shownUrl(url);
	if (code === "UND_ERR_HEADERS_OVERFLOW") {
		const message = `${name} cannot be read: its headers are too large.`;
		return new PagingError("too_large", message, { cause: error });
	}
	if (code === "UND_ERR_CONNECT_TIMEOUT" || code === "ETIMEDOUT") {
		const message = `${url.host} did not accept a connection in time. Try again later.`;
		return new PagingError("timeout", message, { cause: error });
	}
	const reason = reasonOf(code) ?? describeError(error);
	const message = `${name} cannot be read: ${reason}${code === "" ? "" : ` (${code})`}.`;
	return new PagingError("network", message, { cause: error });
}

function reasonOf(code: string): string | undefined {
	switch (code) {
		case "ENOTFOUND":
			return "there is no host of this name; check its spelling";
		case "EAI_AGAIN":
			return "the host name cannot be resolved at the moment";
		case "ECONNREFUSED":
			return "the host refused the connection";
		case "ENETUNREACH":
		case "EHOSTUNREACH":
			return "there is no way to the host";
		case "ECONNRESET":
		case "EPIPE":
		case "UND_ERR_SOCKET":
			return "the connection broke off before the end; try again";
		case "UND_ERR_RES_CONTENT_LENGTH_MISMATCH":
			return "the body does not have the length it announced; try again";
	}
	// Node's message quotes the certificate, which is untrusted text to the model.
	if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "its certificate belongs to another host";
	if (/CERT|SIGNATURE/.test(code)) return "its certificate cannot be trusted";
	if (code.startsWith("HPE_")) return "the answer is not valid HTTP";
	if (/^Z_|^ERR_.*(BROTLI|FORMAT|_ERROR_)/.test(code)) {
		return "its packed body is damaged or cut off; try again";
	}
	return undefined;
}
