import type { CommandOf, CommandType, ResponseData } from "../../protocol/index.ts";
import type { Call } from "../engine/call.ts";
import type { LiveSession } from "./live-session.ts";
import type { Slot } from "./slot.ts";

/** Runs the commands of one type in their session, once that is open. Returns the response's `data`. */
export type SessionHandler<Type extends CommandType> = (
	live: LiveSession,
	command: CommandOf<Type>,
	context: { slot: Slot; call: Call<Type> },
) => ResponseData[Type] | Promise<ResponseData[Type]>;

/** The session handlers of some commands. */
export type SessionHandlers<Type extends CommandType> = {
	readonly [Name in Type]: SessionHandler<Name>;
};
