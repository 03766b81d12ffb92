import type { Ttl } from "../core/bill.ts";
import { hashBytes } from "../core/hash.ts";
import { isRecord } from "../core/property.ts";
import type { JsonSpan } from "./json-span.ts";
import { nameOf, type Part, type Piece, type PieceKind, pathIn, pieceOf } from "./piece.ts";

interface Added {
	readonly kind: PieceKind;
	readonly label: string;
	readonly span: JsonSpan;
	readonly value: unknown;
	readonly role?: string | undefined;
	readonly breakpoint?: Ttl | undefined;
}

/** Collects the pieces of one request, and pairs results with the calls before them. */
export class PieceList {
	readonly pieces: Piece[] = [];
	readonly #calls = new Map<string, { tool: string; path?: string }>();

	add(part: Part, added: Added): void {
		this.pieces.push(pieceOf({ part, ...added }));
	}

	addTool(span: JsonSpan, value: unknown, name: unknown, part: Part = "tools"): void {
		const tool = nameOf(name);
		const label = `tool ${tool ?? "without a name"}`;
		this.pieces.push(pieceOf({ part, kind: "tool", label, span, value, ...(tool && { tool }) }));
	}

	/** `input` is the call's parsed input. */
	addCall(added: Omit<Added, "kind" | "label">, call: Call & { who: string }): void {
		const tool = nameOf(call.name);
		const path = pathIn(call.input);
		const callId = nameOf(call.id);
		const about = { ...(callId && { callId }), ...(tool && { tool }), ...(path && { path }) };
		if (typeof call.id === "string" && tool) {
			this.#calls.set(call.id, { tool, ...(path && { path }) });
		}
		const label = tool ? `call of ${tool} in ${call.who}` : call.who;
		this.pieces.push(pieceOf({ part: "messages", kind: "call", label, ...about, ...added }));
	}

	/** `name` is the tool's, if the result itself says it. */
	addResult(added: Omit<Added, "kind" | "label">, call: Omit<Call, "input"> & { who: string }) {
		const named = nameOf(call.name);
		const known = typeof call.id === "string" ? this.#calls.get(call.id) : undefined;
		const callId = nameOf(call.id);
		const about = {
			...(callId && { callId }),
			...(known ?? { ...(named && { tool: named }) }),
		};
		const result = callId ?? about.tool;
		const label = result ? `result of ${result} in ${call.who}` : call.who;
		this.pieces.push(pieceOf({ part: "messages", kind: "result", label, ...about, ...added }));
	}
}

interface Call {
	readonly id?: unknown;
	readonly name?: unknown;
	readonly input?: unknown;
}

/** The lifetime of the prompt's end, as its last marker says. */
export function ttlOf(pieces: readonly Piece[]): { ttl?: Ttl } {
	const ttl = pieces.findLast(({ breakpoint }) => breakpoint)?.breakpoint;
	return ttl ? { ttl } : {};
}

/** The items of a list, or the value itself if it is not a list; nothing for `null`. */
export function listOf(span: JsonSpan | undefined): JsonSpan[] {
	if (!span || span.text === "null") return [];
	return span.isArray ? [...span.items()] : [span];
}

export function parsed(span: JsonSpan | undefined): unknown {
	return span?.value;
}

export function textOf(span: JsonSpan | undefined): string | undefined {
	if (!span?.isString) return undefined;
	return String(span.value);
}

/** For comparison only: the JSON text of a setting in any order of its keys, or the hash of a long one. */
function settingOf(value: unknown): string {
	if (typeof value === "string") return shortened(value);
	const byKey = isRecord(value)
		? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
		: value;
	return shortened(JSON.stringify(byKey));
}

function shortened(text: string): string {
	return text.length > MAX_SETTING ? hashBytes(text) : text;
}

/** Without settings that are not set. */
export function settings<Name extends string>(
	all: Readonly<Record<Name, unknown>>,
): Partial<Record<Name, string>> {
	const set: Partial<Record<Name, string>> = {};
	for (const name of Object.keys(all) as Name[]) {
		const value = all[name];
		if (value !== undefined && value !== null) set[name] = settingOf(value);
	}
	return set;
}

const MAX_SETTING = 200;

/** Arguments that are JSON in a string, as OpenAI sends them; the string itself if they are not. */
export function parsedArguments(text: unknown): unknown {
	if (typeof text !== "string") return text;
	try {
		return JSON.parse(text);
	} catch {
		return text; // a custom tool takes plain text
	}
}
