import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { billOf } from "../../core/bill.ts";
import { BRIEFING_ENTRY, WORKSET_ENTRY } from "../../core/entry-types.ts";
import { property } from "../../core/property.ts";
import { estimateTokens } from "../../core/tokens.ts";
import { editsIn } from "../../cost/index.ts";
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
	let active = new Map<string, ActivePiece>();
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
		const edits = editsIn(entry);
		for (const { targetId, replacement } of edits) {
			const before = active.get(targetId);
			if (!before) continue;
			const text = messageText(replacement);
			add(before.kind, -before.tokens);
			put(targetId, { kind: isStub(text) ? "stub" : before.plainKind, text }, before.plainKind);
		}
		const piece = edits.length === 0 ? pieceOf(entry) : undefined;
		if (piece) put(entry.id, piece);
	}
	return sampled(moments);

	function put(id: string, { kind, text }: TextPiece, plainKind = kind): void {
		const tokens = estimateTokens(text.length);
		active.set(id, { kind, plainKind, tokens });
		add(kind, tokens);
	}
}

interface ActivePiece {
	readonly kind: Data<"ContextKind">;
	/** Its kind while no stub replaces it. */
	readonly plainKind: Data<"ContextKind">;
	readonly tokens: number;
}

interface TextPiece {
	readonly kind: Data<"ContextKind">;
	readonly text: string;
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

function pieceOf(entry: SessionEntry): TextPiece | undefined {
	if (entry.type === "custom_message") {
		const kind = CUSTOM_KINDS.get(entry.customType) ?? "conversation";
		return { kind, text: messageText(entry) };
	}
	if (TEXT_ENTRIES.has(entry.type)) return { kind: "conversation", text: messageText(entry) };
	if (entry.type !== "message" || entry.message.role === "system") return undefined;
	if (property(entry.message, "excludeFromContext") === true) return undefined;
	const isResult = entry.message.role === "toolResult";
	const kind = isResult ? resultKind(property(entry.message, "toolName")) : "conversation";
	return { kind, text: messageText(entry.message) };
}

const TEXT_ENTRIES: ReadonlySet<string> = new Set(["compaction", "branch_summary"]);

/** Messages of extensions that are not part of the conversation. */
export const CUSTOM_KINDS: ReadonlyMap<string, Data<"ContextKind">> = new Map([
	[WORKSET_ENTRY, "file"],
	[BRIEFING_ENTRY, "map"],
]);

export const resultKind = (toolName: unknown) => (toolName === "read" ? "read" : "tool");

function sampled(moments: Data<"ContextMoment">[]): Data<"ContextMoment">[] {
	const step = Math.ceil(moments.length / MAX_MOMENTS);
	if (step <= 1) return moments;
	return moments.filter((_, index) => (moments.length - 1 - index) % step === 0);
}
