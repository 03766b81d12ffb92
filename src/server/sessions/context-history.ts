import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { property } from "../../core/property.ts";
import { estimateTokens, PICTURE_CHARACTERS } from "../../core/tokens.ts";
import type { Data } from "../../protocol/index.ts";
import { isStub } from "../../pruning/index.ts";

/** About the width of a chart. */
const MAX_MOMENTS = 300;

/** Tokens by kind in each request. System prompt and tools count at their current size. */
export function contextHistory(
	branch: readonly SessionEntry[],
	head: { system: number; tools: number },
): Data<"ContextMoment">[] {
	const moments: Data<"ContextMoment">[] = [];
	let active = new Map<string, { kind: Data<"ContextKind">; tokens: number }>();
	const byKind = new Map<Data<"ContextKind">, number>();
	const add = (kind: Data<"ContextKind">, tokens: number) =>
		byKind.set(kind, (byKind.get(kind) ?? 0) + tokens);
	add("system", head.system);
	add("tools", head.tools);

	for (const entry of branch) {
		if (isRequest(entry)) {
			const held = [...byKind].filter(([, tokens]) => tokens > 0);
			moments.push({
				request: moments.length + 1,
				atMs: Date.parse(entry.timestamp) || 0,
				byKind: Object.fromEntries(held),
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
	return thinnedOut(moments);

	function put(id: string, kind: Data<"ContextKind">, text: string): void {
		const tokens = estimateTokens(text.length);
		active.set(id, { kind, tokens });
		add(kind, tokens);
	}
}

function isRequest(entry: SessionEntry): boolean {
	return entry.type === "message" && entry.message.role === "assistant";
}

/** Keeps nothing if `firstKept` is missing. */
function keptBy<Piece>(firstKept: string | null, active: Map<string, Piece>): Map<string, Piece> {
	const entries = [...active];
	const at = entries.findIndex(([id]) => id === firstKept);
	return new Map(at < 0 ? [] : entries.slice(at));
}

function pieceOf(entry: SessionEntry): { kind: Data<"ContextKind">; text: string } | undefined {
	switch (entry.type) {
		case "compaction":
		case "branch_summary":
			return { kind: "conversation", text: entry.summary };
		case "custom_message":
			return { kind: "conversation", text: messageText(entry) };
		case "message": {
			if (entry.message.role === "system") return undefined;
			if (property(entry.message, "excludeFromContext") === true) return undefined;
			return { kind: kindOf(entry.message), text: messageText(entry.message) };
		}
		default:
			return undefined;
	}
}

function kindOf(message: unknown): Data<"ContextKind"> {
	if (property(message, "role") !== "toolResult") return "conversation";
	return property(message, "toolName") === "read" ? "read" : "tool";
}

function thinnedOut(moments: Data<"ContextMoment">[]): Data<"ContextMoment">[] {
	const step = Math.ceil(moments.length / MAX_MOMENTS);
	if (step <= 1) return moments;
	return moments.filter((_, index) => (moments.length - 1 - index) % step === 0);
}

const PICTURE = "[image]".padEnd(PICTURE_CHARACTERS, " ");

/** All text of a message. A picture counts as many characters as pi assumes. */
export function messageText(message: unknown): string {
	const content = property(message, "content");
	if (typeof content === "string") return content;
	if (Array.isArray(content)) return content.map(blockText).filter(Boolean).join("\n");
	const summary = property(message, "summary");
	if (typeof summary === "string") return summary;
	const command = property(message, "command");
	if (typeof command !== "string") return "";
	return `$ ${command}\n${property(message, "output") ?? ""}`;
}

function blockText(block: unknown): string {
	switch (property(block, "type")) {
		case "text":
			return String(property(block, "text") ?? "");
		case "thinking":
			return String(property(block, "thinking") ?? "");
		case "toolCall":
			return `${property(block, "name")}(${JSON.stringify(property(block, "arguments")) ?? ""})`;
		case "image":
			return PICTURE;
		default:
			return "";
	}
}
