import { getOrAdd } from "../../core/get-or-add.ts";
import { CacheSimulator } from "../cache-simulator.ts";
import type { Block, ModelRequest } from "../model-request.ts";
import { requestForStep } from "../place-breakpoints.ts";
import { createRewriteCredit } from "../rewrite.ts";
import { costOf } from "../rules.ts";
import { addPauses, chooseTtl, hasTwoTtls, pauseOf, USUAL_PAUSES } from "../ttl-rule.ts";
import { promptSize } from "./billed.ts";
import { fullName } from "./entry.ts";
import type { RequestPolicy } from "./policies.ts";
import type { Step } from "./requests.ts";
import { tokensOf } from "./step-prices.ts";

/** Chooses the lifetime of each request's cache entries from the pauses of the session so far, by price. */
export const ttlAuto: RequestPolicy = {
	name: "ttl-auto",
	description: "the agent's own requests, cached for the short or the long lifetime by price",
	*requests(session) {
		const replay = new TtlReplay();
		for (const step of session.steps()) yield replay.requestOf(step);
	},
};

/** The newest entry that lives for the long time: up to which block, and how many tokens it covers. */
interface Anchor {
	readonly after: number;
	readonly tokens: number;
}

/** Changes after which a provider may hold nothing of the prompt. */
const LOSING = ["model", "tools", "system", "thinking"] as const;

const NO_ANCHOR: Anchor = { after: -1, tokens: 0 };

class TtlReplay {
	readonly #credit = createRewriteCredit();
	readonly #caches = new Map<string, CacheSimulator>();
	readonly #ownCaches = new Map<string, CacheSimulator>();
	#pauses = USUAL_PAUSES;
	#anchor = NO_ANCHOR;
	#before: Step | undefined;

	requestOf(step: Step): ModelRequest {
		const own = requestForStep(step, step.blocks);
		const { rules } = step.model;
		const request = hasTwoTtls(rules) ? this.#chosen(step, own) : own;
		const bill = (caches: Map<string, CacheSimulator>, sent: ModelRequest) => {
			const name = fullName(step.model.name);
			return costOf(getOrAdd(caches, name, () => new CacheSimulator(rules)).send(sent), rules);
		};
		this.#credit.add(bill(this.#caches, request), bill(this.#ownCaches, own));
		this.#before = step;
		return request;
	}

	#chosen(step: Step, own: ModelRequest): ModelRequest {
		const { blocks } = step;
		const { breakpoints } = own;
		const cached = this.#follow(step);
		const tail = breakpoints.at(-1)?.after ?? blocks.length - 1;
		const prompt = promptSize(step.billed) - tokensOf(blocks.slice(tail + 1));
		const ttl = chooseTtl({
			rules: step.model.rules,
			prompt,
			cached,
			anchored: this.#anchor.tokens,
			pauses: this.#pauses,
			own: step.ttl,
			credit: this.#credit.left(),
		});
		const { after } = this.#anchor;
		if (ttl === "1h") this.#anchor = { after: tail, tokens: prompt };
		const places = new Set(breakpoints.map((breakpoint) => breakpoint.after));
		if (after >= 0 && after < tail) places.add(after);
		const most = step.model.rules.maxBreakpoints;
		// The breakpoint at a long entry keeps it alive. If it is gone, writing it costs no more than without it.
		return {
			...own,
			breakpoints: [...places]
				.sort((a, b) => a - b)
				.slice(-most)
				.map((place) => ({ after: place, ttl })),
		};
	}

	/** Learns the pause before the request, and returns how many tokens of it are still cached. */
	#follow(step: Step): number {
		const { blocks, atMs, model, changes } = step;
		const before = this.#before;
		if (!before) return 0;
		const { ttlMs } = model.rules;
		const gapMs = atMs - before.atMs;
		this.#pauses = addPauses(this.#pauses, pauseOf(gapMs, model.rules));
		const isLost = gapMs >= ttlMs["1h"] || LOSING.some((change) => changes.has(change));
		const rearranged = changes.has("compaction") || changes.has("edit") || changes.has("branch");
		const known = rearranged ? sameStart(before.blocks, blocks) : before.blocks.length;
		if (isLost || known <= this.#anchor.after) this.#anchor = NO_ANCHOR;
		if (isLost) return 0;
		if (gapMs >= ttlMs["5m"]) return this.#anchor.tokens;
		return rearranged ? tokensOf(blocks.slice(0, known)) : promptSize(before.billed);
	}
}

function sameStart(before: readonly Block[], now: readonly Block[]): number {
	const most = Math.min(before.length, now.length);
	for (let at = 0; at < most; at++) if (before[at]?.hash !== now[at]?.hash) return at;
	return most;
}
