import { placeBreakpoints } from "../../place-breakpoints.ts";
import type { Block, Request } from "../../request.ts";
import type { RequestPolicy } from "../policy.ts";
import type { Step } from "../requests.ts";

/** Pi's own requests under the provider's rules: everything is appended, nothing changed. */
export const appendOnly: RequestPolicy = {
	name: "append-only",
	description: "pi's own requests, nothing lost without a known cause",
	*requests(session) {
		for (const step of session.steps()) yield requestOf(step, step.blocks);
	},
};

/** Pi's own requests, with the cache lost where the bills show that it was. */
export function appendOnlyWithLosses(isLost: (step: Step) => boolean): RequestPolicy {
	return {
		...appendOnly,
		*requests(session) {
			for (const step of session.steps()) {
				yield { ...requestOf(step, step.blocks), cold: isLost(step) };
			}
		},
	};
}

/** The request of a step with these blocks in it. `frontier`: see `placeBreakpoints`; without it the markers are pi's. */
export function requestOf(step: Step, blocks: readonly Block[], frontier?: number): Request {
	const { atMs, settings, ttl, model } = step;
	const breakpoints = placeBreakpoints({
		blocks,
		rules: model.rules,
		ttl,
		...(frontier !== undefined && { frontier }),
	});
	return { atMs, blocks, breakpoints, settings };
}
