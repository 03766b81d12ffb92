import { type Bill, billOf } from "../core/bill.ts";
import type { SessionView, System } from "../session/index.ts";
import type { Account, Answered } from "./live/account.ts";
import type { ModelInfo } from "./rules.ts";

/** Counts requests by billed answers: retries and pings have none. Changes no request. */
export function createEconomySystem(): System & {
	costReport(session: SessionView): Promise<string>;
} {
	let earlier: ReturnType<typeof earlierBills> = [];
	let account: Account | undefined;
	let isNotified = false;

	return {
		name: "economy",
		status: () => ({
			on: true,
			why: "/strata cost shows what requests cost and why caches missed",
		}),
		start(session) {
			account = undefined;
			isNotified = false;
			earlier = earlierBills(session);
		},
		async onAnswer({ billed }, session) {
			if (!billed) return;
			const { bill, request } = billed;
			const answered = { ...answeredBy(bill), ...request };
			const miss = (await accountOf(session)).add(answered, knownModel(bill, session));
			const { missNotice, missThreshold } = session.config.economy;
			if (!miss || miss.tokens < missThreshold || missNotice === "off") return;
			if (miss.cause === "pruning") return; // on purpose, so not reported
			if (missNotice === "once" && isNotified) return;
			isNotified = true;
			const { missText } = await import("./live/account.ts");
			session.ui.notify(`pi-strata: ${missText(miss)}. See /strata cost.`, "info");
		},
		async costReport(session) {
			const { accountText } = await import("./live/account.ts");
			return accountText((await accountOf(session)).summary());
		},
	};

	/** Adds the earlier bills of a resumed session; the causes of their misses are unknown. */
	async function accountOf(session: SessionView): Promise<Account> {
		const { createAccount } = await import("./live/account.ts");
		if (account) return account;
		account = createAccount();
		for (const { bill, answered } of earlier) account.add(answered, knownModel(bill, session));
		return account;
	}
}

/** On all branches. */
function earlierBills({ sessionManager }: SessionView) {
	const bills: { bill: Bill; answered: Answered }[] = [];
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

function knownModel(
	{ provider, model: id }: Bill,
	{ model: current, modelRegistry }: SessionView,
): ModelInfo {
	if (current?.provider === provider && current.id === id) return current;
	return modelRegistry.find(provider, id) ?? { provider, id };
}
