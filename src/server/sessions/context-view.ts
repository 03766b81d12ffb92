import { isAbsolute, relative } from "node:path";
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { WORKSET_ENTRY } from "../../core/entry-types.ts";
import { property } from "../../core/property.ts";
import { foldReadInput } from "../../core/read-input.ts";
import { estimateTokens } from "../../core/tokens.ts";
import type { Data } from "../../protocol/index.ts";
import { callOf, isStub } from "../../pruning/index.ts";
import { Ledger, pinnedCalls } from "../../session/index.ts";
import { apportioned } from "../../text/apportion.ts";
import { collapsed } from "../../text/one-line.ts";
import {
	CUSTOM_KINDS,
	isAnswer,
	promptSize,
	requestNumbers,
	resultKind,
	tokensByRequest,
} from "./context-history.ts";
import { wholeCharacters } from "./events.ts";
import type { LiveSession } from "./live-session.ts";
import { blockText, messageText } from "./message-text.ts";

export type ContextSource = ReturnType<typeof contextSource>;

/** Collects the data of the views below. Uses the same ledger as the session's systems. */
export function contextSource({ session, inside }: LiveSession) {
	const { sessionManager, model } = session;
	const ledger = inside?.ledger ?? new Ledger();
	const active = new Set(session.getActiveToolNames());
	const { sent, items } = ledger.log(sessionManager);
	const compaction = model && session.settingsManager.getCompactionSettings(model);
	return {
		/** Pi's count: the last bill, plus an estimate of what came after it. */
		used: session.getContextUsage()?.tokens ?? undefined,
		/** Tokens that pi keeps free for the answer; it compacts before they are used. */
		reserve: compaction?.reserveTokens ?? 0,
		compacts: session.autoCompactionEnabled,
		agentsFiles: session.resourceLoader.getAgentsFiles().agentsFiles,
		requests: requestNumbers(sessionManager.getEntries()),
		pinned: pinnedCalls(items, { pinImpactSummaries: false }),
		/** What the next request has in place of an entry; `null` for nothing. */
		pendingText: (entryId: string) => {
			const edit = inside?.edits.get(entryId);
			return edit && (edit.content?.map(({ text }) => text).join("\n") ?? null);
		},
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
		sent,
		/** Includes entries that a compaction replaced. */
		branch: sessionManager.getBranch(),
	};
}

/** Lists the pieces of the next request. Their sizes are estimates, scaled to the last bill if there is one. */
export function contextView(source: ContextSource): Data<"ContextView"> {
	const { window, used, reserve, compacts, requests } = source;
	const known = piecesOf(source).map(({ text, ...piece }) => ({
		...piece,
		tokens: estimateTokens(text.length),
	}));
	const estimated = known.reduce((sum, { tokens }) => sum + tokens, 0);
	// Before the first bill, pi counts neither the system prompt nor the tools.
	const isEstimated = used === undefined || requests.size === 0;
	const tokens = isEstimated ? Math.max(used ?? 0, estimated) : used;
	const scaled = apportioned(
		known.map((piece) => piece.tokens),
		tokens,
	);
	const scale = estimated > 0 ? tokens / estimated : 1;
	const pieces = known.map(({ replacedTokens, ...piece }, at) => ({
		...piece,
		tokens: scaled[at] ?? 0,
		...(replacedTokens !== undefined && { replacedTokens: Math.round(replacedTokens * scale) }),
	}));
	const sizeOf = (kind: Data<"ContextKind">) =>
		known.reduce((sum, piece) => sum + (piece.kind === kind ? piece.tokens : 0), 0);
	return {
		window,
		tokens,
		isEstimated,
		reserve,
		...(compacts && window > reserve && { compactsAt: window - reserve }),
		...lastRequest(source.branch, pieces),
		pieces,
		history: tokensByRequest(
			source.branch,
			{ system: sizeOf("system"), tools: sizeOf("tools") },
			requests,
		),
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
	const { startedMs: sinceMs, projected, branch } = source;
	const edits = new Map<string, SessionEntry & { type: "context_edit" }>();
	for (const entry of branch) if (entry.type === "context_edit") edits.set(entry.targetId, entry);
	const body = projected.flatMap(({ sourceEntry, messages }) =>
		messages
			.filter(({ role }) => role !== "system") // the system prompt is in `head`
			.flatMap((message, index): Piece[] => {
				const entryId = sourceEntry.id;
				const { timestamp } = edits.get(entryId) ?? sourceEntry;
				const base = { entryId, sinceMs: Date.parse(timestamp) || sinceMs };
				const id = index === 0 ? entryId : `${entryId}.${index}`;
				const files = workingFiles(message);
				if (files) return files.map((file, at) => ({ ...base, ...file, id: `${id}/${at}` }));
				const about = described(message, sourceEntry, source);
				return [{ ...base, id, text: messageText(message), ...about }];
			}),
	);
	return [...headOf(source), ...body].filter(({ text }) => text !== "");
}

/** The system prompt, the files in it such as AGENTS.md, and each tool. */
function headOf({ startedMs: sinceMs, systemPrompt, tools, agentsFiles, cwd }: ContextSource) {
	let prompt = systemPrompt;
	const files = agentsFiles.flatMap(({ path, content }): Piece[] => {
		const text = content.trim();
		const at = text === "" ? -1 : prompt.indexOf(text);
		if (at === -1) return [];
		prompt = prompt.slice(0, at) + prompt.slice(at + text.length);
		const shown = inProject(path, cwd);
		const label = shown.slice(0, MAX_LABEL);
		return [{ id: `file:${path}`, kind: "system", label, sinceMs, text, path: shown }];
	});
	const system: Piece = {
		id: "system",
		kind: "system",
		label: "system prompt",
		sinceMs,
		text: prompt,
	};
	const each = tools.map((tool): Piece => {
		const { name } = tool;
		const [label, text] = [name.slice(0, MAX_LABEL), JSON.stringify(tool)];
		return { id: `tool:${name}`, kind: "tools", label, sinceMs, text };
	});
	return [system, ...files, ...each];
}

const WORKING_FILE = /^<working-file path=("(?:[^"\\\n]|\\.)*") /;

