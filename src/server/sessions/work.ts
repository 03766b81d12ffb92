import type { CommandOf, CommandType, ResponseData } from "../../protocol/index.ts";
import type { Call } from "../engine/call.ts";
import type { LiveSession } from "./live-session.ts";
import type { Slot } from "./slot.ts";

/** What a command does with its session, once that is open. Returns the response's `data`. */
export type Work<Type extends CommandType> = (
	live: LiveSession,
	command: CommandOf<Type>,
	around: { slot: Slot; call: Call<Type> },
) => ResponseData[Type] | Promise<ResponseData[Type]>;

/** The works of some commands. */
export type Works<Type extends CommandType> = { readonly [Name in Type]: Work<Name> };
