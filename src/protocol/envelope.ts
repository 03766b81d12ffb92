import Type from "typebox";
import { CommandId, Count, KnownCommandId, oneOf, SessionId } from "./field-schemas.ts";

export const EnvelopeFields = Type.Object({
	/** Makes the command idempotent: sent again with the same content, it gets the same outcome. */
	id: Type.Optional(CommandId),
	/** Ids of commands that must have succeeded first. */
	dependsOn: Type.Optional(Type.Array(KnownCommandId, { maxItems: 32 })),
	/** The command fails unless the session is at this version. */
	ifSessionVersion: Type.Optional(Count),
	/** For clients that store no ids. Scoped by session; expires ten minutes after completion. */
	idempotencyKey: Type.Optional(KnownCommandId),
});

export const SessionFields = Type.Object({ sessionId: SessionId });

/** Why a command failed. New codes may be added; treat unknown ones as `failed`. */
export const ErrorCode = oneOf(
	"invalid_json",
	/** A field is missing or invalid. */
	"invalid_command",
	"unknown_command",
	"too_large",
	"shutting_down",
	/** The id was used for another command. */
	"id_conflict",
	"key_conflict",
	"rate_limited",
	/** Too many commands are in flight, too many records wait for the journal, or the replay queue is full. */
	"busy",
	/** A configured limit of sessions or subscriptions is reached. */
	"limit_reached",
	"unknown_session",
	"session_exists",
	"version_mismatch",
	"dependency_unknown",
	"dependency_failed",
	"dependency_timeout",
	/** The command depends on itself. */
	"dependency_cycle",
	"timeout",
	/** The server stopped while the command was in flight; it may have had an effect. */
	"interrupted",
	/** The journal cannot be written or trusted. Nothing was carried out; only reads are answered. */
	"journal_unavailable",
	/** Another server has the session; the text names its address. Nothing was carried out here. */
	/** The command was carried out, but its outcome is not on disk: a crash may lose it. */
	"not_durable",
	/** A read's answer was not stored and has changed since: send the read again under a new id. */
	"answer_gone",
	/** A named model, entry or file is missing. */
	"not_found",
	"forbidden",
	/** The session is streaming, compacting, or has no model. */
	"wrong_state",
	"failed",
);
export type ErrorCode = Type.Static<typeof ErrorCode>;

const OutcomeFields = {
	/** Text for people; present on failure. */
	error: Type.Optional(Type.String()),
	/** For programs; present on failure. */
	code: Type.Optional(ErrorCode),
	sessionVersion: Type.Optional(Count),
	/** This is the outcome of an earlier command with the same id or key. */
	replayed: Type.Optional(Type.Literal(true)),
	timedOut: Type.Optional(Type.Literal(true)),
};

/** The answer to one command. */
export const Response = Type.Object({
	type: Type.Literal("response"),
	/** The command's type, or `unknown` if it is unreadable. */
	command: Type.String(),
	success: Type.Boolean(),
	/** The command's id; absent if it had none. */
	id: Type.Optional(Type.String()),
	data: Type.Optional(Type.Unknown()),
	...OutcomeFields,
});
export interface Response<Data = unknown> extends Omit<Type.Static<typeof Response>, "data"> {
	data?: Data;
}

export const LifecycleData = Type.Object({
	commandId: Type.String(),
	commandType: Type.String(),
	sessionId: Type.Optional(Type.String()),
	dependsOn: Type.Array(Type.String()),
	ifSessionVersion: Type.Optional(Count),
	idempotencyKey: Type.Optional(Type.String()),
	success: Type.Optional(Type.Boolean()),
	...OutcomeFields,
});
