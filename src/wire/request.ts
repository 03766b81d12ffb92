import { anthropic } from "./anthropic.ts";
import { chat } from "./chat.ts";
import type { Format, FormatName, WireRequest } from "./format.ts";
import { gemini } from "./gemini.ts";
import { JsonSpan } from "./json-span.ts";
import { responses } from "./responses.ts";
import { type Speaker, speakerOf } from "./who.ts";

/** By name. */
export const FORMATS = { anthropic, responses, chat, gemini } as const satisfies Record<
	FormatName,
	Format
>;

/** The format of a POST to `path`, which has no query; `undefined` if it asks no model. */
export function formatOf(path: string): Format | undefined {
	return Object.values(FORMATS).find((format) => format.matches(path));
}

/** `undefined` if the body is not a JSON object or its shape is not the format's. */
export function readRequest(format: Format, body: Uint8Array, path = ""): WireRequest | undefined {
	try {
		const root = JsonSpan.of(body);
		if (!root.isObject) return undefined;
		return { format: format.name, ...format.request(root.members(), path) };
	} catch {
		return undefined; // what we do not understand is not counted
	}
}

/** The pieces of a payload that an SDK is about to send. Its fields tell the format. */
export function readPayload(payload: unknown): WireRequest | undefined {
	if (typeof payload !== "object" || payload === null) return undefined;
	const format = formatOfPayload(payload);
	return readRequest(format, Buffer.from(JSON.stringify(payload)));
}

function formatOfPayload(payload: object): Format {
	if ("contents" in payload) return gemini;
	if ("input" in payload) return responses;
	const isChat = (message: unknown) =>
		typeof message === "object" &&
		message !== null &&
		("tool_calls" in message || "tool_call_id" in message || ROLES.has(Object(message).role));
	const messages = "messages" in payload && Array.isArray(payload.messages) ? payload.messages : [];
	return !("system" in payload) && messages.some(isChat) ? chat : anthropic;
}

const ROLES: ReadonlySet<unknown> = new Set(["system", "developer", "tool"]);

/** Who sent a request with these headers (names in lower case) and this body. */
export function readSpeaker(headers: Parameters<typeof speakerOf>[0], body: Uint8Array): Speaker {
	try {
		return speakerOf(headers, JsonSpan.of(body).members().get("metadata")?.value);
	} catch {
		return speakerOf(headers);
	}
}
