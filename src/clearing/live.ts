import { type BlobStore, createBlobStore, storeVerified } from "../core/blob-store.ts";
import { guardBlobs } from "../core/excluded-values.ts";
import { getOrAdd } from "../core/get-or-add.ts";
import { shownPath } from "../core/places.ts";
import { estimateTokens } from "../core/tokens.ts";
import { Clearing, type ClearingStep, clearingStepOf } from "../economy/clearing.ts";
import {
	pinnedCalls,
	type SessionView,
	shortenedOf,
	type ToolResultItem,
} from "../session/index.ts";
import { counted } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import { readPayload } from "../wire/index.ts";
import { callsIn, withClearing } from "./edit.ts";
import { type ClearingState, stateOf } from "./state.ts";

/** What the read cache knows about results. */
export interface ReadFacts {
	/** The file of a result. `refers`: it is a marker or diff, which means text of earlier results of the file. */
	fileTouchOf(
		item: ToolResultItem,
		cwd: string,
	): { readonly file: string; readonly kind: "shown" | "refers" | "changed" } | undefined;
	/** Whether the result may hold text of an excluded file. */
	touchesExcluded(item: ToolResultItem, exclude: readonly string[], cwd: string): boolean;
}

/** A request as it was sent. */
interface Sent {
	readonly payload: unknown;
	readonly calls: readonly string[];
	/** How many results the provider was asked to clear, and how many it had cleared before. */
	readonly cleared: number;
	readonly before: number;
	readonly atMs: number;
	readonly cold: boolean;
}

type Answered = Pick<Sent, "calls" | "cleared"> & { readonly step: ClearingStep };

/** Clearing in one session. Requests are counted when they are answered, so a retry or a ping counts nothing. */
export class LiveClearing {
	readonly #facts: ReadFacts;
	readonly #blobs: BlobStore;
	readonly #clearing: Clearing;
	/** Results whose text could not be stored, by call. */
	readonly #unstorable = new Set<string>();
	/** Memos. */
	readonly #touches = new WeakMap<ToolResultItem, Touch>();
	readonly #excluded = new WeakMap<ToolResultItem, boolean>();
	/** Whether the request being built writes the conversation to the cache anyway. */
	isCold = false;
	/** Results that are cleared, or would be. */
	results = 0;
	/** In shadow: the last call that would be cleared. */
	#through: string | undefined;
	/** The last call that the last answered request cleared: what precedes the next one is cached. */
	#frontier: string | undefined;
	#sent: Sent | undefined;
	#answered: Answered | undefined;

	constructor({ config, values }: SessionView, facts: ReadFacts) {
		this.#facts = facts;
		this.#blobs = guardBlobs(createBlobStore(config.blobs), values);
		this.#clearing = new Clearing({ keep: config.clearing.keep });
	}

	/** In plain input tokens, by estimate: what requests cost, and would cost without clearing. */
	get costs() {
		return this.#clearing.costs;
	}

