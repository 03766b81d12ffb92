import { describe, expect, test } from "vitest";
import { openSession, transports, useServer } from "../support/conformance-server.ts";
import { eventsOf, fresh, type WireClient } from "../support/wire-client.ts";

const server = useServer();

describe.each(transports)("over %s", (transport) => {
	test("§6.1 events are numbered from 1 on, without hole or repetition, and the creator has them all", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withRun();
		expect(numbers(client, sessionId)).toEqual(upTo(lastOf(client, sessionId)));
		const types = eventsOf(client, sessionId).map(({ event }) => event.type);
		expect(types).toContain("agent_start");
		expect(types.at(-1)).toBe("agent_settled");
	});

	test("§6.1 subscribe with after replays exactly what came above that number", async () => {
		const { client, sessionId } = await withRun();
		const last = lastOf(client, sessionId);
		const other = await server.client("websocket");
		const after = 3;
		const subscribed = await other.ask({ type: "subscribe", sessionId, after });
		expect(subscribed.data).toMatchObject({ seq: last });
		await has(other, sessionId, last);
		const stored = numbered(other, sessionId);
		expect(stored).toEqual(numbered(client, sessionId).slice(after));
	});

	test("§6.1 subscribing with after in the midst of a run leaves neither a hole nor a repetition", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withRun();
		const others = await Promise.all([1, 2, 3].map(() => server.client("websocket")));
		const first = lastOf(client, sessionId);
		const run = client.ask({
			type: "prompt",
			sessionId,
			message: "tokens 600",
			waitFor: "settled",
		});
		for (const [index, other] of others.entries()) {
			await has(client, sessionId, first + 100 * index + 1);
			await other.ask({ type: "subscribe", sessionId, after: index * 4 });
		}
		await run;
		await settledTimes(client, sessionId, 2);
		const last = lastOf(client, sessionId);
		expect(last).toBeGreaterThan(600);
		expect(numbers(client, sessionId)).toEqual(upTo(last));
		for (const [index, other] of others.entries()) {
			await has(other, sessionId, last);
			expect(numbers(other, sessionId)).toEqual(upTo(last).slice(index * 4));
			expect(textIn(other, sessionId)).toBe(textIn(client, sessionId));
		}
	});

	test("§8.1 who repeats create_session or subscribe over another connection is subscribed there, too", async () => {
		const client = await server.client(transport);
		const sessionId = fresh("s");
		const create = { type: "create_session", id: fresh("create"), sessionId };
		const subscribe = { type: "subscribe", id: fresh("subscribe"), sessionId, after: 0 };
		await client.ask(create);
		await client.ask(subscribe);
		for (const command of [create, subscribe]) {
			const other = await server.client("websocket");
			expect(await other.ask(command)).toMatchObject({ success: true, replayed: true });
			await other.ask({ type: "set_session_name", sessionId, name: fresh("name") });
			const last = lastOf(client, sessionId);
			await has(other, sessionId, last);
			expect(numbers(other, sessionId)).toEqual(upTo(lastOf(other, sessionId)));
		}
	});

	test("§6.1 who was away while the session worked gets what it missed, and then the rest", async () => {
		const client = await server.client(transport);
		const worker = await server.client("websocket");
		const sessionId = await openSession(client);
		await client.ask({ type: "set_session_name", sessionId, name: "before" });
		await client.next(
			(frame) => frame.type === "event" && frame.event.type === "session_info_changed",
		);
		const seen = lastOf(client, sessionId);
		await client.ask({ type: "unsubscribe", sessionId });
		if (transport === "websocket") client.close();
		await worker.ask({ type: "set_session_name", sessionId, name: "meanwhile" });
		const back = await server.client(transport);
		await back.ask({ type: "subscribe", sessionId, after: seen });
		await worker.ask({ type: "set_session_name", sessionId, name: "after" });
		await has(back, sessionId, seen + 2);
		expect(numbers(back, sessionId)).toEqual([seen + 1, seen + 2]);
		expect(numbered(back, sessionId).map(({ event }) => event)).toEqual([
			{ type: "session_info_changed", name: "meanwhile" },
			{ type: "session_info_changed", name: "after" },
		]);
	});

	test("§6.1 subscribe without after gives what comes from now on, and twice is once", async () => {
		const { client, sessionId } = await withRun();
		const last = lastOf(client, sessionId);
		const other = await server.client("websocket");
		await other.ask({ type: "subscribe", sessionId });
		await other.ask({ type: "subscribe", sessionId });
		await other.ask({ type: "switch_session", sessionId });
		await client.ask({ type: "set_session_name", sessionId, name: "n" });
		await has(other, sessionId, last + 1);
		await other.caughtUp();
		expect(numbers(other, sessionId)).toEqual([last + 1]);
	});

	test("§6.1 switch_session subscribes too, and leaves other subscriptions alone", async () => {
		const { client, sessionId } = await withRun();
		const second = await openSession(client);
		const other = await server.client("websocket");
		for (const id of [sessionId, second]) {
			expect(await other.ask({ type: "switch_session", sessionId: id })).toMatchObject({
				success: true,
				data: { sessionInfo: { sessionId: id } },
			});
		}
		for (const id of [sessionId, second]) {
			await client.ask({ type: "set_session_name", sessionId: id, name: "n" });
			await other.next(
				(frame) => frame.type === "event" && frame.sessionId === id && frame.seq !== undefined,
			);
		}
	});

	test("§6.1 a number that does not exist yet, and a session that does not, are refused", async () => {
		const { client, sessionId } = await withRun();
		const last = lastOf(client, sessionId);
		expect(await client.ask({ type: "subscribe", sessionId, after: last + 1_000 })).toMatchObject({
			success: false,
			code: "not_found",
		});
		for (const type of ["subscribe", "unsubscribe", "switch_session"]) {
			expect(await client.ask({ type, sessionId: fresh("nobody") })).toMatchObject({
				success: false,
				code: "unknown_session",
			});
		}
	});

	test("§6.1 what extensions show comes once: with the events, or again to who comes too late for them", async () => {
		const { client, sessionId } = await withRun();
		const shownTo = (one: WireClient) =>
			eventsOf(one, sessionId).flatMap(({ event, seq }) =>
				event.type === "extension_ui_request" && event.method === "setWidget" ? [seq] : [],
			);
		const [number = 0] = shownTo(client);
		expect(shownTo(client)).toEqual([number]);
		expect(number).toBeGreaterThan(0);
		for (const after of [0, number - 1, number, undefined]) {
			const other = await server.client("websocket");
			await other.ask({ type: "subscribe", sessionId, ...(after !== undefined && { after }) });
			await other.ask({ type: "set_session_name", sessionId, name: fresh("name") });
			await has(other, sessionId, lastOf(client, sessionId));
			await other.caughtUp();
			const isLate = after === undefined || after >= number;
			expect(shownTo(other)).toEqual([isLate ? undefined : number]);
		}
	});

	test("§6.1 who knows a session that was deleted is told by a gap that another one of its id goes on", async () => {
		const { client, sessionId } = await withRun();
		const last = lastOf(client, sessionId);
		const before = client.frames.length;
		await client.ask({ type: "delete_session", sessionId });
		await openSession(client, sessionId);
		await client.ask({ type: "prompt", sessionId, message: "say anew", waitFor: "settled" });
		await settledTimes(client, sessionId, 2);
		const anew = numbers(client, sessionId).slice(last);
		expect(anew).toEqual(upTo(anew.at(-1) ?? 0).slice(last + 1));
		expect(client.frames.slice(before).map(({ type }) => type)).not.toContain("gap");
		for (const after of [3, last, last + 1]) {
			const other = await server.client("websocket");
			await other.ask({ type: "subscribe", sessionId, after });
			await has(other, sessionId, anew.at(-1) ?? 0);
			expect(numbers(other, sessionId)).toEqual(anew);
			const gaps = other.frames.filter(({ type }) => type === "gap");
			const gap = { type: "gap", sessionId, fromSeq: after + 1, toSeq: last + 1 };
			expect(gaps).toEqual(after <= last ? [gap] : []);
		}
	});

	async function withRun() {
		const client = await server.client(transport);
		const sessionId = await openSession(client);
		await client.ask({ type: "prompt", sessionId, message: "say hello", waitFor: "settled" });
		await settledTimes(client, sessionId, 1);
		return { client, sessionId };
	}
});

