/** A way to a server: WebSocket, a pipe, a Unix socket, or two arrays in a test. */
export interface Transport {
	/** Connects once. Rejects when that fails; after it has resolved, `closed` is called exactly once. */
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

/** The server refuses this client: it would do so again. */
export const REFUSED = 1008;
/** A frame was larger than the server takes. */
export const TOO_LARGE = 1009;

const SUBPROTOCOL = "strata.v1";
const TOKEN_SUBPROTOCOL = "strata.token.";

/**
 * Connects by the platform's own WebSocket to `ws://…`, or to the address of the server's page, whose `#token=…` is the
 * token unless one is given. The token travels as a subprotocol: a browser can set no header, and what is in an address
 * ends up in logs.
 */
export function webSocketTransport(address: string, givenToken?: string): Transport {
	const { url, inAddress } = partsOf(address);
	const token = givenToken ?? inAddress;
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

function partsOf(address: string): { url: string; inAddress: string | undefined } {
	const url = URL.canParse(address) ? new URL(address) : undefined;
	if (!url || !/^(ws|http)s?:$/.test(url.protocol)) {
		const shown = JSON.stringify(address.replace(/#.*/s, ""));
		throw new Error(`${shown} is not the address of a server, such as ws://127.0.0.1:3141/.`);
	}
	const inAddress = new URLSearchParams(url.hash.slice(1)).get("token") ?? undefined;
	url.hash = "";
	url.protocol = url.protocol.replace("http", "ws");
	return { url: url.href, inAddress };
}