	/** Returns the payload to send, or `undefined` to keep it. Has no effect but for the answer to it. */
	onPayload(payload: unknown, session: SessionView, isOn: boolean): object | undefined {
		this.#sent = undefined;
		const calls = callsIn(payload);
		if (typeof calls === "string") return undefined;
		const through = isOn ? stateOf(session).through : this.#through;
		const cleared = positionIn(calls, through);
		const before = isOn ? Math.min(cleared, positionIn(calls, this.#frontier)) : cleared;
		// Sizes are looked at when the answer is there, so that nothing waits for it.
		const { isCold: cold } = this;
		this.#sent = { payload, calls, cleared, before, atMs: Date.now(), cold };
		return isOn ? withClearing(payload, cleared, before) : undefined;
	}

	/** Call this for each billed answer. Returns how many results the provider was asked to clear. */
	onAnswer(session: SessionView, isOn: boolean): number | undefined {
		const sent = this.#sent;
		this.#sent = undefined;
		this.forget();
		if (!sent) return undefined;
		try {
			this.#count(sent, session, isOn);
		} catch (error) {
			// A request that the rules do not cover counts nothing, and nothing is decided on it.
			if (!(error instanceof RangeError)) throw error;
		}
		return isOn ? sent.cleared : undefined;
	}

	#count(sent: Sent, session: SessionView, isOn: boolean): void {
		const { calls, cleared } = sent;
		const step = this.#stepOf(sent, session);
		if (isOn) {
			this.#clearing.count(step, cleared);
			this.#frontier = calls[cleared - 1];
			this.results = Math.max(this.results, cleared);
		} else {
			const decision = this.#clearing.next(step);
			this.#through = calls[decision.cleared - 1];
			this.results += decision.cleared - cleared;
		}
		this.#answered = { step, calls, cleared };
	}

	/** What to store and to tell the model before the next request, if clearing pays then. */
	async plan(session: SessionView, cold: boolean) {
		const answered = this.#answered;
		if (!answered) return undefined;
		const { calls, cleared } = answered;
		for (;;) {
			const step = { ...this.#stepAgain(answered, session), cleared, cold };
			const plan = this.#clearing.planAfter(step);
			if (!plan.clears) return undefined;
			await session.values.refresh();
			const going = calls.slice(cleared, plan.cleared);
			const stored = await this.#store(going, session);
			if (typeof stored === "object") {
				this.forget();
				const through = calls[plan.cleared - 1] as string;
				const state: ClearingState = { v: 1, through, results: plan.cleared };
				return { state, note: noteOf(going.length, stored.list) };
			}
			this.#unstorable.add(stored);
		}
	}

	/** The last request says nothing about the next one. */
	forget(): void {
		this.#answered = undefined;
	}

	/** The path of a list of the stored texts; the call of a result that could not be stored. */
	async #store(calls: readonly string[], session: SessionView): Promise<{ list: string } | string> {
		const lines: string[] = [];
		for (const call of calls) {
			const item = resultOf(call, session);
			const path = item && (await this.#storeOne(item));
			if (!item || path === undefined) return call;
			const input = oneLine(JSON.stringify(item.input) ?? "").slice(0, MAX_INPUT);
			lines.push(`${item.toolName} ${input}\n  ${path}`);
		}
		const list = await storeVerified(lines.join("\n"), this.#blobs);
		return typeof list === "string" ? (calls[0] as string) : { list: shownPath(list.path) };
	}

	/** A shortened result was stored before: its references mean nothing without their base. */
	async #storeOne(item: ToolResultItem): Promise<string | undefined> {
		const short = shortenedOf(item);
		const loaded = short && (await this.#blobs.load(short.original));
		if (loaded && loaded.kind !== "found") return undefined;
		const text = loaded ? loaded.text : item.text;
		const stored = text === undefined ? "no text" : await storeVerified(text, this.#blobs);
		return typeof stored === "string" ? undefined : shownPath(stored.path);
	}

	#stepOf({ payload, calls, before, atMs, cold }: Sent, session: SessionView): ClearingStep {
		const { cache, window, model } = session;
		return clearingStepOf(readPayload(payload)?.pieces ?? [], {
			model: { name: `${model?.provider}/${model?.id}`, rules: cache.rules },
			...{ contextWindow: window.size, cold, atMs, cleared: before },
			tokensOf: estimateTokens,
			...this.#rulesOfResults(calls, session),
		});
	}

	/** The rules may have changed since: a text could not be stored, or a new result refers to an old one. */
	#stepAgain({ step, calls }: Answered, session: SessionView): ClearingStep {
		const { firstBaseOf, stays } = this.#rulesOfResults(calls, session);
		const results = step.results.map((result, index) => ({
			...result,
			firstBase: Math.min(result.firstBase ?? index, firstBaseOf(index)),
			stays: stays(index),
		}));
		return { ...step, results };
	}

	#rulesOfResults(calls: readonly string[], session: SessionView) {
		const { ledger, sessionManager, config, cwd } = session;
		const { items } = ledger.log(sessionManager);
		const results = items.filter((item) => item.kind === "toolResult");
		const places = new Map(calls.map((call, index) => [call, index]));
		const bases = this.#basesIn(results, cwd);
		const firstOf = (item: ToolResultItem | undefined) => {
			const known = (item && bases.get(item)) ?? [];
			return Math.min(...known.flatMap((call) => places.get(call) ?? []));
		};
		const later = results.filter(({ toolCallId }) => !places.has(toolCallId));
		const limit = Math.min(...later.map(firstOf));
		const pinned = pinnedCalls(items, config.prune);
		return {
			firstBaseOf: (index: number) => firstOf(ledger.onlyResultOf(calls[index] as string)),
			stays: (index: number) => {
				const call = calls[index] as string;
				const item = ledger.onlyResultOf(call);
				if (index >= limit || !item || item.returned === undefined || pinned.has(call)) return true;
				return this.#unstorable.has(call) || this.#isExcluded(item, session);
			},
		};
	}

	/** The calls whose results must be shown as long as a result is. */
	#basesIn(results: readonly ToolResultItem[], cwd: string) {
		const bases = new Map<ToolResultItem, readonly string[]>();
		const byFile = new Map<string, string[]>();
		for (const item of results) {
			const touch = getOrAdd(this.#touches, item, () => this.#facts.fileTouchOf(item, cwd) ?? NONE);
			const earlier = touch.kind === "refers" ? (byFile.get(touch.file) ?? []) : [];
			const references = shortenedOf(item)?.references.map(({ base }) => base) ?? [];
			bases.set(item, [...references, ...earlier]);
			if (touch !== NONE) getOrAdd(byFile, touch.file, (): string[] => []).push(item.toolCallId);
		}
		return bases;
	}

	#isExcluded(item: ToolResultItem, { config, cwd }: SessionView): boolean {
		return getOrAdd(this.#excluded, item, () =>
			this.#facts.touchesExcluded(item, config.readcache.exclude, cwd),
		);
	}
}

type Touch = NonNullable<ReturnType<ReadFacts["fileTouchOf"]>>;

const NONE: Touch = { file: "", kind: "shown" };

const MAX_INPUT = 200;

function positionIn(calls: readonly string[], call: string | undefined): number {
	return call === undefined ? 0 : calls.indexOf(call) + 1;
}

function resultOf(call: string, { ledger }: SessionView): ToolResultItem | undefined {
	const item = ledger.onlyResultOf(call);
	return item?.text === undefined ? undefined : item;
}

function noteOf(results: number, list: string): string {
	return `[strata: cleared from here on: ${counted(results, "old tool result")} more. The exact texts are stored: read ${list} for their paths.]`;
}
