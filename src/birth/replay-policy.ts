import {
	appendOnly,
	clearing,
	type PolicyName,
	type ReplayPolicy,
	type ReplaySession,
	type RequestPolicy,
	replayPolicies,
	strataPolicy,
	tokensOf,
} from "../economy/replay/index.ts";
import type { BirthParts } from "./birth.ts";
import { BirthReplay, type ReplayedBirth, type ResultTextOf } from "./birth-replay.ts";
import { createLoudMatcher } from "./loud.ts";
import { type BirthConfig, partsFor } from "./parts.ts";
import { defaultBirth } from "./settings.ts";

const DEFAULT: ReplayedBirth = { parts: defaultBirth, isLoud: () => false };

function replayedBirth(config: BirthConfig | undefined): ReplayedBirth {
	if (!config) return DEFAULT;
	return { parts: partsFor(config), isLoud: createLoudMatcher(config.quietExcept) };
}

/** Decides with the code of live sessions, from the session's start. Excluded files are unknown. */
export function birthPolicies(
	textOf: ResultTextOf,
	config?: BirthConfig,
): readonly [RequestPolicy, RequestPolicy, RequestPolicy] {
	const replayed = replayedBirth(config);
	const { dedupe, quiet } = replayed.parts;
	const alone = (name: string, description: string, parts: BirthParts) =>
		withBirth(appendOnly, { name, description }, textOf, { ...replayed, parts });
	return [
		alone("birth", "results refer to lines that earlier results show", {
			...(dedupe && { dedupe }),
		}),
		alone("quiet", "output of commands as a terminal shows it, folded", {
			...(quiet && { quiet }),
		}),
		alone("birth-quiet", "birth and quiet together", replayed.parts),
	];
}

/**
 * The policies that replay compares, and `further` ones that it compares only when they are named. `strata` is
 * what ships: birth and quiet, and pruning where thinking is not bound. `birth-clearing` ships in shadow.
 * `pruning` runs the pruning system's own code. Without `config`, birth has its default settings.
 */
export function policiesWithBirth(
	pruning: RequestPolicy,
	textOf: ResultTextOf,
	config?: BirthConfig,
): { readonly usual: readonly ReplayPolicy[]; readonly further: readonly ReplayPolicy[] } {
	const [birth, quiet, both] = birthPolicies(textOf, config);
	const together = (name: string, policy: RequestPolicy) => {
		const called = { name, description: `birth and quiet, and ${policy.description}` };
		return withBirth(policy, called, textOf, replayedBirth(config));
	};
	return {
		usual: [...replayPolicies, birth, quiet, strataPolicy(together("strata", pruning)), pruning],
		further: [both, together("birth-clearing", clearing)],
	};
}

/** Shortens results before a policy sees them. No result refers to one that the policy has replaced. */
export function withBirth(
	policy: RequestPolicy,
	called: PolicyName,
	textOf: ResultTextOf,
	replayed: ReplayedBirth = DEFAULT,
): RequestPolicy {
	return {
		...called,
		*requests(session) {
			const replay = new BirthReplay(replayed, textOf);
			const shortened: ReplaySession = {
				...session,
				sealResults: () => replay.seal(),
				*steps() {
					for (const step of session.steps()) {
						const blocks = replay.blocksOf(step);
						yield { ...step, blocks, savedTokens: tokensOf(step.blocks) - tokensOf(blocks) };
					}
				},
			};
			for (const request of policy.requests(shortened)) {
				replay.follow(request.blocks);
				yield request;
			}
		},
	};
}
