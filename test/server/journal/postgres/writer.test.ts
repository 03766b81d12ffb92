import { expect, test } from "vitest";
import { SessionLost } from "../../../../src/server/journal/journal.ts";
import type { Connection } from "../../../../src/server/journal/postgres/connection.ts";
import { type Held, heldOf } from "../../../../src/server/journal/postgres/held.ts";
import { DatabaseWriter } from "../../../../src/server/journal/postgres/writer.ts";
import { event } from "../../../contracts/journal.ts";

const name = { principal: "ann", sessionId: "s" };

test("a statement is not sent again for a session that was lost meanwhile", async () => {
	const held = heldOf(name, { head: "1", epoch: "1", claim: "c", last: "0" });
	let sent = 0;
	const query = async () => {
		sent++;
		if (sent > 1) return { rows: [{ alive: "1", held: ["1"], commands: "0" }] };
		// The lease finds that this server was given up, and registers it under a new id.
		held.isLost = true;
		throw new Error("the connection was cut");
	};
	const writer = writerOf({ query }, held);
	const reply = await writer.write({
		kind: "write",
		records: [{ kind: "event", event: event(1) }],
		durable: true,
	});
	expect(reply).toMatchObject({ kind: "written" });
	expect("refused" in reply && reply.refused?.get(0)).toBeInstanceOf(SessionLost);
	expect(sent).toBe(1);
});

test("a statement has the time that its size needs", async () => {
	const held = heldOf(name, { head: "1", epoch: "1", claim: "c", last: "0" });
	const given: number[] = [];
	const query = async (_: unknown, extraMs: number) => {
		given.push(extraMs);
		return { rows: [{ alive: "1", held: ["1"], commands: "0" }] };
	};
	const writer = writerOf({ query }, held);
	for (const size of [10, 3_000_000]) {
		const bodies = [JSON.stringify("x".repeat(size))];
		const entries = { kind: "entries", ...name, conversation: "c", from: 0, bodies } as const;
		await writer.write({ kind: "write", records: [entries], durable: true });
	}
	expect(given[0]).toBeLessThan(10);
	expect(given[1]).toBeGreaterThanOrEqual(3_000);
});

function writerOf(connection: object, held: Held): DatabaseWriter {
	return new DatabaseWriter({
		connection: connection as Connection,
		nodeId: () => "n",
		rightOf: () => held,
		reserve: async () => undefined,
		onLost() {},
		onBuried: async () => {},
		patienceMs: 60_000,
		opened: async () => {},
	});
}
