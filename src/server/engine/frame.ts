import { hash } from "node:crypto";
import {
	type Command,
	type CommandRow,
	parseCommand,
	type Response,
	rowOf,
} from "../../protocol/index.ts";
import { type Failure, failureResponse } from "./outcome.ts";

export type Frame =
	| { ok: true; command: Command; row: CommandRow; fingerprint: string }
	| { ok: false; response: Response };

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Parses and validates one frame. Never throws. */
export function readFrame(frame: string | Uint8Array, maxBytes: number): Frame {
	if (isLarger(frame, maxBytes)) {
		const error = `The frame is larger than ${maxBytes} bytes, the maximum of this server.`;
		return refused({ code: "too_large", error });
	}
	let value: unknown;
	try {
		value = JSON.parse(typeof frame === "string" ? frame : utf8.decode(frame));
	} catch {
		const error = "The frame is not valid JSON in UTF-8: send one JSON object per frame.";
		return refused({ code: "invalid_json", error });
	}
	const parsed = parseCommand(value);
	if (!parsed.ok) return parsed;
	const { command } = parsed;
	const row = rowOf(command.type) as CommandRow;
	const isNamed = command.id !== undefined || command.idempotencyKey !== undefined;
	// The fingerprint covers the frame before validation, so that unknown fields count too.
	const fingerprint = isNamed ? fingerprintOf(value as Record<string, unknown>) : "";
	return { ok: true, command, row, fingerprint };
}

/** Counts the bytes of a text only if it may be too large, because counting is slow. */
function isLarger(frame: string | Uint8Array, maxBytes: number): boolean {
	if (typeof frame !== "string") return frame.byteLength > maxBytes;
	if (frame.length > maxBytes) return true;
	return frame.length * 3 > maxBytes && Buffer.byteLength(frame) > maxBytes;
}

function refused(failure: Failure): Frame {
	return { ok: false, response: failureResponse("unknown", failure) };
}

/** Cached fingerprints of short commands, by their canonical JSON. */
const recent = new Map<string, string>();
const MAX_RECENT = 1_000;
const MAX_RECENT_CHARACTERS = 500;

/** Ignores `id`, `idempotencyKey`, the order of keys and JSON formatting. Starts with the format version. */
export function fingerprintOf(command: Readonly<Record<string, unknown>>): string {
	const text = canonicalObject(command, true);
	const known = recent.get(text);
	if (known !== undefined) return known;
	const fingerprint = `1:${hash("sha256", text, "base64")}`;
	if (text.length > MAX_RECENT_CHARACTERS) return fingerprint;
	if (recent.size === MAX_RECENT) recent.clear();
	recent.set(text, fingerprint);
	return fingerprint;
}

/** RFC 8785 JSON: keys in code-unit order, no spaces. `parseCommand` has limited the nesting depth. */
function canonical(value: unknown): string {
	if (typeof value === "string") return JSON.stringify(value);
	// JSON has no NaN or infinity, so String writes numbers as JSON does.
	if (typeof value !== "object" || value === null) return String(value);
	return Array.isArray(value) ? `[${value.map(canonical).join(",")}]` : canonicalObject(value);
}

function canonicalObject(value: object, isCommand = false): string {
	let text = "";
	for (const key of Object.keys(value).sort()) {
		if (isCommand && (key === "id" || key === "idempotencyKey")) continue;
		const part = canonical((value as Record<string, unknown>)[key]);
		text += `${text === "" ? "{" : ","}${JSON.stringify(key)}:${part}`;
	}
	return text === "" ? "{}" : `${text}}`;
}
