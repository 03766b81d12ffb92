import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { billOf } from "../../core/bill.ts";
import { property } from "../../core/property.ts";
import { estimateTokens } from "../../core/tokens.ts";
import type { Data } from "../../protocol/index.ts";
import { isStub } from "../../pruning/index.ts";
import { apportioned } from "../../text/apportion.ts";
import { messageText } from "./message-text.ts";

/** Maximum requests in the history: about as many as a chart can show. */
const MAX_MOMENTS = 300;

/**
 * Tokens of each billed request by kind, scaled to its bill. The system prompt and tools count at their
 * current size. `numbers`: of all requests of the session, by the entries of their answers.
 */
export function tokensByRequest(
	branch: readonly SessionEntry[],
	head: { system: number; tools: number },
	numbers: ReadonlyMap<string, number>,
): Data<"ContextMoment">[] {
	const moments: Data<"ContextMoment">[] = [];
	let active = new Map<string, { kind: Data<"ContextKind">; tokens: number }>();
	const byKind = new Map<Data<"ContextKind">, number>([
		["system", head.system],
		["tools", head.tools],
	]);
	const add = (kind: Data<"ContextKind">, tokens: number) =>
		byKind.set(kind, (byKind.get(kind) ?? 0) + tokens);
	for (const entry of branch) {
		const request = numbers.get(entry.id);
		if (isAnswer(entry) && request !== undefined) {
			const held = [...byKind].filter(([, tokens]) => tokens > 0);
			const scaled = apportioned(
				held.map(([, tokens]) => tokens),
				promptSize(entry),
			);
			moments.push({
				request,
				atMs: Date.parse(entry.timestamp) || 0,
				byKind: Object.fromEntries(held.map(([kind], at) => [kind, scaled[at] ?? 0])),
			});
		}
		if (entry.type === "compaction") {
			const kept = keptBy(entry.firstKeptEntryId, active);
			for (const [id, { kind, tokens }] of active) if (!kept.has(id)) add(kind, -tokens);
			active = kept;
		}
		if (entry.type === "context_edit") {
			const before = active.get(entry.targetId);
			if (!before) continue;
			const text = messageText(entry.replacement);
			const kind = isStub(text) ? "stub" : before.kind;
			add(before.kind, -before.tokens);
			put(entry.targetId, kind, text);
			continue;
		}
		const piece = pieceOf(entry);
		if (piece) put(entry.id, piece.kind, piece.text);
	}
	return sampled(moments);

	function put(id: string, kind: Data<"ContextKind">, text: string): void {
		const tokens = estimateTokens(text.length);
		active.set(id, { kind, tokens });
		add(kind, tokens);
	}
}

type MessageEntry = Extract<SessionEntry, { type: "message" }>;
type Answer = MessageEntry & { message: Extract<MessageEntry["message"], { role: "assistant" }> };

export function isAnswer(entry: SessionEntry): entry is Answer {
	return entry.type === "message" && entry.message.role === "assistant";
}

/** Tokens of the prompt, as billed. */
export function promptSize({ message }: Answer): number {
	const { input, cacheRead, cacheWrite } = message.usage;
	return input + cacheRead + cacheWrite;
}

/** Numbers the billed requests of all branches in the order of the file. The Cost view has the same numbers. */
export function requestNumbers(entries: readonly SessionEntry[]): Map<string, number> {
	const billed = entries.filter((entry) => entry.type === "message" && billOf(entry.message));
	return new Map(billed.map(({ id }, at) => [id, at + 1]));
}

/** The pieces from `firstKept` on, or none if it is not active. */
function keptBy<Piece>(firstKept: string | null, active: Map<string, Piece>): Map<string, Piece> {
	const entries = [...active];
	const at = entries.findIndex(([id]) => id === firstKept);
	return new Map(at < 0 ? [] : entries.slice(at));
}

function pieceOf(entry: SessionEntry): { kind: Data<"ContextKind">; text: string } | undefined {
	if (TEXT_ENTRIES.has(entry.type)) return { kind: "conversation", text: messageText(entry) };
	if (entry.type !== "message" || entry.message.role === "system") return undefined;
	if (property(entry.message, "excludeFromContext") === true) return undefined;
	const isResult = entry.message.role === "toolResult";
	const kind = isResult ? resultKind(property(entry.message, "toolName")) : "conversation";
	return { kind, text: messageText(entry.message) };
}

const TEXT_ENTRIES: ReadonlySet<string> = new Set([
	"compaction",
	"branch_summary",
	"custom_message",
]);

export const resultKind = (toolName: unknown) => (toolName === "read" ? "read" : "tool");

function sampled(moments: Data<"ContextMoment">[]): Data<"ContextMoment">[] {
	const step = Math.ceil(moments.length / MAX_MOMENTS);
	if (step <= 1) return moments;
	return moments.filter((_, index) => (moments.length - 1 - index) % step === 0);
}
