import type { Ttl } from "../../core/bill.ts";
import { isRecord, property } from "../../core/property.ts";
import type { Part } from "../model-request.ts";

/** A tool, a text of the system prompt, or a block of a message in an Anthropic payload. */
export interface Placed {
	readonly part: Part;
	readonly block: unknown;
	/** The speaker of a message. */
	readonly role?: unknown;
}

type ChangeBlock = (block: Record<string, unknown>, at: number) => object;

/** Blocks come in the order of prefix matching. Deferred tools are not in the prompt; a plain text is one block. */
export function mapBlocks(payload: object, change: ChangeBlock) {
	const blocks: Placed[] = [];
	const visit = (placed: Placed) => {
		const at = blocks.push(placed) - 1;
		return isRecord(placed.block) ? change(placed.block, at) : placed.block;
	};
	const mapList = (list: unknown, place: Omit<Placed, "block">) => {
		if (Array.isArray(list)) return list.map((block) => visit({ ...place, block }));
		return list === undefined || list === null ? list : visit({ ...place, block: list });
	};
	const mapTool = (block: unknown) =>
		property(block, "defer_loading") === true ? block : visit({ part: "tools", block });
	const mapMessage = (message: unknown) => {
		if (!isRecord(message)) return visit({ part: "messages", block: message });
		const { role, content } = message;
		return { ...message, content: mapList(content, { part: "messages", role }) };
	};
	const { tools, system, messages } = payload as Record<string, unknown>;
	const copy = {
		...payload,
		...(Array.isArray(tools) && { tools: tools.map(mapTool) }),
		...(system !== undefined && { system: mapList(system, { part: "system" }) }),
		...(Array.isArray(messages) && { messages: messages.map(mapMessage) }),
	};
	return { payload: copy, blocks };
}

/** A block as far as the choice of a lifetime needs it. */
export interface PayloadPiece extends Placed {
	/** A measure of its share of the prompt. */
	readonly size: number;
	/** Set if a breakpoint is on it. */
	readonly breakpoint?: Ttl;
}

export function piecesIn(payload: object): PayloadPiece[] {
	const { blocks } = mapBlocks(payload, (block) => block);
	return blocks.map((placed) => {
		const control = property(placed.block, "cache_control");
		const size = sizeOf(placed.block);
		if (!isRecord(control)) return { ...placed, size };
		return { ...placed, size, breakpoint: control.ttl === "1h" ? "1h" : "5m" };
	});
}

/** All that a cached prefix may depend on besides the blocks. A ping has another `max_tokens`. */
export function settingsIn(payload: object): string {
	const { messages, system, tools, max_tokens, metadata, stream, ...settings } = payload as Record<
		string,
		unknown
	>;
	return JSON.stringify([settings, hasImage(messages)]);
}

function hasImage(value: unknown): boolean {
	if (Array.isArray(value)) return value.some(hasImage);
	return property(value, "type") === "image" || hasImages(property(value, "content"));
}

function hasImages(content: unknown): boolean {
	return Array.isArray(content) && content.some(hasImage);
}

/** Whether a prompt cache takes two blocks for the same. Breakpoints do not count. */
export function isSamePiece(one: Placed, other: Placed | undefined): boolean {
	if (other === undefined || one.part !== other.part || one.role !== other.role) return false;
	return isEqual(asBlock(one.block), asBlock(other.block));
}

function asBlock(block: unknown): unknown {
	return typeof block === "string" ? { type: "text", text: block } : block;
}

/** Compares values without a hash: most texts are equal, and comparing equal texts is fast. */
function isEqual(one: unknown, other: unknown): boolean {
	if (one === other) return true;
	if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
	const keys = keysOf(one);
	if (Array.isArray(one) !== Array.isArray(other) || keys.length !== keysOf(other).length)
		return false;
	return keys.every((key) => key in other && isEqual(property(one, key), property(other, key)));
}

function keysOf(value: object): string[] {
	return Object.keys(value).filter((key) => key !== "cache_control");
}

function sizeOf(value: unknown): number {
	if (typeof value === "string") return value.length;
	if (typeof value !== "object" || value === null) return 4;
	return Object.entries(value).reduce((sum, [key, one]) => sum + key.length + sizeOf(one), 0);
}
