import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { type Bill, billOf } from "../core/bill.ts";
import type { Account, Answered, ModelInfo } from "../economy/index.ts";
import type { ConfigFor, System } from "./system.ts";

/**
 * Watches what every request of a session costs, and why a cached prefix was missed. Nothing is changed on the way.
 * Requests are only looked at when they are sent: that also happens for retries and for pings that keep a cache
 * warm. They are counted when an answer with a bill has come.
 */
export function createEconomySystem(
	pi: ExtensionAPI,
	configFor: ConfigFor,
): System & {
	costReport(ctx: ExtensionContext): Promise<string>;
	/** To be told that old tool output is gone from the next request on. */
	notePruned(): void;
} {
	let earlier: EarlierBill[] = [];
	let account: Account | undefined;
	let sent: Pick<Answered, "payload" | "atMs" | "gapMs" | "thinking"> | undefined;
	let lastSentMs: number | undefined;
	let compacted = false;
	let pruned = false;
	let branched = false;
	let told = false;

	pi.on("before_provider_request", (event) => {
		const atMs = Date.now();
		const gapMs = Math.max(sent?.gapMs ?? 0, lastSentMs === undefined ? 0 : atMs - lastSentMs);
		sent = { payload: event.payload, atMs, gapMs, thinking: pi.getThinkingLevel() };
		lastSentMs = atMs;
	});

	pi.on("session_compact", () => {
		compacted = true;
	});

	pi.on("session_tree", () => {
		branched = true;
	});

	pi.on("message_end", async (event, ctx) => {
		const bill = billOf(event.message);
		if (!bill) return;
		const request = sent ?? { payload: undefined, atMs: Date.now(), gapMs: 0 };
		const answered = { ...answeredBy(bill), ...request, compacted, pruned, branched };
		sent = undefined;
		compacted = false;
		pruned = false;
		branched = false;
		const miss = (await accountOf(ctx)).add(answered, knownModel(bill, ctx));
		const { missNotice, missThreshold } = configFor(ctx).config.economy;
		if (!miss || miss.tokens < missThreshold || missNotice === "off") return;
		if (miss.cause === "pruning") return; // it was decided, and paid for with open eyes
		if (missNotice === "once" && told) return;
		told = true;
		const { missText } = await import("../economy/index.ts");
		ctx.ui.notify(`pi-strata: ${missText(miss)}. See /strata cost.`, "info");
	});

	return {
		name: "economy",
		status: () => ({
			on: true,
			why: "/strata cost shows what requests cost and why caches missed",
		}),
		start({ ctx }) {
			account = undefined;
			sent = undefined;
			compacted = false;
			pruned = false;
			branched = false;
			told = false;
			({ bills: earlier, lastMs: lastSentMs } = earlierBills(ctx));
		},
		notePruned() {
			pruned = true;
		},
		async costReport(ctx) {
			const { accountText } = await import("../economy/index.ts");
			return accountText((await accountOf(ctx)).summary());
		},
	};

	/** Begins with what a resumed session has cost before; why it missed then, nobody has watched. */
	async function accountOf(ctx: ExtensionContext): Promise<Account> {
		const { createAccount } = await import("../economy/index.ts");
		if (account) return account;
		account = createAccount();
		for (const { bill, answered } of earlier) account.add(answered, knownModel(bill, ctx));
		return account;
	}
}

interface EarlierBill {
	bill: Bill;
	answered: Answered;
}

/** The bills in a session's entries, whichever branch they are on, and when its cache was last used. */
function earlierBills(ctx: ExtensionContext): { bills: EarlierBill[]; lastMs: number | undefined } {
	const bills: EarlierBill[] = [];
	let lastMs: number | undefined;
	let compacted = false;
	for (const entry of ctx.sessionManager.getEntries()) {
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
	return { bills, lastMs };
}

function answeredBy({
	provider,
	model,
	tokens,
	thinking,
}: Bill): Pick<Answered, "model" | "tokens" | "misplaced"> {
	return { model: `${provider}/${model}`, tokens, ...(thinking && { misplaced: thinking }) };
}

/** The model of a bill, with its prices where pi knows them. */
function knownModel(
	{ provider, model: id }: Bill,
	{ model: current, modelRegistry }: ExtensionContext,
): ModelInfo {
	if (current?.provider === provider && current.id === id) return current;
	return modelRegistry.find(provider, id) ?? { provider, id };
}
