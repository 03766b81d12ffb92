import { createRandom } from "../../readcache/law/random.ts";
import { connectClient, type TestClient } from "../support/ws-client.ts";
import type { HostileServer } from "./hostile-server.ts";
import { spoiledFrame } from "./mutations.ts";

/**
 * Sends `count` spoiled frames, as text and as binary, each of which gets one response, or ends its connection for being
 * no text. Throws with the seed for anything else.
 */
export async function sendSpoiledFrames(
	{ url }: HostileServer,
	{ seed, count }: { seed: number; count: number },
): Promise<{ answered: number; closed: number }> {
	const random = createRandom(seed);
	const totals = { answered: 0, closed: 0 };
	let open: OpenClient | undefined;
	for (let sent = 0; sent < count; sent++) {
		open ??= await connect(url);
		const { client } = open;
		const frame = spoiledFrame(random);
		const binary = random.chance(0.5);
		const answers = () => client.received.filter(({ type }) => type === "response").length;
		client.received.length = 0;
		client.socket.send(frame, { binary });
		while (answers() === 0 && open.closeCode === undefined) await pause();
		if (open.closeCode !== undefined) {
			// 1007: a text frame that is no UTF-8.
			const isFair = open.closeCode === 1007 && !binary;
			if (!isFair) throw new Error(`seed ${seed}: closed with ${open.closeCode} after ${frame}`);
			totals.closed++;
			open = undefined;
		} else {
			if (answers() > 1) throw new Error(`seed ${seed}: ${answers()} answers to ${frame}`);
			totals.answered++;
		}
	}
	open?.client.socket.terminate();
	return totals;
}

interface OpenClient {
	client: TestClient;
	closeCode?: number;
}

async function connect(url: string): Promise<OpenClient> {
	const client = await connectClient(url);
	const open: OpenClient = { client };
	client.socket.on("error", () => {}); // the close code tells
	void client.closed.then(({ code }) => {
		open.closeCode = code;
	});
	return open;
}

function pause(): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, 1));
}
