import Type from "typebox";
import type * as envelope from "./envelope.ts";
import { Count, oneOf } from "./field-schemas.ts";

/** Why a command failed. */
export const ErrorCode = oneOf(
	"invalid_json",
	"invalid_command",
	"unknown_command",
	"too_large",
	"shutting_down",
	"id_conflict",
	"key_conflict",
	"rate_limited",
	"busy",
	"limit_reached",
	"unknown_session",
	"session_exists",
	"version_mismatch",
	"dependency_unknown",
	"dependency_failed",
	"dependency_timeout",
	"dependency_cycle",
	"timeout",
	"interrupted",
	"journal_unavailable",
	"not_durable",
	"answer_gone",
	"not_found",
	"forbidden",
	"wrong_state",
	"failed",
);

const Replayed = Type.Optional(Type.Literal(true));

/** The answer to one command. */
export const Response = Type.Object({
	type: Type.Literal("response"),
	command: Type.String(),
	success: Type.Boolean(),
	id: Type.Optional(Type.String()),
	data: Type.Optional(Type.Unknown()),
	error: Type.Optional(Type.String()),
	code: Type.Optional(ErrorCode),
	sessionVersion: Type.Optional(Count),
	replayed: Replayed,
	timedOut: Replayed,
});
export type Response = envelope.Response;

/** What lifecycle events say about a command. */
export const LifecycleData = Type.Object({
	commandId: Type.String(),
	commandType: Type.String(),
	sessionId: Type.Optional(Type.String()),
	dependsOn: Type.Array(Type.String()),
	ifSessionVersion: Type.Optional(Count),
	idempotencyKey: Type.Optional(Type.String()),
	success: Type.Optional(Type.Boolean()),
	error: Type.Optional(Type.String()),
	code: Type.Optional(ErrorCode),
	sessionVersion: Type.Optional(Count),
	replayed: Replayed,
	timedOut: Replayed,
});
