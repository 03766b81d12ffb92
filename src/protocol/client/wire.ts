/** A way to a server: WebSocket, a pipe, a Unix socket, or two arrays in a test. */
export interface Transport {
	/**
	 * Connects once. Rejects when that fails, with a {@link CannotConnect} if every attempt would; after it has resolved,
	 * `closed` is called exactly once.
	 */
	open(listener: WireListener): Promise<Wire>;
}

/** What comes from the other side. */
export interface WireListener {
	/** One frame: the JSON of one object. */
	message(text: string): void;
	closed(how: Closed): void;
}

/** An open connection. */
export interface Wire {
	/** Sends one frame; without effect once it is closed. */
	send(text: string): void;
	close(): void;
}

/** How a connection ended; `code` is that of a WebSocket, where there is one. */
export interface Closed {
	code?: number;
	reason?: string;
}

/** Why no attempt to connect can succeed. The client does not retry. */
export class CannotConnect extends Error {}

/** The server refuses this client: it would do so again. */
export const REFUSED = 1008;
/** A frame was larger than the server takes. */
export const TOO_LARGE = 1009;

const SUBPROTOCOL = "strata.v1";
const TOKEN_SUBPROTOCOL = "strata.token.";

/**
 * Connects by the platform's own WebSocket to `ws://…`, or to the address of the server's page, whose `#token=…` is the
 * token unless one is given. The token travels as a subprotocol: a browser can set no header, and what is in an address
 * ends up in logs. Throws {@link CannotConnect} for a token that no WebSocket can send.
 */
export function webSocketTransport(address: string, givenToken?: string): Transport {
	const { url, inAddress } = partsOf(address);
	const token = givenToken ?? inAddress;
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

/** Servers refuse a request whose headers are longer than some kilobytes, and do not say why to a WebSocket. */
const MAX_TOKEN_CHARS = 8192;

/**
 * Why a token cannot be sent: the name of a subprotocol takes some ASCII characters only. `undefined` if it can be. The
 * words do not contain the token.
 */
export function tokenFault(token: string): string | undefined {
	if (token === "") return "the token is empty";
	if (token.length > MAX_TOKEN_CHARS) {
		return `the token cannot be sent: it has ${token.length} characters, at most ${MAX_TOKEN_CHARS} fit`;
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

/** Percent signs decoded. A plus stays one: this is no form. */
function decoded(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

function partsOf(address: string): { url: string; inAddress: string | undefined } {
	const url = URL.canParse(address) ? new URL(address) : undefined;
	if (!url || !/^(ws|http)s?:$/.test(url.protocol)) {
		const shown = JSON.stringify(address.replace(/#.*/s, ""));
		throw new Error(`${shown} is not the address of a server, such as ws://127.0.0.1:3141/.`);
	}
	const [, encoded] = /[#&]token=([^&/]*)/.exec(url.hash) ?? [];
	const inAddress = encoded === undefined ? undefined : decoded(encoded);
	url.hash = "";
	url.protocol = url.protocol.replace("http", "ws");
	return { url: url.href, inAddress };
}