/** Events with a number: a dialog that is shown again has none. */
function numbered(client: WireClient, sessionId: string) {
	return eventsOf(client, sessionId).filter(({ seq }) => seq !== undefined);
}

/** What events it has, where several deltas that came as one count as all of them. */
function numbers(client: WireClient, sessionId: string): number[] {
	return numbered(client, sessionId).flatMap(({ seq = 0, fromSeq = seq }) =>
		Array.from({ length: seq - fromSeq + 1 }, (_, index) => fromSeq + index),
	);
}

/** The text of all answers. */
function textIn(client: WireClient, sessionId: string): string {
	return eventsOf(client, sessionId)
		.map(({ event }) =>
			event.type === "message_update" && event.assistantMessageEvent.type === "text_delta"
				? event.assistantMessageEvent.delta
				: "",
		)
		.join("");
}

function lastOf(client: WireClient, sessionId: string): number {
	return numbers(client, sessionId).at(-1) ?? 0;
}

function upTo(last: number): number[] {
	return Array.from({ length: last }, (_, index) => index + 1);
}

/** So many runs of the session are over, and this client knows of it. */
function settledTimes(client: WireClient, sessionId: string, times: number) {
	let seen = 0;
	return client.next((frame) => {
		if (frame.type !== "event" || frame.sessionId !== sessionId) return false;
		return frame.event.type === "agent_settled" && ++seen === times;
	});
}

function has(client: WireClient, sessionId: string, seq: number) {
	return client.next(
		(frame) => frame.type === "event" && frame.sessionId === sessionId && (frame.seq ?? 0) >= seq,
	);
}
