import { expect, test } from "vitest";
import { InboxPool } from "../../../src/server/transports/connections.ts";
import { fc } from "../../support/property.ts";

const MOST = 1_000_000;

test("never more than the limit is held, and who holds little next to others is left alone", () => {
	const step = fc.record({ who: fc.nat(11), bytes: fc.nat(400_000) });
	fc.assert(
		fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
			const pool = new InboxPool(MOST);
			const held = new Map<number, number>();
			const sumOf = (principal: number) =>
				[...held].reduce((sum, [who, bytes]) => sum + (who % 3 === principal ? bytes : 0), 0);
			const members = Array.from({ length: 12 }, (_, who) => ({
				principal: String(who % 3),
				disconnect() {
					const sums = [0, 1, 2].map(sumOf);
					expect(sumOf(who % 3)).toBe(Math.max(...sums));
					held.delete(who);
				},
			}));
			for (const { who, bytes } of steps) {
				const counted = bytes > 65_536 ? bytes : 0;
				held.set(who, counted);
				pool.hold(members[who] as (typeof members)[0], bytes);
				expect([...held.values()].reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(MOST);
			}
		}),
	);
});
