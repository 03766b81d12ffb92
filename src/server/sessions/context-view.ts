import { isAbsolute, relative } from "node:path";
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { BRIEFING_ENTRY, WORKSET_ENTRY } from "../../core/entry-types.ts";
import { property } from "../../core/property.ts";
import { foldReadInput } from "../../core/read-input.ts";
import { estimateTokens, PICTURE_CHARACTERS } from "../../core/tokens.ts";
import type { Data } from "../../protocol/index.ts";
import { callOf, isStub } from "../../pruning/index.ts";
import { createLedger } from "../../session/index.ts";
import { collapsed } from "../../text/one-line.ts";
import { wholeCharacters } from "./events.ts";
import type { LiveSession } from "./live-session.ts";

export type ContextSource = ReturnType<typeof contextSource>;

/** Reads the same ledger as the session's systems. */
export function contextSource({ session, inside }: LiveSession) {
	const { sessionManager, model } = session;
	const ledger = inside?.ledger ?? createLedger();
	const active = new Set(session.getActiveToolNames());
	return {
		cwd: sessionManager.getCwd(),
		/** Tokens the model takes; 0 without a model. */
		window: model?.contextWindow ?? 0,
		startedMs: Date.parse(sessionManager.getHeader()?.timestamp ?? "") || 0,
		systemPrompt: session.systemPrompt,
		tools: session
			.getAllTools()
			.filter(({ name }) => active.has(name))
			.map(({ name, description, parameters }) => ({ name, description, parameters })),
		/** Edits applied. */
		projected: sessionManager.buildSessionProjection().entries,
		sent: ledger.log(sessionManager).sent,
		/** Includes entries that compaction replaced. */
		branch: sessionManager.getBranch(),
	};
}

/** The content of the model's window, by piece. Sizes are pi's estimates. */
export function contextView(source: ContextSource): Data<"ContextView"> {
	const pieces = piecesOf(source).map(({ text, ...piece }) => ({
		...piece,
		tokens: estimateTokens(text.length),
	}));
	return {
		window: source.window,
		tokens: pieces.reduce((sum, { tokens }) => sum + tokens, 0),
		...lastRequest(source.branch, pieces),
		pieces,
		history: contextHistory(source.branch, {
			system: estimateTokens(source.systemPrompt.length),
			tools: estimateTokens(JSON.stringify(source.tools).length),
		}),
	};
}

/** Characters per response. */
const STRETCH = 32_768;

/** A stretch of a piece's text; `undefined` if the piece is not in the context. */
export function pieceText(
	source: ContextSource,
	pieceId: string,
	offset: number,
): Data<"ContextPieceText"> | undefined {
	const piece = piecesOf(source).find(({ id }) => id === pieceId);
	if (!piece) return undefined;
	const totalChars = piece.text.length;
	const text = wholeCharacters(piece.text.slice(offset), STRETCH);
	const nextOffset = offset + text.length;
	return { pieceId, text, offset, totalChars, ...(nextOffset < totalChars && { nextOffset }) };
}

type Piece = Omit<Data<"ContextPiece">, "tokens"> & { text: string };

function piecesOf(source: ContextSource): Piece[] {
	const { startedMs, systemPrompt, tools, projected, branch } = source;
	const edits = new Map<string, SessionEntry & { type: "context_edit" }>();
	for (const entry of branch) if (entry.type === "context_edit") edits.set(entry.targetId, entry);
	const head = (id: "system" | "tools", label: string, text: string): Piece => ({
		id,
		kind: id,
		label: label.slice(0, MAX_LABEL),
		sinceMs: startedMs,
		text,
	});
	const names = tools.map(({ name }) => name).join(", ");
	const body = projected.flatMap(({ sourceEntry, messages }) =>
		messages
			.filter(({ role }) => role !== "system") // shown whole at the head
			.map((message, index): Piece => {
				const edit = edits.get(sourceEntry.id);
				const since = Date.parse((edit ?? sourceEntry).timestamp) || startedMs;
				return {
					id: index === 0 ? sourceEntry.id : `${sourceEntry.id}.${index}`,
					entryId: sourceEntry.id,
					sinceMs: since,
					text: messageText(message),
					...described(message, sourceEntry, source),
				};
			}),
	);
	return [
		head("system", "system prompt", systemPrompt),
		head("tools", `${tools.length} tools: ${names}`, JSON.stringify(tools)),
		...body,
	].filter(({ text }) => text !== "");
}

