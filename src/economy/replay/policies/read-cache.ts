import type { Block } from "../../request.ts";
import type { PolicyName, RequestPolicy } from "../policy.ts";
import { createReadReplacer } from "../replaced-reads.ts";
import type { Step } from "../requests.ts";
import { sharedStart } from "../shared-start.ts";
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
			let blocks: Step["blocks"] = [];
			/** Content that the policy was given for the latest request, and what it sent of it. */
			const offered = createContents();
			const sent = createContents();
			const isVisible = ({ hash }: Block) => sent.has(hash) || !offered.has(hash);
			const cached = {
				...session,
				*steps() {
					for (const step of session.steps()) {
						blocks = reads.replace(step.blocks, isVisible);
						yield { ...step, blocks };
					}
				},
			};
			for (const request of policy.requests(cached)) {
				offered.follow(blocks);
				sent.follow(request.blocks);
				yield request;
			}
		},
	};
}

/** The contents of the latest of many requests. */
function createContents() {
	const counts = new Map<string, number>();
	let before: readonly Block[] = [];
	const add = (blocks: readonly Block[], by: 1 | -1) => {
		for (const { hash } of blocks) {
			const count = (counts.get(hash) ?? 0) + by;
			if (count > 0) counts.set(hash, count);
			else counts.delete(hash);
		}
	};
	return {
		has: (hash: string) => counts.has(hash),
		follow(blocks: readonly Block[]): void {
			const known = sharedStart(before, blocks);
			add(before.slice(known), -1);
			add(blocks.slice(known), 1);
			before = blocks;
		},
	};
}
