import type { Ttl } from "../../core/bill.ts";
import { isRecord, property } from "../../core/property.ts";
import type { Block, Breakpoint, Part } from "../model-request.ts";

export interface PayloadBlock {
	readonly part: Part;
	/** For display: `tool read`, `result of toolu_01`, `user message 3`. Never the block's text. */
	readonly label: string;
	/** The speaker. The same text from another speaker is a different prefix. */
	readonly role?: string;
	readonly value: unknown;
	/** Set if a breakpoint follows the block. */
	readonly breakpoint?: Ttl;
}

/** Returns the blocks in the order of prefix matching. Ignores unknown fields of the payload. */
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

/** Returns the blocks and breakpoints of a payload, for the simulator. */
export function requestOfPayload(
	payload: unknown,
	{ hashOf, tokensOf }: { hashOf(text: string): string; tokensOf(text: string): number },
): { blocks: Block[]; breakpoints: Breakpoint[] } {
	const pieces = payloadBlocks(payload);
	const blocks = pieces.map((piece) => {
		const text = matchedText(piece);
		return { part: piece.part, label: piece.label, hash: hashOf(text), tokens: tokensOf(text) };
	});
	const breakpoints = pieces.flatMap(({ breakpoint: ttl }, after) => (ttl ? [{ after, ttl }] : []));
	return { blocks, breakpoints };
}

/** Compares blocks without their breakpoints. */
export function isSamePiece(one: PayloadBlock, other: PayloadBlock): boolean {
	return one.part === other.part && matchedText(one) === matchedText(other);
}

/** Returns the text to compare. Keeps the key order, since different bytes are a different prefix. */
function matchedText({ role, value }: PayloadBlock): string {
	return `${role === undefined ? "" : `${role} `}${JSON.stringify(withoutBreakpoint(value))}`;
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
	const breakpoint = breakpointOf(value);
	return { part, label, value, ...(breakpoint && { breakpoint }) };
}

function breakpointOf(value: unknown): Ttl | undefined {
	const control = isRecord(value) ? value.cache_control : undefined;
	if (!isRecord(control)) return undefined;
	return control.ttl === "1h" ? "1h" : "5m";
}

function withoutBreakpoint(value: unknown): unknown {
	if (!isRecord(value)) return value;
	const { cache_control: _breakpoint, ...bare } = value;
	return bare;
}

function toolName(tool: unknown): string {
	if (!isRecord(tool)) return "without a name";
	const inner = isRecord(tool.function) ? tool.function.name : tool.name;
	return nameOf(inner) ?? "without a name";
}

/** Makes a name printable, since names come from untrusted payloads and are displayed. */
function nameOf(name: unknown): string | undefined {
	if (typeof name !== "string" || name === "") return undefined;
	return name.replace(/[^\w.:/-]/g, "?").slice(0, 60);
}

function listOf(value: unknown): unknown[] {
	if (value === undefined || value === null) return [];
	return Array.isArray(value) ? value : [value];
}

/** Maximum number of breakpoints per request in Anthropic's API. */
export const MAX_BREAKPOINTS = 4;

/** Returns all `cache_control` values in order: tools, system prompt, messages. */
export function breakpointsIn(payload: unknown): unknown[] {
	const messages = listOf(property(payload, "messages"));
	return [
		property(payload, "tools"),
		property(payload, "system"),
		...messages.map((message) => property(message, "content")),
	]
		.flatMap(listOf)
		.map((block) => property(block, "cache_control"))
		.filter((control) => control !== undefined && control !== null);
}

/** Thinking and empty texts cannot carry a breakpoint. */
export function canCarryBreakpoint(block: unknown): boolean {
	const type = property(block, "type");
	if (type === "text") return property(block, "text") !== "";
	return type === "tool_use" || type === "tool_result" || type === "image";
}

/** Returns a copy with one more breakpoint; `undefined` if there are none or 4, or the block cannot carry one. */
export function withExtraBreakpoint(
	payload: unknown,
	placeIn: (messages: readonly unknown[]) => { message: number; block: number } | undefined,
): object | undefined {
	const messages = property(payload, "messages");
	if (!Array.isArray(messages)) return undefined;
	const breakpoints = breakpointsIn(payload);
	if (breakpoints.length === 0 || breakpoints.length >= MAX_BREAKPOINTS) return undefined;
	const place = placeIn(messages);
	if (!place) return undefined;
	const { message, block } = place;
	const content = messages[message].content as object[];
	const unmarked = content[block] as object;
	if ("cache_control" in unmarked || !canCarryBreakpoint(unmarked)) return undefined;
	// The last breakpoint is at the request's end, so its lifetime is allowed anywhere before it.
	const marked = { ...unmarked, cache_control: breakpoints.at(-1) };
	const changed = { ...messages[message], content: content.with(block, marked) };
	return { ...(payload as object), messages: messages.with(message, changed) };
}
