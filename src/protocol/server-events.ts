import Type from "typebox";
import { LifecycleData, Response } from "./envelope.ts";
import { SessionInfo } from "./pi-shapes.ts";
import { SessionEvent } from "./session-events.ts";
import { TrafficRequest } from "./traffic-data.ts";

const SessionReference = Type.Object({
	sessionId: Type.String(),
	sessionInfo: Type.Optional(SessionInfo),
});

export const SessionEventFrame = Type.Object({
	type: Type.Literal("event"),
	sessionId: Type.String(),
	/** 1, 2, 3 … per session; absent on unstored events and on dialogs repeated to a late subscriber. */
	seq: Type.Optional(Type.Integer({ minimum: 1 })),
	/** Present on deltas merged for a slow client: the frame covers `fromSeq` to `seq`, inclusive. */
	fromSeq: Type.Optional(Type.Integer({ minimum: 1 })),
	event: SessionEvent,
});
export type SessionEventFrame = Type.Static<typeof SessionEventFrame>;

/** A range of events that this connection does not get. Both numbers are inclusive. */
export const GapFrame = Type.Object({
	type: Type.Literal("gap"),
	sessionId: Type.String(),
	fromSeq: Type.Integer({ minimum: 1 }),
	toSeq: Type.Integer({ minimum: 1 }),
});
export type GapFrame = Type.Static<typeof GapFrame>;

/** A frame that answers no command. Ignore unknown types: more may be added. */
export const ServerEvent = Type.Union([
	/** The first frame on every connection. */
	Type.Object({
		type: Type.Literal("server_ready"),
		data: Type.Object({
			serverVersion: Type.String(),
			protocolVersion: Type.String(),
			transports: Type.Array(Type.String()),
		}),
	}),
	Type.Object({
		type: Type.Literal("server_shutdown"),
		data: Type.Object({ reason: Type.String(), timeoutMs: Type.Optional(Type.Number()) }),
	}),
	Type.Object({ type: Type.Literal("session_created"), data: SessionReference }),
	Type.Object({ type: Type.Literal("session_deleted"), data: SessionReference }),
	Type.Object({ type: Type.Literal("command_accepted"), data: LifecycleData }),
	Type.Object({ type: Type.Literal("command_started"), data: LifecycleData }),
	Type.Object({ type: Type.Literal("command_finished"), data: LifecycleData }),
	/** A request was written into the book of traffic. After many at once, only the latest are sent. */
	Type.Object({
		type: Type.Literal("request_billed"),
		data: Type.Object({
			conversation: Type.Number(),
			request: TrafficRequest,
			/** Older requests, perhaps of other conversations, were not sent. */
			more: Type.Optional(Type.Boolean()),
		}),
	}),
	SessionEventFrame,
	GapFrame,
]);
export type ServerEvent = Type.Static<typeof ServerEvent>;

/** Any frame that a server sends. */
export const ServerMessage = Type.Union([Response, ...ServerEvent.anyOf]);
export type ServerMessage = Response | ServerEvent;
