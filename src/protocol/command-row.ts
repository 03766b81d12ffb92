import type { TObject } from "typebox";

/** What there is to know about the commands of one type before any of them runs. */
export interface CommandRow<
	Target extends "server" | "session" = "server" | "session",
	Fields extends TObject = TObject,
> {
	/** A session command names its session in `sessionId`, and its key is scoped by it. */
	readonly target: Target;
	/** A change raises its session's version by one when it succeeds, and is durable before it is answered. */
	readonly effect: "read" | "change";
	/**
	 * On the lane, a command waits for those before it. The control path is for what must get through while the lane is
	 * held by something long: it waits for earlier short commands only, and holds up nothing.
	 */
	readonly path: "lane" | "control";
	/** It decides what its connection gets from now on, so it never waits for other reads. */
	readonly attaches?: true;
	/** `short`: half a minute. `long`: minutes. `none`: it ends when it ends. See `timeoutOf`. */
	readonly timeout: "short" | "long" | "none";
	/** Whether it may carry `ifSessionVersion`. */
	readonly versioned: boolean;
	/** Its own fields, without those of the envelope; for session commands also without `sessionId`. */
	readonly fields: Fields;
}

type Traits<Target extends "server" | "session"> = Omit<
	CommandRow<Target>,
	"target" | "fields" | "versioned"
>;

/** A row of a command for one session. */
export function sessionCommand<Fields extends TObject>(
	traits: Traits<"session">,
	fields: Fields,
): CommandRow<"session", Fields> {
	return { target: "session", versioned: true, ...traits, fields };
}

/** A row of a command for the server as a whole. */
export function serverCommand<Fields extends TObject>(
	traits: Traits<"server"> & { versioned?: boolean },
	fields: Fields,
): CommandRow<"server", Fields> {
	return { target: "server", versioned: false, ...traits, fields };
}
