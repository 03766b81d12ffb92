import type { Ttl } from "../../core/bill.ts";
import { isRecord, property } from "../../core/property.ts";
import type { Block, Breakpoint, Part } from "../request.ts";

export interface PayloadBlock {
	readonly part: Part;
	/** For people: `tool read`, `result of toolu_01`, `user message 3`. Never the text itself. */
	readonly label: string;
	/** The speaker: the same text by another speaker is another prefix. */
	readonly role?: string;
	readonly value: unknown;
	/** Set if a cache marker follows the block. */
	readonly marker?: Ttl;
}

/** Blocks in the order of prefix matching. Ignores unknown fields of the payload. */
export function payloadBlocks(payload: unknown): PayloadBlock[] {
	if (!isRecord(payload)) return [];
	const { tools, system, instructions, systemInstruction, messages, input, contents } = payload;
	return [
		...listOf(tools).map((tool) => block("tools", `tool ${toolName(tool)}`, tool)),
		...texts(system ?? instructions ?? systemInstruction).map((text) =>
			block("system", "system prompt", text),
		),
		...listOf(messages ?? input ?? contents).flatMap(messageBlocks),
	];
}

/** A payload as the simulator takes it. */
export function simulated(
	payload: unknown,
	{ hashOf, tokensOf }: { hashOf(text: string): string; tokensOf(text: string): number },
): { blocks: Block[]; breakpoints: Breakpoint[] } {
	const pieces = payloadBlocks(payload);
	const blocks = pieces.map((piece) => {
		const text = matchedText(piece);
		return { part: piece.part, label: piece.label, hash: hashOf(text), tokens: tokensOf(text) };
	});
	const breakpoints = pieces.flatMap(({ marker }, after) =>
		marker ? [{ after, ttl: marker }] : [],
	);
	return { blocks, breakpoints };
}

/** Ignores markers. */
export function isSamePiece(one: PayloadBlock, other: PayloadBlock): boolean {
	return one.part === other.part && matchedText(one) === matchedText(other);
}

/** Key order is kept: other bytes are another prefix. */
function matchedText({ role, value }: PayloadBlock): string {
	return `${role === undefined ? "" : `${role} `}${JSON.stringify(withoutMarker(value))}`;
}

function messageBlocks(message: unknown, at: number): PayloadBlock[] {
	if (!isRecord(message)) return [block("messages", `message ${at + 1}`, message)];
	const { role, content, parts } = message;
	const speaker = typeof role === "string" ? role : undefined;
	const who = `${speaker ?? nameOf(message.type) ?? "other"} message ${at + 1}`;
	const pieces = content ?? parts;
	if (pieces === undefined || pieces === null) return [block("messages", who, message)];
	return texts(pieces).map((piece) => ({
		...block("messages", describe(piece, who), piece),
		...(speaker !== undefined && { role: speaker }),
	}));
}

/** A plain string and one block of that text are the same prefix. */
function texts(content: unknown): unknown[] {
	return typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
}

function describe(piece: unknown, who: string): string {
	if (!isRecord(piece)) return who;
	const result = nameOf(piece.tool_use_id);
	if (result) return `result of ${result} in ${who}`;
	const call = piece.type === "tool_use" ? nameOf(piece.name) : undefined;
	return call ? `call of ${call} in ${who}` : who;
}

function block(part: Part, label: string, value: unknown): PayloadBlock {
	const marker = markerOf(value);
	return { part, label, value, ...(marker && { marker }) };
}

function markerOf(value: unknown): Ttl | undefined {
	const control = isRecord(value) ? value.cache_control : undefined;
	if (!isRecord(control)) return undefined;
	return control.ttl === "1h" ? "1h" : "5m";
}

function withoutMarker(value: unknown): unknown {
	if (!isRecord(value)) return value;
	const { cache_control: _marker, ...bare } = value;
	return bare;
}

function toolName(tool: unknown): string {
	if (!isRecord(tool)) return "without a name";
	const inner = isRecord(tool.function) ? tool.function.name : tool.name;
	return nameOf(inner) ?? "without a name";
}

/** Untrusted: names come from tools' payloads and go to the screen. */
function nameOf(name: unknown): string | undefined {
	if (typeof name !== "string" || name === "") return undefined;
	return name.replace(/[^\w.:/-]/g, "?").slice(0, 60);
}

function listOf(value: unknown): unknown[] {
	if (value === undefined || value === null) return [];
	return Array.isArray(value) ? value : [value];
}

/** The limit of Anthropic's API for one request. */
export const MAX_MARKERS = 4;

/** All cache markers in order: tools, system prompt, messages. */
export function markersIn(payload: unknown): unknown[] {
	const messages = listOf(property(payload, "messages"));
	return [
		property(payload, "tools"),
		property(payload, "system"),
		...messages.map((message) => property(message, "content")),
	]
		.flatMap(listOf)
		.map((block) => property(block, "cache_control"))
		.filter((marker) => marker !== undefined && marker !== null);
}

/** Thinking and empty texts cannot carry a marker. */
export function canCarryMarker(block: unknown): boolean {
	const type = property(block, "type");
	if (type === "text") return property(block, "text") !== "";
	return type === "tool_use" || type === "tool_result" || type === "image";
}

interface BlockPlace {
	readonly message: number;
	readonly block: number;
}

/** A copy with one more marker; `undefined` if the request has none, is full or lacks the block. */
export function withExtraMarker(
	payload: unknown,
	placeIn: (messages: readonly unknown[]) => BlockPlace | undefined,
): object | undefined {
	const messages = property(payload, "messages");
	if (!Array.isArray(messages)) return undefined;
	const markers = markersIn(payload);
	if (markers.length === 0 || markers.length >= MAX_MARKERS) return undefined;
	const place = placeIn(messages);
	if (!place) return undefined;
	const { message, block } = place;
	const content = messages[message].content as object[];
	const unmarked = content[block] as object;
	if ("cache_control" in unmarked || !canCarryMarker(unmarked)) return undefined;
	// The last marker is on the request's end: its lifetime is allowed.
	const marked = { ...unmarked, cache_control: markers.at(-1) };
	const changed = { ...messages[message], content: content.with(block, marked) };
	return { ...(payload as object), messages: messages.with(message, changed) };
}
