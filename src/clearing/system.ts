import { CLEARING_ENTRY } from "../core/entry-types.ts";
import { createPerFolder, type SessionView, type Spine, type System } from "../session/index.ts";
import { counted, grouped } from "../text/figures.ts";
import { clearedIn } from "./applied.ts";
import type { LiveClearing, ReadFacts } from "./live.ts";
import { stateOf } from "./state.ts";

type Answer = Parameters<NonNullable<System["onAnswer"]>>[0];

/**
 * Drives the provider's own clearing of old results. What was asked for is compared with what the provider says it
 * did; without that report, as in pi before 1.5, nothing is asked for.
 */
export class ClearingSystem implements System {
	readonly name = "clearing";
	readonly #spine: Spine;
	readonly #perFolder: ReturnType<typeof createPerFolder<LiveClearing>>;
	/** Whether this pi passes the provider's events on. */
	#hasEvents = false;
	/** How many results the provider has cleared in the request in flight, as far as it says so. */
	#applied = 0;
	#lastOff: string | undefined;

	constructor(spine: Spine, facts: ReadFacts) {
		this.#spine = spine;
		this.#perFolder = createPerFolder({
			open: async (session) => new (await import("./live.ts")).LiveClearing(session, facts),
		});
	}

	status({ config }: SessionView) {
		const { mode } = config.clearing;
		if (mode === "off") return { on: false, why: "clearing.mode is off" };
		if (mode === "shadow")
			return {
				on: true,
				why: "shadow: counts what clearing old results at the provider would save",
			};
		if (!config.blobs.enabled) return { on: false, why: "blobs.enabled is false" };
		if (config.blobs.scope !== "all") return { on: false, why: "blobs.scope is not all" };
		if (!this.#hasEvents)
			return { on: true, why: "waits until pi reports what the provider clears: pi 1.5 or later" };
		return { on: true, why: "the provider clears old results when that pays" };
	}

	async start(): Promise<void> {
		this.#applied = 0;
		this.#lastOff = undefined;
		await this.#perFolder.clear();
	}

	stop(): Promise<void> {
		return this.#perFolder.clear();
	}

	async onRequest(messages: readonly { readonly role: string }[], session: SessionView) {
		if (this.#applies(session) && messages.some(({ role }) => role === "toolResult")) {
			(await this.#perFolder.get(session)).isCold = session.cache.coldness.cold;
		}
		return messages;
	}

	onPayload(payload: unknown, session: SessionView): object | undefined {
		this.#applied = 0;
		if (!this.#applies(session)) return undefined;
		const isOn = this.#isOn(session);
		if (!isOn && session.config.clearing.mode === "on") return undefined;
		return this.#perFolder.ready?.onPayload(payload, session, isOn);
	}

	onStreamEvent(data: unknown): void {
		this.#hasEvents = true;
		this.#applied = clearedIn(data) ?? this.#applied;
	}

	onAnswer({ failed, billed }: Answer, session: SessionView): void {
		const live = this.#perFolder.ready;
		if (!live || failed || !billed || !this.#applies(session)) return;
		const cleared = live.onAnswer(session, this.#isOn(session));
		if (cleared === undefined || cleared === this.#applied) return;
		const off = `the provider cleared ${counted(this.#applied, "result")} instead of ${cleared}`;
		this.#lastOff = off;
		this.#spine.host.appendEntry(CLEARING_ENTRY, { v: 1, off });
		session.ui.notify(`pi-strata: clearing is off for this session: ${off}`, "warning");
	}

	/** A cold cache is written anyway, so clearing costs nothing then. */
	async onPrompt(_prompt: string | undefined, session: SessionView) {
		const live = this.#perFolder.ready;
		if (!live || !this.#isOn(session) || !session.cache.coldness.cold) return undefined;
		const plan = await live.plan(session, true);
		if (!plan) return undefined;
		this.#spine.host.appendEntry(CLEARING_ENTRY, plan.state);
		return { customType: CLEARING_ENTRY, content: plan.note, display: false };
	}

	async onTurnEnd(_turn: unknown, session: SessionView) {
		const live = this.#perFolder.ready;
		if (!live || !this.#isOn(session)) return [];
		const plan = await live.plan(session, false);
		if (!plan) return [];
		session.cache.notePruned();
		return [
			{ type: "custom" as const, customType: CLEARING_ENTRY, data: plan.state },
			{
				type: "custom_message" as const,
				...{ customType: CLEARING_ENTRY, content: plan.note, display: false },
			},
		];
	}

	onCompaction(): void {
		this.#perFolder.ready?.forget();
	}

	onBranch(): void {
		this.#perFolder.ready?.forget();
	}

	/** What was saved, or would have been, for the user. Empty if nothing was. */
	savings(session: SessionView): string[] {
		const live = this.#perFolder.ready;
		const { off } = stateOf(session);
		const ended = off === undefined ? [] : [`clearing: off for this session: ${off}`];
		if (!live || live.results === 0) return ended;
		const { own, agent } = live.costs;
		const share = `${((100 * (agent - own)) / agent).toFixed(1)} %`;
		const saved = `${grouped(agent - own)} plain input tokens (${share} of prompts) by estimate`;
		const results = counted(live.results, "result");
		return this.#isOn(session)
			? [`clearing: ${results} cleared, ${saved}`, ...ended]
			: [`clearing, shadow: ${results} would be cleared, which would save ${saved}`, ...ended];
	}

	/** Where thinking is not bound, pruning does the same with stubs that name their text. */
	#applies({ config, model, cache }: SessionView): boolean {
		if (config.clearing.mode === "off" || model?.api !== "anthropic-messages") return false;
		const { family, bindsThinking } = cache.rules;
		return family === "anthropic" && (bindsThinking || !config.prune.enabled);
	}

	#isOn(session: SessionView): boolean {
		const { clearing, blobs } = session.config;
		if (clearing.mode !== "on" || !blobs.enabled || blobs.scope !== "all") return false;
		if (!this.#hasEvents || this.#lastOff !== undefined) return false;
		return this.#applies(session) && stateOf(session).off === undefined;
	}
}
