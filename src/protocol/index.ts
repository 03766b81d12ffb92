/** The door for the server, the dashboard and the library. The client's own door, `client.ts`, loads no schemas. */
import type Type from "typebox";

export { PROTOCOL_VERSION } from "./client/transport.ts";
export type { CommandRow } from "./command-row.ts";
export {
	type Command,
	type CommandFields,
	type CommandOf,
	type CommandType,
	laneOf,
	type ResponseData,
	rowOf,
	sessionOf,
	timeoutOf,
} from "./command-table.ts";
export type { Response } from "./envelope.ts";
export { protocolJsonSchema } from "./json-schema.ts";
export { parseCommand } from "./parse-command.ts";

type Schemas = typeof import("./code-data.ts") &
	typeof import("./context-data.ts") &
	typeof import("./envelope.ts") &
	typeof import("./metrics-data.ts") &
	typeof import("./pi-shapes.ts") &
	typeof import("./progress-data.ts") &
	typeof import("./server-commands.ts") &
	typeof import("./server-events.ts") &
	typeof import("./session-data.ts") &
	typeof import("./session-events.ts") &
	typeof import("./traffic-data.ts") &
	typeof import("./usage-data.ts");

/** The type of data in frames, by the name of its schema, such as `Data<"ContextPiece">`. */
export type Data<Name extends keyof Schemas> = Schemas[Name] extends Type.TSchema
	? Type.Static<Schemas[Name]>
	: never;
