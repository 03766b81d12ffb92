/**
 * The frames of the pi-strata server, for a client or server of your own, in browsers and Node. One
 * table of schemas is the source of the types, of `parseCommand` and of the JSON Schema, so the
 * three agree. Within a major version, commands, fields, events and error codes are only added, so
 * ignore unknown ones. `pi-strata/client` already speaks the protocol and loads no schemas.
 *
 * @example
 * Checks two frames as the server does. The second has a typing error, which the answer names.
 * ```ts
 * import { type Command, PROTOCOL_VERSION, parseCommand } from "pi-strata/protocol";
 *
 * const frames = [
 * 	'{ "type": "prompt", "id": "a:1", "sessionId": "s1", "message": "Hello" }',
 * 	'{ "type": "promt", "id": "a:2", "sessionId": "s1", "message": "Hello" }',
 * ];
 * console.log(`protocol ${PROTOCOL_VERSION}`);
 * for (const frame of frames) {
 * 	const parsed = parseCommand(JSON.parse(frame));
 * 	console.log(parsed.ok ? summaryOf(parsed.command) : parsed.response.error);
 * }
 *
 * function summaryOf(command: Command): string {
 * 	return command.type === "prompt" ? `${command.sessionId}: ${command.message}` : command.type;
 * }
 * ```
 */
export type { ErrorCode } from "../protocol/envelope.ts";
export {
	type Command,
	type CommandFields,
	type CommandOf,
	type CommandType,
	PROTOCOL_VERSION,
	parseCommand,
	protocolJsonSchema,
	type Response,
	type ResponseData,
} from "../protocol/index.ts";
export type { Parsed as ParsedCommand } from "../protocol/parse-command.ts";
export type { ServerEvent, ServerMessage } from "../protocol/server-events.ts";
export type { SessionEvent } from "../protocol/session-events.ts";
