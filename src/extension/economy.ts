import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Config } from "../core/config.ts";
import { property } from "../core/property.ts";
import type { Account, Answered, ModelInfo, PromptTokens } from "../economy/index.ts";
import type { System } from "./system.ts";

/**
 * Watches what every request of a session costs, and why a cached prefix was missed. Nothing is changed on the way.
 * Requests are only looked at when they are sent: that also happens for retries and for pings that keep a cache
 * warm. They are counted when an answer with a bill has come.
 */
export function createEconomySystem(
	pi: ExtensionAPI,
	configFor: (ctx: ExtensionContext) => Config,
): System & { costReport(ctx: ExtensionContext): Promise<string> } {
	let earlier: Bill[] = [];
	let account: Account | undefined;
	let sent: { payload: unknown; atMs: number; gapMs: number } | undefined;
	let lastSentMs: number | undefined;
	let compacted = false;
	let told = false;

	pi.on("before_provider_request", (event) => {
		const atMs = Date.now();
		const gapMs = Math.max(sent?.gapMs ?? 0, lastSentMs === undefined ? 0 : atMs - lastSentMs);
		sent = { payload: event.payload, atMs, gapMs };
		lastSentMs = atMs;
	});

	pi.on("session_compact", () => {
		compacted = true;
	});

	pi.on("message_end", async (event, ctx) => {
		const bill = billOf(event.message);
		if (!bill) return;
		const request = sent ?? { payload: undefined, atMs: Date.now(), gapMs: 0 };
		const answered = { ...bill.answered, ...request, thinking: pi.getThinkingLevel(), compacted };
		sent = undefined;
		compacted = false;
		const miss = (await accountOf(ctx)).add(answered, knownModel(bill.model, ctx));
		const { missNotice, missThreshold } = configFor(ctx).economy;
		if (!miss || miss.tokens < missThreshold || missNotice === "off") return;
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
			told = false;
			earlier = earlierBills(ctx);
			lastSentMs = earlier.at(-1)?.answered.atMs;
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
		for (const { answered, model } of earlier) account.add(answered, knownModel(model, ctx));
		return account;
	}
}

interface Bill {
	answered: Answered;
	model: ModelInfo;
}

/** The bills in a session's entries, whichever branch they are on. */
function earlierBills(ctx: ExtensionContext): Bill[] {
	const bills: Bill[] = [];
	let compacted = false;
	for (const entry of ctx.sessionManager.getEntries()) {
		if (entry.type === "compaction") compacted = true;
		const bill = entry.type === "message" ? billOf(entry.message) : undefined;
		if (!bill) continue;
		const lastMs = bills.at(-1)?.answered.atMs ?? bill.answered.atMs;
		const gapMs = Math.max(0, bill.answered.atMs - lastMs);
		bills.push({ ...bill, answered: { ...bill.answered, gapMs, compacted } });
		compacted = false;
	}
	return bills;
}

/** With its prices, if it is the one in use. */
function knownModel(model: ModelInfo, { model: current }: ExtensionContext): ModelInfo {
	return current?.provider === model.provider && current.id === model.id ? current : model;
}

/** The bill of an assistant's message; none if it failed, or nothing was billed. */
function billOf(message: unknown): Bill | undefined {
	if (property(message, "role") !== "assistant") return undefined;
	const reason = property(message, "stopReason");
	if (reason === "error" || reason === "aborted") return undefined;
	const tokens = promptTokens(property(message, "usage"));
	if (tokens.input + tokens.read + tokens.write === 0) return undefined;
	const provider = String(property(message, "provider") ?? "unknown");
	const id = String(property(message, "model") ?? "unknown");
	const atMs = numberOf(property(message, "timestamp"));
	return {
		answered: { atMs, gapMs: 0, model: `${provider}/${id}`, tokens },
		model: { provider, id },
	};
}

function promptTokens(usage: unknown): PromptTokens {
	const write = numberOf(property(usage, "cacheWrite"));
	return {
		input: numberOf(property(usage, "input")),
		read: numberOf(property(usage, "cacheRead")),
		write,
		writeOneHour: Math.min(write, numberOf(property(usage, "cacheWrite1h"))),
	};
}

/** Session files may hold anything. */
function numberOf(value: unknown): number {
	return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}
