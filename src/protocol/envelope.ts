import Type from "typebox";
import {
	CommandId,
	Count,
	IdempotencyKey,
	KnownCommandId,
	oneOf,
	SessionId,
} from "./field-schemas.ts";

/** What every command may carry beside its type and its own fields. */
export const EnvelopeFields = Type.Object({
	/** Names this command's intent: sent again with the same content, it is answered with the same outcome. */
	id: Type.Optional(CommandId),
	/** Ids of commands that must have succeeded first. */
	dependsOn: Type.Optional(Type.Array(KnownCommandId, { maxItems: 32 })),
	/** The command fails unless the session is at this version. */
	ifSessionVersion: Type.Optional(Count),
	/** Like `id`, for clients that cannot keep ids: scoped by session, and forgotten ten minutes after completion. */
	idempotencyKey: Type.Optional(IdempotencyKey),
});

/** What a session command must carry. */
export const SessionFields = Type.Object({ sessionId: SessionId });

/** Why a command failed. New codes may be added; treat one you do not know as `failed`. */
export const ErrorCode = oneOf(
	/** The frame is not one JSON object. */
	"invalid_json",
	/** A field is missing, unknown to the command's shape, or out of bounds. */
	"invalid_command",
	"unknown_command",
	/** The frame is larger than the server takes. */
	"too_large",
	"shutting_down",
	/** The id was used for another command. */
	"id_conflict",
	/** The idempotency key was used for another command. */
	"key_conflict",
	"rate_limited",
	/** Too many commands under way, on this connection or in all. */
	"busy",
	/** A configured number of sessions or subscriptions is reached. */
	"limit_reached",
	"unknown_session",
	"session_exists",
	"version_mismatch",
	"dependency_unknown",
	"dependency_failed",
	"dependency_timeout",
	/** Waiting for the dependency could never end: it is the command itself, comes later in the same lane, or waits for this one. */
	"dependency_cycle",
	"timeout",
	/** The server stopped or died while the command was under way; it may or may not have had an effect. */
	"interrupted",
	/** The server cannot write or trust its journal: the command had no effect, only reads are answered. */
	"journal_unavailable",
	/** The command was carried out, but its outcome is not on disk: after a crash the server may not know of it. */
	"not_durable",
	/** The read was answered before, and its answer is neither kept nor the same any more: ask again under a new id. */
	"answer_gone",
	/** What the command names (a model, an entry, a file) is not there. */
	"not_found",
	/** The server's configuration does not allow it. */
	"forbidden",
	/** The session cannot do it now: it is streaming, compacting, or has no model. */
	"wrong_state",
	/** The work itself failed. */
	"failed",
);
export type ErrorCode = Type.Static<typeof ErrorCode>;

const Replayed = Type.Optional(Type.Literal(true));

/** The answer to one command. */
export const Response = Type.Object({
	type: Type.Literal("response"),
	/** The type that was asked for, or `unknown`. */
	command: Type.String(),
	success: Type.Boolean(),
	/** As in the command; absent when it had none. */
	id: Type.Optional(Type.String()),
	data: Type.Optional(Type.Unknown()),
	/** For people; present when `success` is false. */
	error: Type.Optional(Type.String()),
	/** For programs; present when `success` is false. */
	code: Type.Optional(ErrorCode),
	/** The session's version after the command. */
	sessionVersion: Type.Optional(Count),
	/** The outcome is that of an earlier command with the same identity. */
	replayed: Replayed,
	timedOut: Replayed,
});
export interface Response<Data = unknown> extends Omit<Type.Static<typeof Response>, "data"> {
	data?: Data;
}

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
