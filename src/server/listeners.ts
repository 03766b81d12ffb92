import { createAccess } from "./auth/access.ts";
import type { Tokens } from "./auth/token-file.ts";
import type { ServerOptions } from "./options.ts";
import type { Connections } from "./transports/connections.ts";
import { type HttpOptions, listenHttp } from "./transports/http.ts";
import { createPage } from "./transports/page.ts";
import { listenUnixSocket } from "./transports/unix-socket.ts";
import { createWebSocketTransport } from "./transports/websocket.ts";

/** Everything that takes connections from outside. */
export interface Listeners {
	/** The port of HTTP and WebSocket. */
	readonly port?: number;
	/** Takes no more connections; those there are stay. */
	stopListening(): void;
	/** Ends all connections that are still open. */
	close(): Promise<void>;
}

export interface ListenersOptions
	extends Pick<ServerOptions, "listen" | "socketPath" | "origins" | "limits" | "pageFolder">,
		Pick<HttpOptions, "readiness" | "metrics"> {
	tokens: Tokens | "none";
	/** Clients wait for it. */
	connections: Promise<Connections>;
}

/** Listens on the port and on the socket that are asked for, or on neither if one of them cannot be had. */
export async function openListeners(options: ListenersOptions): Promise<Listeners> {
	const { socketPath, connections, limits } = options;
	const web = await openWeb(options);
	try {
		const socket =
			socketPath === undefined
				? undefined
				: await listenUnixSocket({
						path: socketPath,
						connections,
						maxFrameBytes: limits.maxFrameBytes,
						maxConnections: limits.maxConnections,
					});
		return {
			...(web && { port: web.port }),
			stopListening() {
				web?.stopListening();
				socket?.stopListening();
			},
			async close() {
				await web?.close();
				await socket?.close();
			},
		};
	} catch (error) {
		await web?.close();
		throw error;
	}
}

async function openWeb(options: ListenersOptions) {
	const { listen, tokens, origins, limits, connections, readiness, metrics } = options;
	if (!listen) return undefined;
	const { host, tls } = listen;
	const access = createAccess({ host, origins, tls: tls !== undefined, tokens });
	const websocket = createWebSocketTransport({ access, connections, limits });
	const http = await listenHttp({
		...listen,
		access,
		readiness,
		metrics,
		page: createPage(options.pageFolder),
		upgrade: websocket.upgrade,
		maxConnections: limits.maxConnections,
	}).catch((error: unknown) => {
		websocket.close();
		throw error;
	});
	return {
		port: http.port,
		stopListening: http.stopListening,
		async close() {
			websocket.close();
			await http.close();
		},
	};
}
