import { promptOf } from "../billed.ts";
import type { ReplayPolicy } from "../policy.ts";

/** The same requests to a provider that caches nothing. */
export const noCache: ReplayPolicy = {
	name: "no-cache",
	description: "the same requests without any caching",
	bills: (session) =>
		session.bills.map(({ billed }) => ({
			input: promptOf(billed),
			read: 0,
			write: 0,
			writeOneHour: 0,
		})),
};
