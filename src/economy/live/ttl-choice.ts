import type { PromptTokens, Ttl } from "../../core/bill.ts";
import type { Config } from "../../core/config.ts";
import { counted } from "../../text/figures.ts";
import type { CacheRules, ModelInfo } from "../rules.ts";
import { readPauses } from "./pause-history.ts";
import { piecesIn, settingsIn } from "./payload-blocks.ts";
import { withTtl } from "./set-ttls.ts";
import { canSetTtl, LiveTtl } from "./ttl.ts";

/** What the choice needs of a session. */
interface TtlSession {
	readonly config: Pick<Config, "economy">;
	readonly model: ModelInfo | undefined;
	readonly cache: { readonly rules: CacheRules; noteTtl(ttl: Ttl): void };
	readonly sessionManager: {
		getSessionDir?(): string;
		getSessionFile?(): string | undefined;
	};
}

/** The setting `economy.ttl` in a session: which lifetime the next request asks for. */
export class TtlChoice {
	#live: LiveTtl | undefined;
	/** Whether the request in flight was chosen for. */
	#isWatched = false;

	/** The lifetime of the next writes, if it is chosen here; it is nearly always the short one. */
	get next(): Ttl | undefined {
		return this.#live?.isChoosing ? "5m" : undefined;
	}

	choose(payload: unknown, session: TtlSession): object | undefined {
		this.#isWatched = false;
		const { config, cache, model } = session;
		const { ttl } = config.economy;
		const { rules } = cache;
		if (ttl === "off" || typeof payload !== "object" || payload === null) return undefined;
		if (!model || !canSetTtl(model, rules)) return undefined;
		if (ttl !== "auto") return withTtl(payload, ttl);
		this.#live ??= startedIn(session);
		this.#isWatched = true;
		const prefix = `${model.provider}/${model.id} ${settingsIn(payload)}`;
		const pieces = piecesIn(payload);
		return this.#live.choose({ payload, pieces, prefix, rules, atMs: Date.now() });
	}

	/** For the user; empty if nothing was chosen. */
	get lines(): string[] {
		const { longRequests = 0, isRefuted = false } = this.#live ?? {};
		const failed =
			"lifetime: the first prompt to be cached for an hour failed, so no further one will be";
		if (longRequests === 0) return isRefuted ? [failed] : [];
		const chosen = `lifetime: ${counted(longRequests, "prompt")} cached for an hour, by price`;
		const lost = "; the provider did not keep one for that long, so no further one will be";
		return [isRefuted ? chosen + lost : chosen];
	}

	recordBill(tokens: PromptTokens, { cache }: TtlSession): void {
		if (!this.#isWatched) return;
		this.#isWatched = false;
		this.#live?.recordBill(tokens);
		if (this.#live?.holdsLong) cache.noteTtl("1h");
	}

	recordFailure(): void {
		if (this.#isWatched) this.#live?.recordFailure();
		this.#isWatched = false;
	}
}

/** Reads the user's earlier pauses in the background: the first requests go by the usual ones. */
function startedIn({ sessionManager, cache }: TtlSession): LiveTtl {
	const live = new LiveTtl();
	const folder = sessionManager.getSessionDir?.();
	const own = sessionManager.getSessionFile?.();
	// A session that is not stored has no folder.
	if (folder && own !== undefined) {
		void readPauses(folder, own, cache.rules).then((pauses) => live.learn(pauses));
	}
	return live;
}
