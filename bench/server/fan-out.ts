import type { Client } from "../../src/protocol/client.ts";
import { connectLean, isSessionEvent, type LeanClient } from "./lean-client.ts";

/** The outcome of {@link fanOut}. */
export interface FanOut {
	perSecond: number;
	deliveries: number;
	/** Events of the session, each of which every subscriber gets. */
	events: number;
}

/** Sends a prompt to a session with many subscribers; counts the events until all of them have all. */
export async function fanOut(
	{ client, port }: { client: Client; port: number },
	{ sessionId, subscribers }: { sessionId: string; subscribers: number },
): Promise<FanOut> {
	let deliveries = 0;
	let begun = 0;
	let ended = 0;
	const all: LeanClient[] = [];
	for (let index = 0; index < subscribers; index++) {
		const subscriber = await connectLean(port, {
			onMessage(bytes, start) {
				if (!isSessionEvent(bytes, start)) return;
				ended = performance.now();
				if (deliveries++ === 0) begun = ended;
			},
		});
		subscriber.send([
			JSON.stringify({ type: "subscribe", lifecycle: "none" }),
			JSON.stringify({ type: "subscribe", sessionId }),
		]);
		all.push(subscriber);
	}
	const seq = async () => (await client.request("switch_session", { sessionId })).data.seq;
	// Answered after the subscriptions of the others, which were sent before.
	const before = await seq();
	await client.request("prompt", { sessionId, message: "go", waitFor: "settled" });
	const events = (await seq()) - before;
	while (deliveries < events * subscribers && performance.now() - ended < 1_000) {
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
	for (const subscriber of all) subscriber.close();
	return { perSecond: (deliveries / (ended - begun)) * 1000, deliveries, events };
}
