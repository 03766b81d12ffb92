import type { Ttl } from "../../core/bill.ts";
import type { Config } from "../../core/config.ts";
import type { CacheRules, Coldness, ModelInfo } from "../rules.ts";
import {
	type ColdMoment,
	type ColdPruning,
	coldChoices,
	coldMomentOf,
	coldText,
} from "./cold-moment.ts";

/** What the notice needs of a session. */
interface ColdSession {
	readonly config: Pick<Config, "economy">;
	readonly model: ModelInfo | undefined;
	readonly modelRegistry: { isUsingOAuth?(model: ModelInfo): boolean };
	readonly cache: { readonly coldness: Coldness; readonly rules: CacheRules; readonly ttl: Ttl };
	readonly window: { readonly tokens: number | undefined };
	readonly mode: string;
	readonly hasUI: boolean;
	readonly ui: {
		notify(text: string, type: "info" | "warning"): void;
		select(title: string, choices: string[]): Promise<string | undefined>;
		getEditorText(): string;
		setEditorText(text: string): void;
	};
	compact(options: { onComplete(): void; onError(error: Error): void }): void;
}

/** What pruning does with a request to a cold cache. */
export interface ColdPruner<Session> {
	preview(session: Session): Promise<ColdPruning>;
	/** Leaves the next request to a cold cache as it is. */
	skipNext(): void;
}

export const NO_PRUNER: ColdPruner<unknown> = {
	preview: async () => ({ freedTokens: 0, bound: 0 }),
	skipNext: () => {},
};

export interface Input {
	readonly text: string;
	readonly hasImages: boolean;
	/** Whether the user typed it, rather than an extension or a client. */
	readonly isTyped: boolean;
}

/** Says once per cold moment what the next request costs, and asks in the terminal how to go on. */
export class ColdNotice<Session extends ColdSession> {
	readonly #pruner: ColdPruner<Session>;
	readonly #nextTtl: () => Ttl | undefined;
	#isDone = false;

	/** `nextTtl`: the lifetime of the next writes, if it is not that of the last ones. */
	constructor(pruner: ColdPruner<Session>, nextTtl: () => Ttl | undefined = () => undefined) {
		this.#pruner = pruner;
		this.#nextTtl = nextTtl;
	}

	/** Call this at every answer: the cache is warm from then on. */
	noteAnswer(): void {
		this.#isDone = false;
	}

	/** For a session that was resumed. If the user will be asked, the question comes with the first prompt. */
	async onStart(session: Session): Promise<void> {
		if (!canAsk(session)) await this.#notify(session);
	}

	/** Returns false if the prompt must not be sent. */
	async onInput(input: Input, session: Session): Promise<boolean> {
		// A prompt with images, or of an extension, could not be given back.
		if (!canAsk(session) || input.hasImages || !input.isTyped) {
			await this.#notify(session);
			return true;
		}
		const moment = await this.#momentIn(session);
		return moment === undefined || (await this.#ask(moment, input, session));
	}

	async #notify(session: Session): Promise<void> {
		const moment = await this.#momentIn(session);
		if (!moment) return;
		session.ui.notify(`pi-strata: ${coldText(moment, isSubscribed(session))}`, "info");
	}

	async #ask(moment: ColdMoment, { text }: Input, session: Session): Promise<boolean> {
		const choices = coldChoices(moment);
		const title = `pi-strata: ${coldText(moment)}`;
		const { ui } = session;
		const answer = await ui.select(title, [...choices.keys()]);
		const choice = answer === undefined ? undefined : choices.get(answer);
		if (choice === "send") this.#pruner.skipNext();
		if (choice === "send" || choice === "prune") return true;
		if (choice === "compact") {
			// Pi sends the prompts that it queued meanwhile. One more at the same time would be lost.
			const failure = await compacted(session);
			if (failure === undefined) ui.notify("pi-strata: compacted; Enter sends the prompt", "info");
			else ui.notify(`pi-strata: not sent: ${failure}`, "warning");
		}
		const typed = ui.getEditorText();
		ui.setEditorText(typed === "" ? text : `${text}\n${typed}`);
		return false;
	}

	async #momentIn(session: Session): Promise<ColdMoment | undefined> {
		const { config, cache, window, model } = session;
		const { coldNotice, coldThreshold } = config.economy;
		if (this.#isDone || coldNotice === "off" || !model || !window.tokens) return undefined;
		const { coldness, rules } = cache;
		const ttl = this.#nextTtl() ?? cache.ttl;
		if (!coldness.cold || coldness.why !== "gap") return undefined;
		const next = { tokens: window.tokens, model, rules, ttl };
		const nothing = { freedTokens: 0, bound: 0 };
		const whole = coldMomentOf({ ...next, pruning: nothing });
		if (!whole || whole.dollars < coldThreshold) return undefined;
		this.#isDone = true;
		const pruning = await this.#pruner.preview(session).catch(() => nothing);
		return coldMomentOf({ ...next, pruning });
	}
}

/** Only a terminal waits for an answer; print and RPC modes are never blocked. The ways differ in dollars. */
function canAsk(session: ColdSession): boolean {
	const { config, mode, hasUI } = session;
	if (isSubscribed(session)) return false;
	return config.economy.coldNotice === "ask" && mode === "tui" && hasUI;
}

function isSubscribed({ model, modelRegistry }: ColdSession): boolean {
	return model !== undefined && modelRegistry.isUsingOAuth?.(model) === true;
}

/** Returns why it failed; `undefined` if the session was compacted. */
function compacted(session: ColdSession): Promise<string | undefined> {
	return new Promise((resolve) => {
		session.compact({
			onComplete: () => resolve(undefined),
			onError: ({ message }) => resolve(message),
		});
	});
}
