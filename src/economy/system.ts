import { type Bill, billOf } from "../core/bill.ts";
import { isDemoModel } from "../core/demo-model.ts";
import type { SessionView, System } from "../session/index.ts";
import type { AnsweredRequest, CostAccount } from "./live/account.ts";
import { ColdNotice, type ColdPruner, type Input, NO_PRUNER } from "./live/cold-notice.ts";
import type { TtlChoice } from "./live/ttl-choice.ts";
import type { ModelInfo } from "./rules.ts";

/** Counts only requests with a billed answer, not retries or pings. Changes only how long prompts are cached. */
export class EconomySystem implements System {
	readonly name = "economy";
	#earlier: ReturnType<typeof earlierBills> = [];
	#account: CostAccount | undefined;
	#isNotified = false;
	#ttl: TtlChoice | undefined;
	readonly #pruner: ColdPruner<SessionView>;
	#cold: ColdNotice<SessionView>;

	constructor(pruner: ColdPruner<SessionView> = NO_PRUNER) {
		this.#pruner = pruner;
		this.#cold = this.#coldNotice();
	}

	status() {
		return {
			on: true,
			why: "cost of requests and causes of cache misses: see /strata cost",
		};
	}

	async start(session: SessionView): Promise<void> {
		this.#account = undefined;
		this.#isNotified = false;
		this.#ttl = undefined;
		this.#earlier = earlierBills(session);
		this.#cold = this.#coldNotice();
		if (this.#earlier.length > 0) await this.#cold.onStart(session);
	}

	onInput(input: Input, session: SessionView): Promise<boolean> {
		return this.#cold.onInput(input, session);
	}

	/** If the setting is `off`, every request stays as it is. */
	async onPayload(payload: unknown, session: SessionView): Promise<object | undefined> {
		if (session.config.economy.ttl === "off") return undefined;
		const { TtlChoice } = await import("./live/ttl-choice.ts");
		this.#ttl ??= new TtlChoice();
		return this.#ttl.choose(payload, session);
	}

	async onAnswer({ message, billed }: Answer, session: SessionView): Promise<void> {
		// An aborted request says nothing about the provider.
		if (!billed && message.stopReason === "error") this.#ttl?.recordFailure();
		if (!billed) return;
		this.#cold.noteAnswer();
		this.#ttl?.recordBill(billed.bill.tokens, session);
		const { bill, request } = billed;
		const { payload, ...sent } = request;
		const { readPayload } = await import("../wire/index.ts");
		const pieces = readPayload(payload)?.pieces.map(({ part, label, hash }) => ({
			part,
			label,
			hash,
		}));
		const answered = { ...answeredBy(bill), ...sent, ...(pieces && { pieces }) };
		const miss = (await this.#accountOf(session)).add(answered, knownModel(bill, session));
		const { missNotice, missThreshold } = session.config.economy;
		if (!miss || miss.tokens < missThreshold || missNotice === "off") return;
		if (miss.cause === "pruning") return; // on purpose, so not reported
		if (missNotice === "once" && this.#isNotified) return;
		this.#isNotified = true;
		const { missText } = await import("./live/account.ts");
		const isDemo = isDemoModel(answered.model) && miss.dollars !== undefined;
		const note = isDemo ? " (a made-up price)" : "";
		session.ui.notify(`pi-strata: ${missText(miss)}${note}. See /strata cost.`, "info");
	}

	async costReport(session: SessionView): Promise<string> {
		const { accountText } = await import("./live/account.ts");
		const account = accountText((await this.#accountOf(session)).summary());
		return [account, ...(this.#ttl?.lines ?? [])].join("\n");
	}

	#coldNotice(): ColdNotice<SessionView> {
		return new ColdNotice(this.#pruner, () => this.#ttl?.next);
	}

	/** Includes the earlier bills of a resumed session. The causes of misses in them are unknown. */
	async #accountOf(session: SessionView): Promise<CostAccount> {
		const { CostAccount } = await import("./live/account.ts");
		if (this.#account) return this.#account;
		this.#account = new CostAccount();
		for (const { bill, answered } of this.#earlier) {
			this.#account.add(answered, knownModel(bill, session));
		}
		return this.#account;
	}
}

type Answer = Parameters<NonNullable<System["onAnswer"]>>[0];

/** Returns the bills of all branches in the session file. */
function earlierBills({ sessionManager }: SessionView) {
	const bills: { bill: Bill; answered: AnsweredRequest }[] = [];
	let lastMs: number | undefined;
	let compacted = false;
	for (const entry of sessionManager.getEntries()) {
		if (entry.type === "compaction") compacted = true;
		if (entry.type === "usage") lastMs = Date.parse(entry.timestamp) || lastMs; // a ping
		const bill = entry.type === "message" ? billOf(entry.message) : undefined;
		if (!bill) continue;
		const { atMs } = bill;
		const gapMs = Math.max(0, atMs - (lastMs ?? atMs));
		bills.push({ bill, answered: { ...answeredBy(bill), atMs, gapMs, compacted } });
		lastMs = atMs;
		compacted = false;
	}
	return bills;
}

function answeredBy({ provider, model, tokens, thinking }: Bill) {
	return { model: `${provider}/${model}`, tokens, ...(thinking && { misplaced: thinking }) };
}

function knownModel({ provider, model: id }: Bill, session: SessionView): ModelInfo {
	const { model: current, modelRegistry } = session;
	if (current?.provider === provider && current.id === id) return current;
	return modelRegistry.find(provider, id) ?? { provider, id };
}