const MAX_LABEL = 120;

type Described = Pick<Piece, "kind" | "label" | "path" | "replacedTokens">;

function described(message: unknown, entry: SessionEntry, source: ContextSource): Described {
	const role = property(message, "role");
	if (role === "toolResult") return describedResult(message, entry, source);
	if (role === "custom") {
		const type = String(property(message, "customType"));
		return { kind: CUSTOM_KINDS.get(type) ?? "conversation", label: labelOf(message, type) };
	}
	return { kind: "conversation", label: labelOf(message, String(role)) };
}

const CUSTOM_KINDS: ReadonlyMap<string, Piece["kind"]> = new Map([
	[WORKSET_ENTRY, "file"],
	[BRIEFING_ENTRY, "map"],
]);

function describedResult(message: unknown, entry: SessionEntry, source: ContextSource): Described {
	const item = source.sent.get(entry.id);
	const { toolName, input } =
		item?.kind === "toolResult" ? item : { toolName: "", input: undefined };
	const isEdited = item?.kind === "toolResult" && item.text !== item.returned;
	const label = callOf({ toolName, input }).slice(0, MAX_LABEL);
	const path = toolName === "read" ? shownPath(input, source.cwd) : undefined;
	const kept = { label, ...(path !== undefined && { path }) };
	const text = messageText(message);
	if (isEdited || isStub(text)) {
		const original = entry.type === "message" ? messageText(entry.message).length : text.length;
		return { ...kept, kind: "stub", replacedTokens: estimateTokens(original) };
	}
	const plain = Number(property(property(property(message, "details"), "readcache"), "plainBytes"));
	return {
		...kept,
		kind: toolName === "read" ? "read" : "tool",
		...(plain > text.length && { replacedTokens: estimateTokens(plain) }),
	};
}

function shownPath(input: unknown, cwd: string): string | undefined {
	const path = property(foldReadInput(input), "path");
	if (typeof path !== "string") return undefined;
	const way = isAbsolute(path) ? relative(cwd, path) : path;
	return way === "" || way.startsWith("..") ? path : way;
}

function labelOf(message: unknown, otherwise: string): string {
	const words = collapsed(messageText(message).slice(0, 4 * MAX_LABEL));
	return words.slice(0, MAX_LABEL) || otherwise;
}

/** The latest request, and how many leading pieces it held unchanged. */
function lastRequest(branch: readonly SessionEntry[], pieces: readonly Data<"ContextPiece">[]) {
	const at = branch.findLastIndex(isAnswer);
	const answer = branch[at];
	if (!answer || !isAnswer(answer)) return {};
	const { input, cacheRead, cacheWrite } = answer.message.usage;
	const later = new Set(
		branch.slice(at).map((entry) => (entry.type === "context_edit" ? entry.targetId : entry.id)),
	);
	const first = pieces.findIndex(({ entryId }) => entryId !== undefined && later.has(entryId));
	const held = first < 0 ? pieces.length : first;
	return {
		cachedTokens: cacheRead,
		lastRequest: { tokens: input + cacheRead + cacheWrite, pieces: held },
	};
}

/** About the width of a chart. */
const MAX_MOMENTS = 300;

/** Tokens by kind in each request. System prompt and tools count at their current size. */
function contextHistory(
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
		if (isAnswer(entry)) {
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

type MessageEntry = Extract<SessionEntry, { type: "message" }>;
type Answer = MessageEntry & { message: Extract<MessageEntry["message"], { role: "assistant" }> };

function isAnswer(entry: SessionEntry): entry is Answer {
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
function messageText(message: unknown): string {
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
