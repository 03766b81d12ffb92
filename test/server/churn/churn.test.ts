import { expect, test } from "vitest";
import { growth, runChurn } from "./churn-run.ts";

const MEGABYTE = 2 ** 20;

test("sessions and clients that have gone take nothing with them", { tags: "slow" }, async () => {
	const held = await runChurn({ warmup: 1, rounds: 9, sessions: 8, connections: 30 });
	expect(growth(held, "handles")).toBeLessThanOrEqual(1);
	expect(growth(held, "heapBytes")).toBeLessThan(4 * MEGABYTE);
});
