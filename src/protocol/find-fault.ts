import type { TSchema } from "typebox";

/** The first thing in a value that its schema does not allow. */
export interface Fault {
	/** Where, such as `images[0].mimeType`; empty for the value itself. */
	readonly path: string;
	/** Completes "must be …". */
	readonly allowed: string;
	/** What is there instead; absent when nothing is. */
	readonly found?: { readonly value: unknown };
}

/**
 * Checks a value against the schemas that commands are made of. Strings are measured in UTF-16 units, not in what a
 * reader would call characters: those can be of any size, and these bounds keep memory bounded. Fields that the schema
 * does not have are not looked at.
 */
export function findFault(schema: TSchema, value: unknown, path = ""): Fault | undefined {
	const node = schema as Node;
	if (node.anyOf) {
		const fits = node.anyOf.some((option) => !findFault(option, value, path));
		return fits ? undefined : faultAt(path, node, value);
	}
	if (node.properties) return faultInObject(node, value, path);
	if (node.items) return faultInArray(node, value, path);
	return isAllowed(node, value) ? undefined : faultAt(path, node, value);
}

/** The part of JSON Schema that commands use. */
interface Node {
	readonly type?: string;
	readonly description?: string;
	readonly anyOf?: readonly TSchema[];
	readonly properties?: Readonly<Record<string, TSchema>>;
	readonly required?: readonly string[];
	readonly items?: TSchema;
	readonly maxItems?: number;
	readonly enum?: readonly unknown[];
	readonly const?: unknown;
	readonly minLength?: number;
	readonly maxLength?: number;
	readonly pattern?: string;
	readonly minimum?: number;
	readonly maximum?: number;
}

function faultInObject(node: Node, value: unknown, path: string): Fault | undefined {
	if (typeof value !== "object" || value === null || Array.isArray(value)) {
		return faultAt(path, node, value);
	}
	for (const [name, schema] of Object.entries(node.properties ?? {})) {
		const inner = path === "" ? name : `${path}.${name}`;
		if (Object.hasOwn(value, name)) {
			const fault = findFault(schema, (value as Record<string, unknown>)[name], inner);
			if (fault) return fault;
		} else if (node.required?.includes(name)) {
			return { path: inner, allowed: allowedBy(schema as Node) };
		}
	}
	return undefined;
}

function faultInArray(node: Node, value: unknown, path: string): Fault | undefined {
	if (!Array.isArray(value)) return faultAt(path, node, value);
	if (value.length > (node.maxItems ?? Number.POSITIVE_INFINITY)) {
		return { path, allowed: allowedBy(node), found: { value } };
	}
	for (const [index, item] of value.entries()) {
		const fault = findFault(node.items as TSchema, item, `${path}[${index}]`);
		if (fault) return fault;
	}
	return undefined;
}

function isAllowed(node: Node, value: unknown): boolean {
	if (node.enum) return node.enum.includes(value);
	if ("const" in node) return value === node.const;
	if (node.type === "string") return typeof value === "string" && isAllowedText(node, value);
	if (node.type === "boolean") return typeof value === "boolean";
	if (node.type === "integer")
		return Number.isSafeInteger(value) && isWithin(node, value as number);
	throw new Error(`A command has a field of a kind that is not checked: ${JSON.stringify(node)}`);
}

function isAllowedText(node: Node, value: string): boolean {
	const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern } = node;
	if (value.length < minLength || value.length > maxLength) return false;
	return pattern === undefined || patternOf(pattern).test(value);
}

const patterns = new Map<string, RegExp>();

function patternOf(pattern: string): RegExp {
	const known = patterns.get(pattern) ?? new RegExp(pattern);
	patterns.set(pattern, known);
	return known;
}

function isWithin({ minimum = 0, maximum = 0 }: Node, value: number): boolean {
	return value >= minimum && value <= maximum;
}

function faultAt(path: string, node: Node, value: unknown): Fault {
	return { path, allowed: allowedBy(node), found: { value } };
}

function allowedBy(node: Node): string {
	if (node.description !== undefined) return node.description;
	if ("const" in node) return JSON.stringify(node.const);
	if (node.items) {
		const most = node.maxItems === undefined ? "" : ` of at most ${node.maxItems} items`;
		return `an array${most}`;
	}
	if (node.properties) return "an object";
	return "true or false";
}
