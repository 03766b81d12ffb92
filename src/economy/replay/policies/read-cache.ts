import type { PolicyName, RequestPolicy } from "../policy.ts";
import { createReadReplacer } from "../replaced-reads.ts";
import type { Step } from "../requests.ts";
import { appendOnly } from "./append-only.ts";

/** Files that the model has before it are not sent again. */
export const readCache = withReadCache(appendOnly, {
	name: "read-cache",
	description: "repeated reads become a marker or a diff",
});

/** Another policy in a session that has the read cache: what it takes out of a request is read in full the next time. */
export function withReadCache(policy: RequestPolicy, called: PolicyName): RequestPolicy {
	return {
		...called,
		*requests(session) {
			const reads = createReadReplacer();
			let offered: Step["blocks"] = [];
			/** Content that the policy was given for the latest request and did not send. */
			let hidden: ReadonlySet<string> = new Set();
			const cached = {
				...session,
				*steps() {
					for (const step of session.steps()) {
						offered = reads.replace(step.blocks, ({ hash }) => !hidden.has(hash));
						yield { ...step, blocks: offered };
					}
				},
			};
			for (const request of policy.requests(cached)) {
				const sent = new Set(request.blocks.map(({ hash }) => hash));
				hidden = new Set(offered.map(({ hash }) => hash).filter((hash) => !sent.has(hash)));
				yield request;
			}
		},
	};
}
