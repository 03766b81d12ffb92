import {
	type Command,
	type CommandRow,
	parseCommand,
	type Response,
	rowOf,
	sessionOf,
} from "../../protocol/index.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { type Failure, failureResponse } from "./outcome.ts";
import type { Request } from "./run.ts";
import type { Seat } from "./tenant.ts";

/** A frame that is a valid command, or the response to one that is not. */
export type Read =
	| { ok: true; command: Command; row: CommandRow; fingerprint: string }
	| { ok: false; response: Response };

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads and checks a frame. Never throws. */
export function readFrame(frame: string | Uint8Array, maxBytes: number): Read {
	if (isLarger(frame, maxBytes)) {
		const error = `The frame is larger than the ${maxBytes} bytes this server takes.`;
		return refused({ code: "too_large", error });
	}
	let value: unknown;
	try {
		value = JSON.parse(typeof frame === "string" ? frame : utf8.decode(frame));
	} catch {
		return refused({
			code: "invalid_json",
			error: "The frame is not JSON in UTF-8: send one JSON object a frame.",
		});
	}
	const parsed = parseCommand(value);
	if (!parsed.ok) return parsed;
	const { command } = parsed;
	const row = rowOf(command.type) as CommandRow;
	if (command.id === undefined && command.idempotencyKey === undefined) {
		return { ok: true, command, row, fingerprint: "" };
	}
	// Of the frame, not of what was made of it: fields the server does not know count too.
	return { ok: true, command, row, fingerprint: fingerprintOf(value as Record<string, unknown>) };
}

/** When a command is admitted, how large it is, and how it is called if it does not say. */
interface Admission extends Pick<Request, "admittedAtMs" | "acceptedMs" | "bytes"> {
	anonymousId: () => string;
}

/** The command as one that was admitted, under its own id or the one given here. */
export function createRequest(
	seat: Seat,
	{ command, row, fingerprint }: Extract<Read, { ok: true }>,
	{ admittedAtMs, acceptedMs, bytes, anonymousId }: Admission,
): Request {
	return {
		seat,
		command,
		row,
		commandId: command.id ?? anonymousId(),
		sessionId: sessionOf(command),
		fingerprint,
		admittedAtMs,
		acceptedMs,
		bytes,
	};
}

/** Counting the bytes of a text means reading it, so that is left for those that may be too large. */
function isLarger(frame: string | Uint8Array, maxBytes: number): boolean {
	if (typeof frame !== "string") return frame.byteLength > maxBytes;
	if (frame.length > maxBytes) return true;
	return frame.length * 3 > maxBytes && Buffer.byteLength(frame) > maxBytes;
}

function refused(failure: Failure): Read {
	return { ok: false, response: failureResponse("unknown", failure) };
}
