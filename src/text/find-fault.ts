/** The first violation of a schema. */
export interface Fault {
	/** Where the fault is, such as `images[0].mimeType`; empty for the value itself. */
	readonly path: string;
	/** The allowed values; completes the sentence "must be …". */
	readonly allowed: string;
	readonly found?: { readonly value: unknown };
}

/** Supports only the JSON Schema keywords in use. Lengths are in UTF-16 units, since they bound memory. */
export function findFault(schema: object, value: unknown): Fault | undefined {
	const node: Node = schema;
	if (node.anyOf) {
		const fits = node.anyOf.some((option) => !findFault(option, value));
		return fits ? undefined : faultOf(node, value);
	}
	if (node.properties) return faultInObject(node, value);
	if (node.items) return faultInArray(node, value);
	if (node.additionalProperties) return faultInMap(node, value);
	return isAllowed(node, value) ? undefined : faultOf(node, value);
}

interface Node {
	readonly type?: string;
	readonly description?: string;
	readonly anyOf?: readonly object[];
	readonly properties?: Readonly<Record<string, object>>;
	readonly required?: readonly string[];
	/** Checked for an object of any names only, not beside `properties`. */
	readonly additionalProperties?: object | false;
	readonly propertyNames?: object;
	readonly maxProperties?: number;
	readonly items?: object;
	readonly maxItems?: number;
	readonly enum?: readonly unknown[];
	readonly const?: unknown;
	readonly minLength?: number;
	readonly maxLength?: number;
	readonly pattern?: string;
	readonly minimum?: number;
	readonly maximum?: number;
}

function faultInObject(node: Node, value: unknown): Fault | undefined {
	if (typeof value !== "object" || value === null || Array.isArray(value)) {
		return faultOf(node, value);
	}
	for (const { name, schema, isRequired } of fieldsOf(node)) {
		if (Object.hasOwn(value, name)) {
			const fault = findFault(schema, (value as Record<string, unknown>)[name]);
			if (fault) return inside(name, fault);
		} else if (isRequired) {
			return { path: name, allowed: allowedBy(schema) };
		}
	}
	return undefined;
}

function faultInArray(node: Node, value: unknown): Fault | undefined {
	if (!Array.isArray(value) || value.length > (node.maxItems ?? Number.POSITIVE_INFINITY)) {
		return faultOf(node, value);
	}
	for (const [index, item] of value.entries()) {
		const fault = findFault(node.items as object, item);
		if (fault) return inside(`[${index}]`, fault);
	}
	return undefined;
}

function faultInMap(node: Node, value: unknown): Fault | undefined {
	const { maxProperties = Number.POSITIVE_INFINITY, propertyNames } = node;
	if (typeof value !== "object" || value === null || Array.isArray(value)) {
		return faultOf(node, value);
	}
	const members = Object.entries(value);
	if (members.length > maxProperties) return faultOf(node, value);
	for (const [name, member] of members) {
		if (propertyNames && findFault(propertyNames, name)) return faultOf(node, value);
		const fault = findFault(node.additionalProperties as object, member);
		if (fault) return inside(name, fault);
	}
	return undefined;
}

function inside(where: string, { path, ...fault }: Fault): Fault {
	const isJoined = path === "" || path.startsWith("[");
	return { ...fault, path: isJoined ? where + path : `${where}.${path}` };
}

interface Field {
	readonly name: string;
	readonly schema: object;
	readonly isRequired: boolean;
}

/** Fields, memoized per schema, since tens of thousands of commands are checked. */
const fields = new WeakMap<Node, readonly Field[]>();

function fieldsOf(node: Node): readonly Field[] {
	const known = fields.get(node);
	if (known) return known;
	const listed = Object.entries(node.properties ?? {}).map(([name, schema]) => ({
		name,
		schema,
		isRequired: node.required?.includes(name) ?? false,
	}));
	fields.set(node, listed);
	return listed;
}

function isAllowed(node: Node, value: unknown): boolean {
	if (node.enum) return node.enum.includes(value);
	if ("const" in node) return value === node.const;
	if (node.type === "string") return typeof value === "string" && isAllowedText(node, value);
	if (node.type === "boolean") return typeof value === "boolean";
	if (node.type === "integer" || node.type === "number") {
		const isKind = node.type === "number" ? typeof value === "number" : Number.isSafeInteger(value);
		return isKind && isWithin(node, value as number);
	}
	throw new Error(`Unsupported schema: ${JSON.stringify(node)}`);
}

function isAllowedText(node: Node, value: string): boolean {
	const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern } = node;
	if (value.length < minLength || value.length > maxLength) return false;
	return pattern === undefined || patternOf(pattern).test(value);
}

const patterns = new Map<string, RegExp>();

function patternOf(pattern: string): RegExp {
	const known = patterns.get(pattern);
	if (known) return known;
	const compiled = new RegExp(pattern);
	patterns.set(pattern, compiled);
	return compiled;
}

function isWithin({ minimum, maximum }: Node, value: number): boolean {
	return value >= (minimum ?? value) && value <= (maximum ?? value);
}

function faultOf(node: Node, value: unknown): Fault {
	return { path: "", allowed: allowedBy(node), found: { value } };
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
