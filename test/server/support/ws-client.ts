import { type ClientOptions, WebSocket } from "ws";
import type { Data } from "../../../src/protocol/index.ts";
import { atEnd } from "../../support/temp.ts";

/** A WebSocket that keeps what it gets. */
export interface TestClient {
	readonly socket: WebSocket;
	readonly received: Data<"ServerMessage">[];
	/** Resolves with the first message that fits, now or later. */
	next<Found extends Data<"ServerMessage">>(
		fits: (message: Data<"ServerMessage">) => message is Found,
	): Promise<Found>;
	next(fits: (message: Data<"ServerMessage">) => boolean): Promise<Data<"ServerMessage">>;
	readonly closed: Promise<{ code: number; reason: string }>;
}

/** Connects; rejects when the upgrade is refused, with the status in the message. */
export async function connectClient(
	url: string,
	options: ClientOptions & { token?: string; protocols?: string[] } = {},
): Promise<TestClient> {
	const { token, protocols = [], ...rest } = options;
	const headers = {
		...rest.headers,
		...(token !== undefined && { authorization: `Bearer ${token}` }),
	};
	const socket = new WebSocket(url, protocols, { ...rest, headers });
	atEnd(() => socket.terminate());
	const received: Data<"ServerMessage">[] = [];
	const next = (fits: (message: Data<"ServerMessage">) => boolean): Promise<never> => {
		const found = received.find(fits);
		if (found) return Promise.resolve(found as never);
		return new Promise((resolve) => waiting.push({ fits, found: resolve }));
	};
	let waiting: { fits: (message: Data<"ServerMessage">) => boolean; found: (m: never) => void }[] =
		[];
	socket.on("message", (data) => {
		const message = JSON.parse(String(data)) as Data<"ServerMessage">;
		received.push(message);
		waiting = waiting.filter(({ fits, found }) => {
			const isIt = fits(message);
			if (isIt) found(message as never);
			return !isIt;
		});
	});
	const closed = new Promise<{ code: number; reason: string }>((resolve) => {
		socket.on("close", (code, reason) => resolve({ code, reason: String(reason) }));
	});
	await new Promise<void>((resolve, reject) => {
		socket.once("open", resolve);
		socket.on("error", reject);
	});
	return {
		socket,
		received,
		closed,
		next,
	};
}
