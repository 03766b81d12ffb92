import { createAccess } from "../core/http-access.ts";
import type { Tokens } from "../core/token-file.ts";
import type { Cluster } from "./cluster/cluster.ts";
import { isLinkRequest } from "./cluster/link-request.ts";
import type { ServerOptions } from "./options.ts";
import type { Connections } from "./transports/connections.ts";
import { type HttpOptions, listenHttp } from "./transports/http.ts";
import { listenUnixSocket } from "./transports/line-transports.ts";
import { createPage } from "./transports/page.ts";
import { WebSocketTransport } from "./transports/websocket.ts";

interface ListenersOptions
	extends Pick<ServerOptions, "listen" | "socketPath" | "origins" | "limits" | "pageFolder">,
		Pick<HttpOptions, "readiness" | "metrics" | "replays"> {
	/** Takes the links of other servers. */
	links(): Pick<Cluster, "accept"> | undefined;
	readonly tokens: Tokens | "none";
	readonly connections: Promise<Connections>;
}

/** Closes the web listener if the socket cannot be opened. */
export async function openListeners(options: ListenersOptions) {
	const { socketPath: path, connections, limits } = options;
	const web = await openWeb(options);
	try {
		const socket =
			path === undefined ? undefined : await listenUnixSocket({ path, connections, ...limits });
		return {
			port: web?.port,
			recheck: () => web?.recheck(),
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
	const { listen, tokens, origins, limits, connections } = options;
	if (!listen) return undefined;
	const { host, tls } = listen;
	const access = createAccess({ host, origins, tls: tls !== undefined, tokens });
	const websocket = new WebSocketTransport({ access, connections, limits });
	const http = await listenHttp({
		...options,
		...listen,
		access,
		page: createPage(options.pageFolder),
		upgrade(request, socket, head) {
			const links = isLinkRequest(request) ? options.links() : undefined;
			if (links) links.accept(request, socket, head);
			else void websocket.upgrade(request, socket, head);
		},
		maxConnections: limits.maxConnections,
		uploadMs: limits.longMs,
	}).catch((error: unknown) => {
		websocket.close();
		throw error;
	});
	return {
		...http,
		recheck: () => websocket.recheck(),
		async close() {
			websocket.close();
			await http.close();
		},
	};
}
