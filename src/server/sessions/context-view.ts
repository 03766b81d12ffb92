import { isAbsolute, relative } from "node:path";
import type { ProjectedSessionEntry, SessionEntry } from "@earendil-works/pi-coding-agent";
import { BRIEFING_ENTRY, WORKSET_ENTRY } from "../../core/entry-types.ts";
import { property } from "../../core/property.ts";
import { foldReadInput } from "../../core/read-input.ts";
import { estimateTokens } from "../../core/tokens.ts";
import type { Data } from "../../protocol/index.ts";
import { callOf, isStub } from "../../pruning/index.ts";
import type { ContextLog } from "../../session/index.ts";
import { collapsed } from "../../text/one-line.ts";
import { contextHistory, messageText } from "./context-history.ts";

export interface ContextSource {
	cwd: string;
	/** Tokens the model takes; 0 without a model. */
	window: number;
	startedMs: number;
	systemPrompt: string;
	tools: readonly { name: string; description: string; parameters: unknown }[];
	/** Edits applied. */
	projected: readonly ProjectedSessionEntry[];
	sent: ContextLog["sent"];
	/** Includes entries that compaction replaced. */
	branch: readonly SessionEntry[];
}

/** The content of the model's window, by piece. Sizes are pi's estimates. */
export function contextView(source: ContextSource): Data<"ContextView"> {
	const pieces = piecesOf(source).map(({ text, ...piece }) => ({
		...piece,
		tokens: estimateTokens(text.length),
	}));
	const last = lastAnswer(source.branch);
	return {
		window: source.window,
		tokens: pieces.reduce((sum, { tokens }) => sum + tokens, 0),
		...(last && {
			cachedTokens: last.usage.cacheRead,
			lastRequest: { tokens: promptOf(last.usage), pieces: heldBy(last.at, source.branch, pieces) },
		}),
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
	const { text } = piece;
	const end = Math.min(text.length, offset + STRETCH);
	// Do not split a surrogate pair.
	const code = text.charCodeAt(end - 1);
	const splitsPair = code >= 0xd800 && code <= 0xdbff && end < text.length;
	const next = splitsPair ? end - 1 : end;
	return {
		pieceId,
		text: text.slice(offset, next),
		offset,
		totalChars: text.length,
		...(next < text.length && { nextOffset: next }),
	};
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

function described(
	message: unknown,
	entry: SessionEntry,
	source: Pick<ContextSource, "sent" | "cwd">,
): Described {
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

function describedResult(
	message: unknown,
	entry: SessionEntry,
	{ sent, cwd }: Pick<ContextSource, "sent" | "cwd">,
): Described {
	const item = sent.get(entry.id);
	const { toolName, input } =
		item?.kind === "toolResult" ? item : { toolName: "", input: undefined };
	const isEdited = item?.kind === "toolResult" && item.text !== item.returned;
	const label = callOf({ toolName, input }).slice(0, MAX_LABEL);
	const path = toolName === "read" ? shownPath(input, cwd) : undefined;
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

function lastAnswer(branch: readonly SessionEntry[]): { at: number; usage: Usage } | undefined {
	const at = branch.findLastIndex(
		(entry) => entry.type === "message" && entry.message.role === "assistant",
	);
	const entry = branch[at];
	if (entry?.type !== "message" || entry.message.role !== "assistant") return undefined;
	return { at, usage: entry.message.usage };
}

type Usage = Record<"input" | "cacheRead" | "cacheWrite", number>;

function promptOf({ input, cacheRead, cacheWrite }: Usage): number {
	return input + cacheRead + cacheWrite;
}

/** Counts the leading pieces that the request answered at `at` held unchanged. */
function heldBy(
	at: number,
	branch: readonly SessionEntry[],
	pieces: readonly Pick<Data<"ContextPiece">, "entryId">[],
): number {
	const later = new Set(
		branch.slice(at).map((entry) => (entry.type === "context_edit" ? entry.targetId : entry.id)),
	);
	const first = pieces.findIndex(({ entryId }) => entryId !== undefined && later.has(entryId));
	return first < 0 ? pieces.length : first;
}
