import { isAbsolute, relative } from "node:path";
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { BRIEFING_ENTRY, WORKSET_ENTRY } from "../../core/entry-types.ts";
import { property } from "../../core/property.ts";
import { foldReadInput } from "../../core/read-input.ts";
import { estimateTokens, PICTURE_CHARACTERS } from "../../core/tokens.ts";
import type { Data } from "../../protocol/index.ts";
import { callOf, isStub } from "../../pruning/index.ts";
import { Ledger } from "../../session/index.ts";
import { collapsed } from "../../text/one-line.ts";
import { wholeCharacters } from "./events.ts";
import type { LiveSession } from "./live-session.ts";

export type ContextSource = ReturnType<typeof contextSource>;

/** Collects the data of the views below. Uses the same ledger as the session's systems. */
export function contextSource({ session, inside }: LiveSession) {
	const { sessionManager, model } = session;
	const ledger = inside?.ledger ?? new Ledger();
	const active = new Set(session.getActiveToolNames());
	return {
		cwd: sessionManager.getCwd(),
		window: model?.contextWindow ?? 0,
		startedMs: Date.parse(sessionManager.getHeader()?.timestamp ?? "") || 0,
		systemPrompt: session.systemPrompt,
		tools: session
			.getAllTools()
			.filter(({ name }) => active.has(name))
			.map(({ name, description, parameters }) => ({ name, description, parameters })),
		/** Entries of the next request, with edits applied. */
		projected: sessionManager.buildSessionProjection().entries,
		sent: ledger.log(sessionManager).sent,
		/** Includes entries that a compaction replaced. */
		branch: sessionManager.getBranch(),
	};
}

/** Lists the pieces of the next request. Sizes are pi's estimates. */
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
		history: tokensByRequest(source.branch, {
			system: estimateTokens(source.systemPrompt.length),
			tools: estimateTokens(JSON.stringify(source.tools).length),
		}),
	};
}

/** Maximum characters per response. */
const MAX_TEXT = 32_768;

/** Returns the piece's text from `offset` on; `undefined` if there is no such piece. */
export function pieceText(source: ContextSource, pieceId: string, offset: number) {
	const piece = piecesOf(source).find(({ id }) => id === pieceId);
	if (!piece) return undefined;
	const totalChars = piece.text.length;
	const text = wholeCharacters(piece.text.slice(offset), MAX_TEXT);
	const nextOffset = offset + text.length;
	return { pieceId, text, offset, totalChars, ...(nextOffset < totalChars && { nextOffset }) };
}

type Piece = Omit<Data<"ContextPiece">, "tokens"> & { text: string };

function piecesOf(source: ContextSource): Piece[] {
	const { startedMs: sinceMs, systemPrompt, tools, projected, branch } = source;
	const edits = new Map<string, SessionEntry & { type: "context_edit" }>();
	for (const entry of branch) if (entry.type === "context_edit") edits.set(entry.targetId, entry);
	const names = tools.map(({ name }) => name).join(", ");
	const label = `${tools.length} tools: ${names}`.slice(0, MAX_LABEL);
	const head: Piece[] = [
		{ id: "system", kind: "system", label: "system prompt", sinceMs, text: systemPrompt },
		{ id: "tools", kind: "tools", label, sinceMs, text: JSON.stringify(tools) },
	];
	const body = projected.flatMap(({ sourceEntry, messages }) =>
		messages
			.filter(({ role }) => role !== "system") // the system prompt is in `head`
			.map((message, index): Piece => {
				const entryId = sourceEntry.id;
				const { timestamp } = edits.get(entryId) ?? sourceEntry;
				return {
					id: index === 0 ? entryId : `${entryId}.${index}`,
					entryId,
					sinceMs: Date.parse(timestamp) || sinceMs,
					text: messageText(message),
					...described(message, sourceEntry, source),
				};
			}),
	);
	return [...head, ...body].filter(({ text }) => text !== "");
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
		kind: resultKind(toolName),
		...(plain > text.length && { replacedTokens: estimateTokens(plain) }),
	};
}

function shownPath(input: unknown, cwd: string): string | undefined {
	const path = property(foldReadInput(input), "path");
	if (typeof path !== "string") return undefined;
	const inProject = isAbsolute(path) ? relative(cwd, path) : path;
	return inProject === "" || inProject.startsWith("..") ? path : inProject;
}

function labelOf(message: unknown, fallback: string): string {
	const text = collapsed(messageText(message).slice(0, 4 * MAX_LABEL));
	return text.slice(0, MAX_LABEL) || fallback;
}

/** Tokens of the last request, and how many leading pieces of the next one it already held. */
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

/** Maximum requests in the history: about as many as a chart can show. */
const MAX_MOMENTS = 300;

/** Tokens of each request by kind. The system prompt and tools count at their current size. */
function tokensByRequest(
	branch: readonly SessionEntry[],
	head: { system: number; tools: number },
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
	return sampled(moments);

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

const resultKind = (toolName: unknown) => (toolName === "read" ? "read" : "tool");

function sampled(moments: Data<"ContextMoment">[]): Data<"ContextMoment">[] {
	const step = Math.ceil(moments.length / MAX_MOMENTS);
	if (step <= 1) return moments;
	return moments.filter((_, index) => (moments.length - 1 - index) % step === 0);
}

const IMAGE_TEXT = "[image]".padEnd(PICTURE_CHARACTERS, " ");

/** Returns all text of a message. An image has the length that pi assumes. */
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
	const type = property(block, "type");
	if (type === "text" || type === "thinking") return String(property(block, type) ?? "");
	if (type === "image") return IMAGE_TEXT;
	if (type !== "toolCall") return "";
	return `${property(block, "name")}(${JSON.stringify(property(block, "arguments")) ?? ""})`;
}
