import type { Static } from "typebox";
import { isRecord, property } from "../core/property.ts";
import { Type } from "../core/schema.ts";
import { SYMBOL_KINDS } from "../text/kinds.ts";

/* Every request carries these texts, so they omit what a name says. Optional parameters have defaults. */

interface ToolText {
	readonly description: string;
	readonly promptSnippet: string;
	readonly promptGuidelines?: string[];
	readonly parameters: ReturnType<typeof Type.Object>;
}

function oneOf<const Values extends readonly string[]>(values: Values) {
	return Type.Unsafe<Values[number]>({ type: "string", enum: [...values] });
}

const optional = {
	strings: () => Type.Optional(Type.Array(Type.String())),
	whole: (description: string) => Type.Optional(Type.Integer({ description })),
	flag: () => Type.Optional(Type.Boolean()),
	text: (description?: string) => Type.Optional(Type.String(description ? { description } : {})),
};

const tools = {
	kota_search: {
		description: "Ranked search of symbols, code and documents.",
		promptSnippet: "Find code by words or names",
		parameters: Type.Object({
			query: Type.String(),
			scope: Type.Optional(Type.Array(oneOf(["code", "symbols"]))),
			output: Type.Optional(oneOf(["paths", "compact", "snippet"])),
			limit: optional.whole("default 15, max 50"),
			context_lines: optional.whole("default 1, max 5"),
			filters: Type.Optional(
				Type.Object({
					glob: optional.text(),
					exclude: optional.strings(),
					language: optional.text("like python, go"),
					symbol_kind: Type.Optional(Type.Array(oneOf(SYMBOL_KINDS))),
					exported_only: optional.flag(),
					include_tests: optional.flag(),
				}),
			),
		}),
	},
	kota_deps: {
		description: "What imports a file, what it imports, cycles.",
		promptSnippet: "Show who imports a file and what it imports",
		parameters: Type.Object({
			file_path: Type.String(),
			direction: Type.Optional(oneOf(["dependents", "dependencies", "both"])),
			depth: optional.whole("default 1, max 3"),
			include_tests: optional.flag(),
		}),
	},
	kota_outline: {
		description: "Symbols and members, with signatures and lines.",
		promptSnippet: "Show what a file or class contains, without reading it",
		parameters: Type.Object({
			target: Type.String({ description: "file, or as in kota_symbol" }),
		}),
	},
	kota_symbol: {
		description: "Source of a symbol, with its imports.",
		promptSnippet: "Read one function, class or member instead of its file",
		parameters: Type.Object({
			symbol: Type.String({ description: "name, Owner.member or file#name" }),
		}),
	},
	kota_usages: {
		description: "Every use of a symbol, through re-exports and aliases.",
		promptSnippet: "Find every use of a function, class, type or member",
		promptGuidelines: [
			"In TypeScript or JavaScript, ask kota_usages, kota_deps or kota_impact, not grep, who uses something and what a change breaks",
		],
		parameters: Type.Object({
			symbol: Type.String({ description: "name or Owner.member" }),
			file: optional.text("of the definition"),
			include_tests: optional.flag(),
		}),
	},
	kota_impact: {
		description: "What a change reaches: risk, tests, files, exports.",
		promptSnippet: "Tell what a change would break and which tests to run",
		parameters: Type.Object({
			change_type: Type.Optional(oneOf(["feature", "refactor", "fix", "chore"])),
			description: optional.text(),
			files_to_modify: optional.strings(),
			files_to_create: optional.strings(),
			files_to_delete: optional.strings(),
			symbols: Type.Optional(
				Type.Array(Type.String(), { description: "only these exports change" }),
			),
		}),
	},
	kota_task_context: {
		description: "Briefing on files to work on: imports, dependents, tests.",
		promptSnippet: "Brief on files before changing them",
		parameters: Type.Object({
			files: Type.Array(Type.String()),
			include_tests: optional.flag(),
			include_symbols: optional.flag(),
			max_impacted_files: optional.whole("default 20"),
		}),
	},
	kota_index: {
		description: "Index the project for the kota tools.",
		promptSnippet: "Index the project for the kota tools",
		parameters: Type.Object({ path: optional.text() }),
	},
} satisfies Record<string, ToolText>;

/** Tool parameters. pi has validated them against the schema. */
export type ToolCalls = {
	[Name in keyof typeof tools]: Static<(typeof tools)[Name]["parameters"]>;
};

export const codeTools = Object.entries<ToolText>(tools).map(([name, text]) => ({
	name: name as keyof ToolCalls,
	...text,
}));

/** Names of the list parameters, for which models sometimes send a single string. */
const LISTS = Object.values<ToolText>(tools).flatMap(({ parameters: { properties } }) =>
	Object.keys(properties).filter((name) => property(properties[name], "type") === "array"),
);

/** Wraps single strings where lists are expected. pi validates the rest. */
export function prepareInput(input: unknown): unknown {
	if (!isRecord(input)) return input;
	const listed = Object.entries(input).map(([name, value]) =>
		LISTS.includes(name) && typeof value === "string" ? [name, [value]] : [name, value],
	);
	return Object.fromEntries(listed);
}
