import { type ClearableResult, Clearing, DEFAULT_KEEP } from "../clearing.ts";
import { sharedStart } from "../model-request.ts";
import { requestForStep } from "../place-breakpoints.ts";
import type { SessionBlock } from "./assembly.ts";
import { ANSWERS, fullName } from "./entry.ts";
import type { RequestPolicy } from "./policies.ts";
import type { ReplaySession, Step } from "./requests.ts";
import { StepPrices } from "./step-prices.ts";

/**
 * The provider's own clearing of old results, driven by us: the number of cleared results grows only when
 * that pays, so that the cached prefix is not rewritten with every request. Only on models of Anthropic,
 * where clearing is documented, and where it leaves thinking valid.
 */
export const clearing: RequestPolicy = {
	name: "clearing",
	description: `the provider clears old results when that pays, all but the newest ${DEFAULT_KEEP}`,
	*requests(session) {
		const replay = new ClearingReplay(session);
		for (const step of session.steps()) yield replay.requestOf(step);
	},
};

class ClearingReplay {
	readonly #session: ReplaySession;
	readonly #clearing = new Clearing();
	readonly #prices = new StepPrices();
	readonly #list = new ResultList();
	readonly #cleared = new Set<number>();

	constructor(session: ReplaySession) {
		this.#session = session;
	}

	requestOf(step: Step) {
		const { blocks, model, ttl, savedTokens } = step;
		if (model.rules.family !== "anthropic") return requestForStep(step, blocks);
		const { results, ids, answered } = this.#list.follow(blocks);
		const kept = ids.findIndex((id) => !this.#cleared.has(id));
		const decision = this.#clearing.next({
			model: { name: fullName(model.name), rules: model.rules },
			contextWindow: model.contextWindow,
			cold: this.#prices.isCold(step),
			...{ ttl, blocks, results, answered, savedTokens },
			cleared: kept < 0 ? ids.length : kept,
			place: (shown, frontier) => requestForStep(step, shown, frontier),
		});
		for (const id of ids.slice(0, decision.cleared)) this.#cleared.add(id);
		// Without new references, the batch is free once the newest results are others.
		if (decision.isBlocked) this.#session.sealResults?.();
		this.#prices.follow(step);
		return decision.request;
	}
}

/** The results of requests that mostly grow. */
class ResultList {
	#blocks: readonly SessionBlock[] = [];
	#results: ClearableResult[] = [];
	#ids: number[] = [];
	#places = new Map<number, number>();
	#answered = 0;

	follow(blocks: readonly SessionBlock[]) {
		const known = sharedStart(this.#blocks, blocks);
		const grows = known === this.#blocks.length;
		if (!grows) this.#startOver();
		for (let at = grows ? known : 0; at < blocks.length; at++) {
			this.#add(blocks[at] as SessionBlock, at);
		}
		this.#blocks = blocks;
		return { results: this.#results, ids: this.#ids, answered: this.#answered };
	}

	#startOver(): void {
		this.#results = [];
		this.#ids = [];
		this.#places = new Map();
		this.#answered = 0;
	}

	#add({ id, kind, refersTo = [] }: SessionBlock, at: number): void {
		if (kind === "result") {
			const bases = refersTo.flatMap((base) => this.#places.get(base) ?? []);
			this.#places.set(id, this.#results.length);
			this.#ids.push(id);
			this.#results.push({ at, ...(bases.length > 0 && { firstBase: Math.min(...bases) }) });
		} else if (ANSWERS.has(kind)) this.#answered = this.#results.length;
	}
}
