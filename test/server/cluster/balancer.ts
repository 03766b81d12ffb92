import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { atEnd } from "../../support/temp.ts";
import type { Cluster } from "./cluster.ts";

/** Gives each new connection to a living server, in turn, as a load balancer does. */
export async function startBalancer(cluster: Cluster): Promise<{ url: string; close(): void }> {
	const sockets = new Set<Socket>();
	let turn = 0;
	const server = createServer((client) => {
		const living = cluster.servers.flatMap(({ address }) => address ?? []);
		const address = living[turn++ % Math.max(1, living.length)];
		if (address === undefined) {
			client.destroy();
			return;
		}
		const target = connect(Number(new URL(address).port), "127.0.0.1");
		for (const [from, to] of [
			[client, target],
			[target, client],
		] as const) {
			sockets.add(from);
			from.on("error", () => {});
			from.on("close", () => {
				sockets.delete(from);
				to.destroy();
			});
			from.pipe(to);
		}
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const close = () => {
		for (const socket of sockets) socket.destroy();
		server.close();
	};
	atEnd(close);
	return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`, close };
}
