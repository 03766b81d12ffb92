import type { ReplayPolicy } from "../policy.ts";

/** What the provider really billed. */
export const billed: ReplayPolicy = {
	name: "billed",
	description: "what the provider billed",
	bills: (session) => session.bills.map((bill) => bill.billed),
};
