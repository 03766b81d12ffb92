import { isRecord } from "../../core/property.ts";
import type { Block, Breakpoint, Part, Ttl } from "../request.ts";

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

export function simulated(
	pieces: readonly PayloadBlock[],
	{ hashOf, tokensOf }: { hashOf(text: string): string; tokensOf(text: string): number },
): { blocks: Block[]; breakpoints: Breakpoint[] } {
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
