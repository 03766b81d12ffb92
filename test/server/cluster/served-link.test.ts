import { expect, test } from "vitest";
import type { Link } from "../../../src/server/cluster/link.ts";
import { ServedLink } from "../../../src/server/cluster/served-link.ts";
import { Message, type PrincipalRelay } from "../../../src/server/engine/message.ts";

/** What another server wants, with an engine that only notes it. */
function createServed() {
	const trusted = new Set<string>();
	const sent: string[] = [];
	const received: string[] = [];
	const relays = new Set<PrincipalRelay>();
	const link = {
		isOpen: true,
		hasRoom: true,
		send: (kind: string, head: unknown, body = "") =>
			sent.push(`${kind} ${JSON.stringify(head)} ${body}`),
	} as unknown as Link;
	const served = new ServedLink({
		link,
		engine: {
			connect: () => {},
			disconnect: () => {},
			receive: (_client, bytes) => received.push(String(bytes)),
			addRelay(_principal, relay) {
				relays.add(relay);
				return () => relays.delete(relay);
			},
		},
		streams: { join: () => 0, unsubscribe: () => {}, lastOf: () => 0 },
		maxFrameBytes: 1_000_000,
		mayActFor: (principal) => trusted.has(principal),
		onEnd: () => {},
	});
	const notice = () => {
		for (const relay of relays) relay.send(Message.fromJson('{"type":"notice"}'), "notice");
		return sent.splice(0);
	};
	return { served, trusted, sent, received, relays, notice };
}

test("a principal whose token this server reads later gets its notices from then on, until it is revoked", () => {
	const { served, trusted, notice } = createServed();
	served.onInterest("ann", "notices");
	expect(notice()).toEqual([]);
	trusted.add("ann");
	expect(notice()).toEqual(['notice ["ann","notice"] {"type":"notice"}']);
	trusted.delete("ann");
	expect(notice()).toEqual([]);
});

test("a command for a principal without a token is refused, and does not reach the engine", () => {
	const { served, trusted, sent, received } = createServed();
	const command = '{"type":"get_state","id":"c","sessionId":"s"}';
	served.onCommand([7, "client", "ann", "none"], command);
	expect(received).toEqual([]);
	expect(sent).toHaveLength(1);
	expect(sent[0]).toMatch(/^response 7 \{.*"success":false/);
	trusted.add("ann");
	served.onCommand([8, "client", "ann", "none"], command);
	expect(received).toEqual([command]);
});

test("nothing is relayed when the other server has no client of the principal any more, or is gone", () => {
	const { served, trusted, relays } = createServed();
	trusted.add("ann").add("bob");
	served.onInterest("ann", "all");
	served.onInterest("bob", "all");
	served.onInterest("ann", "none");
	expect(relays.size).toBe(1);
	served.close();
	expect(relays.size).toBe(0);
});
