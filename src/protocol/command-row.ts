import type { TObject } from "typebox";

/** Static traits of a command type. */
export interface CommandRow<
	Target extends "server" | "session" = "server" | "session",
	Fields extends TObject = TObject,
> {
	/** A session command has a `sessionId`, which scopes its key. */
	readonly target: Target;
	/** A successful change raises the session's version by one and is durable when answered. */
	readonly effect: "read" | "change";
	/** `lane`: waits for earlier commands. `control`: waits for short ones only, blocks nothing. */
	readonly path: "lane" | "control";
	/** Decides what its connection receives: never waits for other reads. */
	readonly attaches?: true;
	/** `short`: half a minute. `long`: minutes. `none`: unlimited. See `timeoutOf`. */
	readonly timeout: "short" | "long" | "none";
	/** Whether it may carry `ifSessionVersion`. */
	readonly versioned: boolean;
	/** Without the envelope's fields and `sessionId`. */
	readonly fields: Fields;
}

type Traits<Target extends "server" | "session"> = Omit<
	CommandRow<Target>,
	"target" | "fields" | "versioned"
>;

export function sessionCommand<Fields extends TObject>(
	traits: Traits<"session">,
	fields: Fields,
): CommandRow<"session", Fields> {
	return { target: "session", versioned: true, ...traits, fields };
}

export function serverCommand<Fields extends TObject>(
	traits: Traits<"server"> & { versioned?: boolean },
	fields: Fields,
): CommandRow<"server", Fields> {
	return { target: "server", versioned: false, ...traits, fields };
}
