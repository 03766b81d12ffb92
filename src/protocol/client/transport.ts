/** Opens connections, for example by WebSocket, pipe or Unix socket, or in memory for a test. */
export interface Transport {
	/** A {@link CannotConnect} rejection stops retries. After success, `closed` is called once. */
	open(listener: ConnectionListener): Promise<Connection>;
}

/** The callbacks of a connection, for its transport to call. */
export interface ConnectionListener {
	/** One frame: the JSON of one object. */
	message(text: string): void;
	closed(info: CloseInfo): void;
}

/** One open connection of a transport. */
export interface Connection {
	/** Has no effect after `close`. */
	send(text: string): void;
	close(): void;
}

/** `code` is the WebSocket close code, if any. */
export interface CloseInfo {
	readonly code?: number;
	readonly reason?: string;
}

/** No attempt can succeed, so the client does not retry. */
export class CannotConnect extends Error {}

/** Close code: the server refuses this client for good. */
export const REFUSED = 1008;
export const TOO_LARGE = 1009;

/** Announced in `server_ready`. Declared here because the client loads no schemas. */
export const PROTOCOL_VERSION = "1.0.0";
const SUBPROTOCOL = "strata.v1";
const TOKEN_SUBPROTOCOL = "strata.token.";

/**
 * `givenToken` overrides `#token=…` of the address. Tokens are sent as a subprotocol, because browsers
 * cannot set headers and addresses end up in logs. Throws {@link CannotConnect} for an unusable token.
 */
export function webSocketTransport(address: string, givenToken?: string): Transport {
	const { url, addressToken } = parseAddress(address);
	const token = givenToken ?? addressToken;
	const fault = token === undefined ? undefined : tokenFault(token);
	if (fault !== undefined) throw new CannotConnect(fault);
	return {
		open(listener) {
			const offered =
				token === undefined ? [SUBPROTOCOL] : [SUBPROTOCOL, TOKEN_SUBPROTOCOL + token];
			const socket = new WebSocket(url, offered);
			return new Promise((resolve, reject) => {
				let isOpen = false;
				socket.onopen = () => {
					isOpen = true;
					resolve({
						send: (text) => {
							if (socket.readyState === WebSocket.OPEN) socket.send(text);
						},
						close: () => socket.close(),
					});
				};
				socket.onmessage = ({ data }) => listener.message(String(data));
				socket.onclose = ({ code, reason }) => {
					if (isOpen) listener.closed({ code, reason });
					else reject(new Error(`cannot connect to ${url}`));
				};
			});
		},
	};
}

/** Maximum length of a token. Servers refuse longer headers, and a WebSocket does not show why. */
const MAX_TOKEN_CHARS = 8192;

/** Returns why a token cannot be a subprotocol name. The text never contains the token. */
export function tokenFault(token: string): string | undefined {
	if (token === "") return "the token is empty";
	if (token.length > MAX_TOKEN_CHARS) {
		return `the token cannot be sent: it has ${token.length} characters, but the maximum is ${MAX_TOKEN_CHARS}`;
	}
	const at = token.search(/[^!#$%&'*+\-.^_`|~0-9A-Za-z]/);
	if (at === -1) return undefined;
	const code = token.codePointAt(at) ?? 0;
	const shown =
		code === 0x20
			? "a space"
			: code > 0x20 && code < 0x7f
				? JSON.stringify(token[at])
				: `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
	return `the token cannot be sent: its character ${at + 1}, ${shown}, is not allowed in a token`;
}

/** Does not decode `+` as a space: the fragment is not a form. */
function decodeToken(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

function parseAddress(address: string): { url: string; addressToken: string | undefined } {
	const url = URL.canParse(address) ? new URL(address) : undefined;
	if (!url || !/^(ws|http)s?:$/.test(url.protocol)) {
		const shown = JSON.stringify(address.replace(/#.*/s, ""));
		throw new Error(`${shown} is not the address of a server, such as ws://127.0.0.1:3141/.`);
	}
	const [, encoded] = /[#&]token=([^&/]*)/.exec(url.hash) ?? [];
	const addressToken = encoded === undefined ? undefined : decodeToken(encoded);
	url.hash = "";
	url.protocol = url.protocol.replace("http", "ws");
	return { url: url.href, addressToken };
}
