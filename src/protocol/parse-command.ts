import { type Fault, findFault } from "../text/find-fault.ts";
import { nearest } from "../text/nearest.ts";
import type { CommandRow } from "./command-row.ts";
import { type Command, commandTypes, rowOf } from "./command-table.ts";
import { EnvelopeFields, type ErrorCode, type Response, SessionFields } from "./envelope.ts";

/** A valid command, or the response that refuses it. */
export type Parsed = { ok: true; command: Command } | { ok: false; response: Response };

type Frame = Record<string, unknown>;

/** Maximum nesting depth. It bounds recursion; no real command comes near it. */
const MAX_DEPTH = 64;
/** Maximum number of objects and arrays per command: a few megabytes can hold a million. */
const MAX_PARTS = 10_000;

/** Maximum length of an id or type that the response repeats. */
const MAX_ECHO = 256;

/** Validates a frame. Never throws. Unknown fields pass: a client may be newer than the server. */
export function parseCommand(value: unknown): Parsed {
	if (typeof value !== "object" || value === null || Array.isArray(value)) {
		return refuse({}, "invalid_command", `A command must be a JSON object, not ${show(value)}.`);
	}
	const frame = value as Frame;
	if (!isBounded(frame, 1, { left: MAX_PARTS })) {
		const most = `deeper than ${MAX_DEPTH} or hold more than ${MAX_PARTS} objects and arrays`;
		return refuse(frame, "invalid_command", `A command may not nest ${most}.`);
	}
	const type = ownField(frame, "type");
	if (typeof type !== "string") {
		const what = type === undefined ? "is missing" : `must be a string, not ${show(type)}`;
		return refuse(frame, "invalid_command", `A command's \`type\` ${what}.`);
	}
	const row = rowOf(type);
	if (!row) return refuse(frame, "unknown_command", unknownText(type));
	const problem = findProblem(frame, type, row);
	if (problem !== undefined) return refuse(frame, "invalid_command", `${type}: ${problem}`);
	return { ok: true, command: frame as unknown as Command };
}

function findProblem(frame: Frame, type: string, row: CommandRow): string | undefined {
	const fault =
		findFault(EnvelopeFields, frame) ??
		(row.target === "session" ? findFault(SessionFields, frame) : undefined) ??
		findFault(row.fields, frame);
	if (fault) return faultText(fault);
	if (!row.versioned && ownField(frame, "ifSessionVersion") !== undefined) {
		return "`ifSessionVersion` is only for commands that act on an open session. Leave it out.";
	}
	return fieldConflict(frame, type);
}

function fieldConflict(frame: Frame, type: string): string | undefined {
	const has = (name: string) => ownField(frame, name) !== undefined;
	if (type === "subscribe") {
		if (has("after") && !has("sessionId")) return "`after` is only allowed with a `sessionId`.";
		if (!["sessionId", "lifecycle", "traffic"].some(has))
			return "Give `sessionId`, `lifecycle` or `traffic`.";
	}
	if (type === "replay_session") {
		const given = ["fileId", "sessionPath", "content"].filter(has);
		if (given.length !== 1) return "Give one of `fileId`, `sessionPath` and `content`.";
	}
	if (type === "get_command_history") {
		const { fromTimestamp, toTimestamp } = frame as Record<string, number | undefined>;
		if (fromTimestamp !== undefined && toTimestamp !== undefined && fromTimestamp > toTimestamp) {
			return `\`fromTimestamp\` ${fromTimestamp} is after \`toTimestamp\` ${toTimestamp}.`;
		}
	}
	return undefined;
}

function faultText({ path, allowed, found }: Fault): string {
	if (!found) return `\`${path}\` is missing; it must be ${allowed}.`;
	return `\`${path}\` must be ${allowed}, not ${show(found.value)}.`;
}

function unknownText(type: string): string {
	// A suggestion must keep at least half of the word.
	const maxEdits = Math.min(3, Math.floor(type.length / 2));
	const meant = nearest(type, commandTypes, { maxEdits, swaps: true });
	return `There is no command ${show(type)}.${meant === undefined ? "" : ` Did you mean ${meant}?`}`;
}

function refuse(frame: Frame, code: ErrorCode, error: string): Parsed {
	const id = echoable(ownField(frame, "id"));
	return {
		ok: false,
		response: {
			type: "response",
			command: echoable(ownField(frame, "type")) ?? "unknown",
			success: false,
			...(id !== undefined && { id }),
			error,
			code,
		},
	};
}

function echoable(value: unknown): string | undefined {
	return typeof value === "string" && value.length <= MAX_ECHO ? value : undefined;
}

function ownField(frame: Frame, name: string): unknown {
	return Object.hasOwn(frame, name) ? frame[name] : undefined;
}

/** A short description, enough to recognise a value of any size. */
function show(value: unknown): string {
	if (Array.isArray(value)) return `an array of ${value.length}`;
	if (typeof value === "object" && value !== null) return "an object";
	if (typeof value !== "string") return String(value);
	if (value.length <= 60) return JSON.stringify(value);
	return `${JSON.stringify(value.slice(0, 50))}… (${value.length} characters)`;
}

/** Counts `room.left` down and stops below zero. */
function isBounded(value: object, depth: number, room: { left: number }): boolean {
	if (depth > MAX_DEPTH || --room.left < 0) return false;
	for (const inner of Array.isArray(value) ? value : Object.values(value)) {
		if (typeof inner === "object" && inner !== null && !isBounded(inner, depth + 1, room)) {
			return false;
		}
	}
	return true;
}
