import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** An answer of our own. */
export interface Refusal {
	readonly status: 403 | 404 | 426 | 502 | 504;
	/** One word for the header `x-strata-proxy`. */
	readonly reason: string;
	/** Shown to the user by the agent. */
	readonly message: string;
}

const TEXTS = {
	403: ["Forbidden", "permission_error", "PERMISSION_DENIED"],
	404: ["Not Found", "not_found_error", "NOT_FOUND"],
	426: ["Upgrade Required", "invalid_request_error", "FAILED_PRECONDITION"],
	502: ["Bad Gateway", "api_error", "UNAVAILABLE"],
	504: ["Gateway Timeout", "timeout_error", "DEADLINE_EXCEEDED"],
} as const;

/** In the shape of the provider's own errors: an agent shows their message. `name`: the upstream. */
function refusalBody({ status, reason, message }: Refusal, name: string): string {
	const [, type, code] = TEXTS[status];
	const text = `strata proxy: ${message}`;
	if (name === "anthropic")
		return JSON.stringify({ type: "error", error: { type, message: text } });
	if (name === "gemini") {
		return JSON.stringify({ error: { code: status, message: text, status: code } });
	}
	return JSON.stringify({ error: { message: text, type, code: reason } });
}

/** The upstream whose shape of errors a client expects that has no route. */
export function namedIn(url = ""): string {
	return /^(?:\/[^/?#]*)?\/(anthropic|gemini)(?:[/?#]|$)/.exec(url)?.[1] ?? "openai";
}

export function sendRefusal(response: ServerResponse, refusal: Refusal, name: string): void {
	const body = refusalBody(refusal, name);
	response.writeHead(refusal.status, headersOf(refusal, body));
	response.end(body);
}

/** For an upgrade, whose connection has no response object. */
export function sendRawRefusal(socket: Duplex, refusal: Refusal, name: string): void {
	const body = refusalBody(refusal, name);
	const headers = { ...headersOf(refusal, body), connection: "close" };
	const lines = Object.entries(headers).map(([key, value]) => `${key}: ${value}\r\n`);
	const head = `HTTP/1.1 ${refusal.status} ${TEXTS[refusal.status][0]}\r\n${lines.join("")}\r\n`;
	socket.end(head + body, () => socket.destroy());
}

function headersOf({ reason }: Refusal, body: string) {
	return {
		"content-type": "application/json",
		"content-length": Buffer.byteLength(body),
		"x-strata-proxy": reason,
	};
}
