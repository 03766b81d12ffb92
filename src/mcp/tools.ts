import type { Static, TObject } from "typebox";
import { codeTools, prepareInput, type ToolCalls } from "../code/tool-definitions.ts";
import type { Config } from "../core/config.ts";
import { Type } from "../core/schema.ts";
import { findFault } from "../text/find-fault.ts";
import { oneLine } from "../text/one-line.ts";

/* Every request may carry these texts, so they omit what a name says. */

const pageCall = Type.Object({
	uri: Type.String({ description: "web address, path, or page:… token of the answer before" }),
	pages: Type.Optional(Type.String({ description: "of a PDF, e.g. 3-7" })),
	max_chars: Type.Optional(Type.Integer({ description: "default 4000, max 20000" })),
});

const recallCall = Type.Object({
	id: Type.String({ description: "path or id of the text, or page:… token" }),
	max_chars: Type.Optional(Type.Integer({ description: "default 4000, max 20000" })),
});

export type PageCall = Static<typeof pageCall>;
export type RecallCall = Static<typeof recallCall>;

/** A call that fits its tool's schema. */
export type ToolCall =
	| { readonly [Name in keyof ToolCalls]: { name: Name; input: ToolCalls[Name] } }[keyof ToolCalls]
	| { readonly name: "read_page"; readonly input: PageCall }
	| { readonly name: "strata_recall"; readonly input: RecallCall };

interface ToolDefinition {
	readonly name: ToolCall["name"];
	readonly description: string;
	readonly inputSchema: TObject;
	/** Whether it reads more than the project and our own stores. */
	readonly isOpenWorld: boolean;
}

const definitions: readonly ToolDefinition[] = [
	...codeTools.map(({ name, description, parameters: inputSchema }) => ({
		...{ name, description, inputSchema, isOpenWorld: false },
	})),
	{
		name: "read_page",
		description: "Read a web page, PDF or file as text, part by part.",
		inputSchema: pageCall,
		isOpenWorld: true,
	},
	{
		name: "strata_recall",
		description: "Full text of a tool result that was shortened or cleared.",
		inputSchema: recallCall,
		isOpenWorld: false,
	},
];

/** Claude Code loads the schemas of these at the start, and of others when it looks for them. */
const ALWAYS_LOADED: readonly string[] = ["kota_search", "kota_usages"];

/** The tools as MCP lists them. Settings choose them at the start: a changed list would miss the cache. */
export function listedTools({ kota, paging }: Pick<Config, "kota" | "paging">) {
	return definitions
		.filter(({ name }) => (name.startsWith("kota_") ? kota.enabled : true))
		.filter(({ name }) => (name === "read_page" ? paging.enabled : true))
		.map(({ name, description, inputSchema, isOpenWorld }) => ({
			...{ name, description, inputSchema },
			// An index is stored in the user's cache folder, nothing in the project.
			annotations: { readOnlyHint: name !== "kota_index", openWorldHint: isOpenWorld },
			...(ALWAYS_LOADED.includes(name) && { _meta: { "anthropic/alwaysLoad": true } }),
		}));
}

/** Throws if the input does not fit the tool's schema. */
export function checkedCall(name: string, input: unknown): ToolCall {
	const definition = definitions.find((one) => one.name === name);
	if (!definition) throw new Error(`There is no tool ${oneLine(name).slice(0, 100)}`);
	const prepared = prepareInput(input ?? {});
	const fault = findFault(definition.inputSchema, prepared);
	if (fault) {
		const what = fault.found ? "has a value that does not fit its schema" : "is missing";
		throw new Error(`${name}: ${fault.path || "the input"} ${what}`);
	}
	return { name, input: prepared } as ToolCall;
}
