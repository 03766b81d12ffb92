import { createHash } from "node:crypto";

/** A request as Claude Code sends it; the last system block and the last message are marked. */
export interface ClaudeBody {
	readonly model: string;
	readonly system: readonly object[];
	readonly tools: readonly object[];
	readonly messages: readonly ClaudeMessage[];
	/** A setting at the top level: a change of it loses the messages. */
	readonly effort: string;
}

export interface ClaudeMessage {
	readonly role: "user" | "assistant" | "system";
	readonly content: readonly object[];
	/** A setting inside the messages. */
	readonly output_config?: object;
}

export interface ClaudeBill {
	readonly input: number;
	readonly read: number;
	readonly write: number;
	/** Of a request that read less than it could have. */
	readonly reason?: { readonly type: string; readonly cache_missed_input_tokens: number };
}

const LIFETIME_MS = 5 * 60_000;
const LOOKBACK = 20;
/** Below it the provider states no cause. */
const NOTICED_TOKENS = 1024;

/**
 * A provider for generated sessions. It caches prefixes, bills them, and states the cause of a miss
 * from the requests themselves: it compares each with the one before it in the same conversation.
 */
export class ClaudeProvider {
	/** Cached prefixes, with the end of their lifetime. */
	readonly #cache = new Map<string, number>();
	readonly #last = new Map<string, Sent>();

	bill(conversation: string, body: ClaudeBody, atMs: number): ClaudeBill {
		const head = [...body.tools, ...body.system].map(textOf);
		const blocks = body.messages.flatMap(blocksOf).map(textOf);
		const all = [...head, ...blocks];
		const tokens = all.map((text) => Math.ceil(text.length / 4));
		const keys = keysOf(all, head.length, body);
		const isAlive = (at: number) => (this.#cache.get(keys[at] as string) ?? 0) > atMs;
		const hit = [all.length - 1, head.length - 1]
			.flatMap((end) => Array.from({ length: LOOKBACK }, (_, back) => end - back))
			.find((at) => at >= 0 && isAlive(at));
		const sum = (count: number) => tokens.slice(0, count).reduce((a, b) => a + b, 0);
		const read = hit === undefined ? 0 : sum(hit + 1);
		for (const at of [head.length - 1, all.length - 1, ...(hit === undefined ? [] : [hit])]) {
			this.#cache.set(keys[at] as string, atMs + LIFETIME_MS);
		}
		const before = this.#last.get(conversation);
		this.#last.set(conversation, { body, atMs, texts: all, cached: sum(all.length) });
		const had = new Set(before?.texts);
		const again = tokens.reduce((most, size, at) => most + (had.has(all[at] ?? "") ? size : 0), 0);
		const missed = before ? Math.min(before.cached, again) - read : 0;
		const bill = { input: 3, read, write: sum(all.length) - read };
		if (!before || missed <= NOTICED_TOKENS) return bill;
		const type = atMs - before.atMs >= LIFETIME_MS ? NOT_FOUND : changeOf(before.body, body);
		return { ...bill, reason: { type, cache_missed_input_tokens: missed } };
	}
}

interface Sent {
	readonly body: ClaudeBody;
	readonly atMs: number;
	readonly texts: readonly string[];
	readonly cached: number;
}

const NOT_FOUND = "previous_message_not_found";

function changeOf(before: ClaudeBody, now: ClaudeBody): string {
	if (before.model !== now.model) return "model_changed";
	if (textOf(before.tools) !== textOf(now.tools)) return "tools_changed";
	if (textOf(before.system) !== textOf(now.system)) return "system_changed";
	const isGrowth = before.messages.every((one, at) => textOf(one) === textOf(now.messages[at]));
	return isGrowth && before.effort === now.effort ? "unavailable" : "messages_changed";
}

/** For each block, what a prefix that ends with it is known by. */
function keysOf(
	all: readonly string[],
	headLength: number,
	{ model, effort }: ClaudeBody,
): string[] {
	const hash = createHash("sha256").update(model);
	return all.map((text, at) => {
		if (at === headLength) hash.update(`effort ${effort}`);
		return hash.update(`${text.length} ${text}`).copy().digest("hex");
	});
}

function blocksOf({ content, output_config }: ClaudeMessage): readonly object[] {
	return output_config ? [output_config, ...content] : content;
}

function textOf(value: unknown): string {
	return JSON.stringify(value) ?? "";
}
