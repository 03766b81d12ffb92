import { mkdirSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";

/** Stands between a server and its Postgres. */
export interface SocketProxy {
	readonly folder: string;
	/** `hang`: bytes are held back without a word, and delivered late. `cut`: connections end, new ones too. */
	set(mode: "pass" | "hang" | "cut"): void;
	close(): void;
}

export async function startSocketProxy(
	folder: string,
	target: { socketFolder: string; port: number },
): Promise<SocketProxy> {
	const name = `.s.PGSQL.${target.port}`;
	const pairs = new Set<readonly [Socket, Socket]>();
	let mode: "pass" | "hang" | "cut" = "pass";
	mkdirSync(folder, { recursive: true });
	const server = createServer((client) => {
		if (mode === "cut") {
			client.destroy();
			return;
		}
		const upstream = connect(join(target.socketFolder, name));
		const pair = [client, upstream] as const;
		pairs.add(pair);
		for (const [from, to] of [pair, [upstream, client] as const]) {
			from.on("data", (bytes) => to.write(bytes));
			from.on("error", () => {});
			from.on("close", () => {
				to.destroy();
				pairs.delete(pair);
			});
			if (mode === "hang") from.pause();
		}
	});
	await new Promise<void>((resolve) => server.listen(join(folder, name), resolve));
	return {
		folder,
		set(next) {
			mode = next;
			for (const pair of pairs) {
				for (const socket of pair) {
					if (mode === "cut") socket.destroy();
					else if (mode === "hang") socket.pause();
					else socket.resume();
				}
			}
		},
		close() {
			for (const pair of pairs) for (const socket of pair) socket.destroy();
			server.close();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}
