import { mkdirSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";

/**
 * `hang`: bytes are held back without a word, and delivered late; `hang in` and `hang out` only those towards or from
 * the target. `cut`: connections end, new ones too.
 */
export type ProxyMode = "pass" | "hang" | "hang in" | "hang out" | "cut";

export interface Proxy {
	/** Connections so far. */
	connections(): number;
	set(mode: ProxyMode): void;
	close(): void;
}

/** Stands between a server and its Postgres. */
export interface SocketProxy extends Proxy {
	readonly folder: string;
}

/** Stands between a server and the links that others open to it. */
export interface LinkProxy extends Proxy {
	readonly port: number;
	/** The port of the server, or `undefined` while it does not run. */
	target: number | undefined;
}

export async function startSocketProxy(
	folder: string,
	target: { socketFolder: string; port: number },
): Promise<SocketProxy> {
	const name = `.s.PGSQL.${target.port}`;
	mkdirSync(folder, { recursive: true });
	const { server, ...proxy } = createProxy(() => connect(join(target.socketFolder, name)));
	await new Promise<void>((resolve) => server.listen(join(folder, name), resolve));
	return {
		...proxy,
		folder,
		close() {
			proxy.close();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

export async function startLinkProxy(): Promise<LinkProxy> {
	const { server, ...proxy } = createProxy(() =>
		started.target === undefined ? undefined : connect(started.target, "127.0.0.1"),
	);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const started: LinkProxy = {
		...proxy,
		port: (server.address() as AddressInfo).port,
		target: undefined,
	};
	return started;
}

function createProxy(open: () => Socket | undefined) {
	/** From the client, and from the target. */
	const pairs = new Set<readonly [Socket, Socket]>();
	let mode: ProxyMode = "pass";
	let connections = 0;
	const apply = ([client, target]: readonly [Socket, Socket]) => {
		for (const [socket, way] of [
			[client, "hang in"],
			[target, "hang out"],
		] as const) {
			if (mode === "cut") socket.destroy();
			else if (mode === "hang" || mode === way) socket.pause();
			else socket.resume();
		}
	};
	const server = createServer((client) => {
		connections++;
		const target = mode === "cut" ? undefined : open();
		client.on("error", () => {});
		if (!target) {
			client.destroy();
			return;
		}
		const pair = [client, target] as const;
		pairs.add(pair);
		for (const [from, to] of [pair, [target, client] as const]) {
			from.on("data", (bytes) => to.write(bytes));
			from.on("error", () => {});
			from.on("close", () => {
				to.destroy();
				pairs.delete(pair);
			});
		}
		apply(pair);
	});
	return {
		server,
		connections: () => connections,
		set(next: ProxyMode) {
			mode = next;
			for (const pair of [...pairs]) apply(pair);
		},
		close() {
			for (const pair of pairs) for (const socket of pair) socket.destroy();
			server.close();
		},
	};
}
