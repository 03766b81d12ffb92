import type { TSchema } from "typebox";
import { PROTOCOL_VERSION } from "./client/transport.ts";
import * as code from "./code-data.ts";
import { type CommandType, commandTable, commandTypes } from "./command-table.ts";
import * as context from "./context-data.ts";
import { EnvelopeFields, ErrorCode, LifecycleData, Response, SessionFields } from "./envelope.ts";
import * as fields from "./field-schemas.ts";
import * as pi from "./pi-shapes.ts";
import { CommandHistoryEntry } from "./server-commands.ts";
import { ServerEvent } from "./server-events.ts";
import * as session from "./session-data.ts";
import { AssistantMessageEvent, SessionEvent } from "./session-events.ts";
import { TrafficConversation, TrafficRequest } from "./traffic-data.ts";
import { SavedSums } from "./usage-data.ts";

type Json = { [key: string]: unknown };

/** Schemas that others reference by name. */
const shared: Record<string, TSchema> = {
	ErrorCode,
	CommandId: fields.CommandId,
	KnownCommandId: fields.KnownCommandId,
	SessionId: fields.SessionId,
	Reference: fields.Reference,
	Path: fields.Path,
	AbsolutePath: fields.AbsolutePath,
	SessionPath: fields.SessionPath,
	Message: fields.Message,
	Images: fields.Images,
	ThinkingLevel: fields.ThinkingLevel,
	Usage: pi.Usage,
	AgentMessage: pi.AgentMessage,
	SessionEntry: pi.SessionEntry,
	Model: pi.Model,
	CompactionResult: pi.CompactionResult,
	ContextUsage: pi.ContextUsage,
	SessionInfo: pi.SessionInfo,
	StoredSession: session.StoredSession,
	SessionFile: session.SessionFile,
	FlatTreeNode: session.FlatTreeNode,
	CommandHistoryEntry,
	ReplayReport: context.ReplayReport,
	ContextKind: context.ContextKind,
	ContextPiece: context.ContextPiece,
	Price: context.Price,
	SystemSavings: context.SystemSavings,
	SavedBySystem: context.SavedBySystem,
	TierFile: context.TierFile,
	CacheMiss: context.CacheMiss,
	TrafficConversation,
	TrafficRequest,
	SavedSums,
	CodeCoverage: code.CodeCoverage,
	CodeSymbol: code.CodeSymbol,
	CodeFileAtDepth: code.CodeFileAtDepth,
	AssistantMessageEvent,
	SessionEvent,
	LifecycleData,
};

/**
 * The JSON Schema of every frame. Its `$defs` have `command.<type>`, a frame to the server, and
 * `data.<type>`, its response data.
 */
export function protocolJsonSchema(): Json {
	const names = new Map(Object.entries(shared).map(([name, one]) => [JSON.stringify(one), name]));
	const defs: Json = {
		Command: { anyOf: commandTypes.map((type) => refTo(`command.${type}`)) },
		Response: withRefs(toJson(Response), names),
		ServerEvent: withRefs(toJson(ServerEvent), names),
	};
	for (const [name, schema] of Object.entries(shared)) {
		defs[name] = withRefs(toJson(schema), names, name);
	}
	for (const type of commandTypes) {
		defs[`command.${type}`] = withRefs(commandSchema(type), names);
		defs[`data.${type}`] = withRefs(toJson(commandTable[type].data), names);
	}
	return {
		$schema: "https://json-schema.org/draft/2020-12/schema",
		title: `The protocol of the pi-strata server, version ${PROTOCOL_VERSION}`,
		anyOf: [refTo("Command"), refTo("Response"), refTo("ServerEvent")],
		$defs: defs,
	};
}

/** The `x-` fields hold the traits of the command's row in the table. */
function commandSchema(type: CommandType): Json {
	const { target, effect, path, timeout, versioned, fields: own } = commandTable[type];
	const parts = [EnvelopeFields, ...(target === "session" ? [SessionFields] : []), own];
	const objects = parts.map((part) => toJson(part) as { properties: Json; required?: string[] });
	const { ifSessionVersion, ...properties } = Object.assign(
		{},
		...objects.map((object) => object.properties),
	) as Json;
	return {
		type: "object",
		"x-target": target,
		"x-effect": effect,
		"x-path": path,
		"x-timeout": timeout,
		required: ["type", ...objects.flatMap((object) => object.required ?? [])],
		properties: {
			type: { const: type },
			...properties,
			ifSessionVersion: versioned ? ifSessionVersion : false,
		},
	};
}

const refTo = (name: string): Json => ({ $ref: `#/$defs/${name}` });

/** Replaces every named schema with a reference, except the one being defined. */
function withRefs(value: unknown, names: ReadonlyMap<string, string>, defining?: string): unknown {
	if (Array.isArray(value)) return value.map((item) => withRefs(item, names));
	if (typeof value !== "object" || value === null) return value;
	const name = names.get(JSON.stringify(value));
	if (name !== undefined && name !== defining) return refTo(name);
	const fields = Object.entries(value).map(([key, inner]) => [key, withRefs(inner, names)]);
	return Object.fromEntries(fields);
}

const toJson = (schema: TSchema) => JSON.parse(JSON.stringify(schema)) as Json;
