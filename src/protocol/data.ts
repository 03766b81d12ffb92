import type Type from "typebox";

type Schemas = typeof import("./code-data.ts") &
	typeof import("./context-data.ts") &
	typeof import("./envelope.ts") &
	typeof import("./pi-shapes.ts") &
	typeof import("./replay-data.ts") &
	typeof import("./server-data.ts") &
	typeof import("./server-events.ts") &
	typeof import("./session-data.ts") &
	typeof import("./session-events.ts");

/** A shape that travels, by the name of its schema, such as `Data<"ContextPiece">`. */
export type Data<Name extends keyof Schemas> = Schemas[Name] extends Type.TSchema
	? Type.Static<Schemas[Name]>
	: never;
