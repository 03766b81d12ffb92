import type { Type as TypeBox } from "typebox";

/**
 * typebox's builders for the schemas of tools: the same JSON and the same types, without loading typebox. An agent waits for
 * `strata mcp` to start, and typebox has hundreds of modules.
 */
export const Type = {
	String: (options = {}) => ({ type: "string", ...options }),
	Integer: (options = {}) => ({ type: "integer", ...options }),
	Boolean: (options = {}) => ({ type: "boolean", ...options }),
	Array: (items: object, options = {}) => ({ type: "array", items, ...options }),
	Unsafe: (schema: object) => ({ ...schema }),
	Optional: (schema: object) => markOptional({ ...schema }),
	Object(properties: Record<string, object>, options = {}) {
		const names = Object.keys(properties);
		const required = names.filter((name) => !optional.has(properties[name] as object));
		return {
			type: "object",
			...(required.length > 0 && { required }),
			properties,
			...options,
		};
	},
} as unknown as Pick<
	typeof TypeBox,
	"String" | "Integer" | "Boolean" | "Array" | "Unsafe" | "Optional" | "Object"
>;

const optional = new WeakSet<object>();

function markOptional(schema: object): object {
	optional.add(schema);
	return schema;
}