/** The blocks of a message of the working set: each file is a piece of its own. Undefined for other messages. */
function workingFiles(message: unknown) {
	if (property(message, "role") !== "custom") return undefined;
	if (property(message, "customType") !== WORKSET_ENTRY) return undefined;
	const content = property(message, "content");
	if (!Array.isArray(content)) return undefined;
	return content.map((block) => {
		const text = blockText(block);
		const path = pathIn(text);
		const label = (path ?? "working set").slice(0, MAX_LABEL);
		return { kind: "file" as const, label, text, ...(path !== undefined && { path }) };
	});
}

function pathIn(text: string): string | undefined {
	const [, quoted] = WORKING_FILE.exec(text) ?? [];
	try {
		return quoted === undefined ? undefined : String(JSON.parse(quoted));
	} catch {
		return undefined; // the path has an invalid escape
	}
}

const MAX_LABEL = 120;

type Described = Pick<
	Piece,
	"kind" | "label" | "path" | "replacedTokens" | "callId" | "pinned" | "pending"
>;

function described(message: unknown, entry: SessionEntry, source: ContextSource): Described {
	const role = property(message, "role");
	if (role === "toolResult") return describedResult(message, entry, source);
	if (role === "custom") {
		const type = String(property(message, "customType"));
		return { kind: CUSTOM_KINDS.get(type) ?? "conversation", label: labelOf(message, type) };
	}
	return { kind: "conversation", label: labelOf(message, String(role)) };
}

function describedResult(message: unknown, entry: SessionEntry, source: ContextSource): Described {
	const item = source.sent.get(entry.id);
	const { toolName, input } =
		item?.kind === "toolResult" ? item : { toolName: "", input: undefined };
	const isEdited = item?.kind === "toolResult" && item.text !== item.returned;
	const label = callOf({ toolName, input }).slice(0, MAX_LABEL);
	const path = FILE_TOOLS.has(toolName) ? shownPath(input, source.cwd) : undefined;
	const callId = property(message, "toolCallId");
	const pendingText = source.pendingText(entry.id);
	const kept = {
		label,
		...(path !== undefined && { path }),
		...(typeof callId === "string" && { callId }),
		...(typeof callId === "string" && source.pinned.has(callId) && { pinned: true as const }),
		...(pendingText !== undefined && {
			pending: pendingText === null || isStub(pendingText) ? ("stub" as const) : ("full" as const),
		}),
	};
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

const FILE_TOOLS: ReadonlySet<string> = new Set(["read", "edit", "write"]);

function shownPath(input: unknown, cwd: string): string | undefined {
	const path = property(foldReadInput(input), "path");
	return typeof path === "string" ? inProject(path, cwd) : undefined;
}

/** Relative to the session's folder, if the path is inside of it. */
function inProject(path: string, cwd: string): string {
	const inside = isAbsolute(path) ? relative(cwd, path) : path;
	return inside === "" || inside.startsWith("..") ? path : inside;
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
	const { cacheRead } = answer.message.usage;
	const later = new Set(
		branch.slice(at).map((entry) => (entry.type === "context_edit" ? entry.targetId : entry.id)),
	);
	const first = pieces.findIndex(({ entryId }) => entryId !== undefined && later.has(entryId));
	const held = first < 0 ? pieces.length : first;
	return {
		cachedTokens: cacheRead,
		lastRequest: { tokens: promptSize(answer), pieces: held },
	};
}
