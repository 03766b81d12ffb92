/** `Data` names every shape that travels. The client's own door, `client.ts`, loads no schemas. */
export type { CommandRow } from "./command-row.ts";
export {
	type Command,
	type CommandFields,
	type CommandOf,
	type CommandType,
	laneOf,
	rowOf,
	sessionOf,
	timeoutOf,
} from "./command-table.ts";
export type { Data } from "./data.ts";
export type { Response } from "./envelope.ts";
export { protocolJsonSchema } from "./json-schema.ts";
export { parseCommand } from "./parse-command.ts";
export type { ResponseData } from "./response-data.ts";
export { PROTOCOL_VERSION } from "./version.ts";
