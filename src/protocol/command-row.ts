import Type, { type TObject, type TProperties, type TSchema } from "typebox";

/** Static traits of a command type. */
export interface CommandRow<
	Target extends "server" | "session" = "server" | "session",
	Fields extends TObject = TObject,
	Data extends TSchema = TSchema,
> {
	/** A session command has a `sessionId`, which scopes its idempotency key. */
	readonly target: Target;
	/** A successful change raises the session's version by one and is durable when answered. */
	readonly effect: "read" | "change";
	/** `lane`: waits for all earlier commands. `control`: waits only for short ones, and blocks none. */
	readonly path: "lane" | "control";
	/** The command changes which events its connection receives. It never waits for other reads. */
	readonly attaches?: true;
	/** `short`: half a minute. `long`: minutes. `none`: unlimited. See `timeoutOf`. */
	readonly timeout: "short" | "long" | "none";
	/** Whether the command may carry `ifSessionVersion`. */
	readonly versioned: boolean;
	/** The command's own fields, without the envelope's and without `sessionId` of a session command. */
	readonly fields: Fields;
	readonly data: Data;
}

type Traits = Pick<CommandRow, "effect" | "path" | "attaches" | "timeout">;
type NoFields = Record<never, never>;

export const NoData = Type.Object({});

export function sessionCommand<Data extends TSchema, Fields extends TProperties = NoFields>(
	traits: Traits,
	data: Data,
	fields = {} as Fields,
): CommandRow<"session", TObject<Fields>, Data> {
	return { target: "session", versioned: true, ...traits, fields: Type.Object(fields), data };
}

export function serverCommand<Data extends TSchema, Fields extends TProperties = NoFields>(
	traits: Traits & { versioned?: boolean },
	data: Data,
	fields = {} as Fields,
): CommandRow<"server", TObject<Fields>, Data> {
	return { target: "server", versioned: false, ...traits, fields: Type.Object(fields), data };
}
