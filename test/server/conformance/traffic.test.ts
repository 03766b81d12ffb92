// @module-tag slow
import { describe, expect, test } from "vitest";
import { trafficFolder } from "../../../src/traffic/index.ts";
import { Recorder } from "../../../src/traffic/recorder.ts";
import { atEnd } from "../../support/temp.ts";
import { StandIn, says } from "../../traffic/stand-in.ts";
import { transports, useServer } from "../support/conformance-server.ts";
import type { WireClient } from "../support/wire-client.ts";

const server = useServer();

describe.each(transports)("traffic over %s", (transport) => {
	test("a subscriber gets an event for each request, until it unsubscribes", async () => {
		const client = await server.client(transport);
		const { agentDir } = server.process;
		const folder = trafficFolder({ PI_CODING_AGENT_DIR: agentDir });
		const { data: listed } = await client.ask({ type: "list_conversations" });
		expect(listed).toMatchObject({ truncated: false });
		expect(await client.ask({ type: "get_conversation", conversation: 99 })).toMatchObject({
			success: false,
			code: "not_found",
		});
		expect(await client.ask({ type: "subscribe", traffic: true })).toMatchObject({
			data: { traffic: true },
		});
		const send = await recording(folder, transport);
		const { conversation, request } = await send();
		await client.next(
			(frame) => frame.type === "request_billed" && frame.data.request.id === request,
		);
		expect(await client.ask({ type: "get_conversation", conversation })).toMatchObject({
			data: { conversation: { requests: 1 }, requests: [{ id: request }] },
		});
		await client.ask({ type: "subscribe", traffic: false });
		const before = billed(client);
		await send();
		const follower = await server.client("websocket");
		await follower.ask({ type: "subscribe", traffic: true });
		await send();
		await follower.next(({ type }) => type === "request_billed");
		await client.caughtUp();
		expect(billed(client)).toBe(before);
		follower.close();
	});
});

function billed({ frames }: WireClient): number {
	return frames.filter(({ type }) => type === "request_billed").length;
}

/** Returns a function that books one request of a session with that name. */
async function recording(folder: string, session: string) {
	const recorder = await Recorder.open({ folder, keepDays: 30, keepTexts: false });
	atEnd(() => recorder.close());
	const provider = new StandIn();
	provider.nowMs = Date.now();
	const requestHeaders = { "x-claude-code-session-id": session };
	return async () => {
		const exchange = provider.exchange({ messages: [says(session)] }, { requestHeaders });
		const recorded = await recorder.add(exchange);
		if (recorded.kind !== "booked") throw new Error(recorded.kind);
		return recorded;
	};
}
